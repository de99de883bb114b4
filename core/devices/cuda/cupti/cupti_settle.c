/* Device records to their calls, in whatever order they come. See cupti_settle.h. */
#include "cupti_settle.h"

#include <pdhost/array.h>

#include <stdlib.h>

void cupti_settle_lose(const cupti_decoder *self, pd_loss loss, uint64_t count) {
  if (count && self->record && self->record->lost) self->record->lost(self->record, loss, count);
}

void cupti_settle_flush(cupti_decoder *self) {
  if (self->batch_count && self->record)
    self->record->activities(self->record, PD_CLOCK_REALTIME, self->batch, self->batch_count);
  self->counts.handed_on += self->batch_count;
  self->batch_count = 0;
}

void cupti_settle_hand_on(cupti_decoder *self, const pd_activity *row) {
  if (self->batch_count == CUPTI_BATCH) cupti_settle_flush(self);
  self->batch[self->batch_count++] = *row;
}

/* ---- rows that wait ---------------------------------------------------------------------------------------- */

void cupti_settle_wait(cupti_decoder *self, cupti_pending_list *list, const pd_activity *row) {
  if (!PD_ARRAY_FIT(list->rows, list->capacity, list->count + 1)) {
    self->counts.lost_memory++;
    cupti_settle_lose(self, PD_LOSS_RECORDS_DROPPED, 1);
    return;
  }
  list->rows[list->count++] = *row;
}

/* Ties a device record to its call and hands it on. False: the call has not come yet. */
bool cupti_settle_place(cupti_decoder *self, pd_activity *row, uint32_t graph) {
  cupti_launch *launch = cupti_match_find(&self->match, row->correlation);
  if (!launch) return false;
  if (launch->shared) {
    cupti_settle_wait(self, &self->shared, row);
    return true;
  }
  if (launch->single && launch->device_rows) { /* an id that came twice: never two kernels under one launch */
    self->counts.surplus++;
    cupti_settle_lose(self, PD_LOSS_UNMATCHED_ACTIVITY, 1);
    return true;
  }
  if (cupti_match_seen(&self->match, launch, graph) != PD_OK) self->counts.lost_memory++;
  const int64_t early_ns = launch->start_ns - row->start; /* no device answers before it is asked: the clocks' doing */
  if (early_ns > PD_EARLY_NS) {
    self->counts.implausible++;
    cupti_settle_lose(self, PD_LOSS_IMPLAUSIBLE, 1);
    return true;
  }
  self->counts.early += early_ns > 0;
  if (early_ns > self->early_ns) self->early_ns = early_ns;
  cupti_settle_hand_on(self, row);
  return true;
}

uint32_t cupti_settle_graph_of(const pd_activity *row) {
  return row->kind == PD_ACTIVITY_KERNEL ? row->u.kernel.graph : row->u.copy.graph;
}

/* Driver calls wait until it is certain that no runtime call around them has the same id. */
void cupti_settle_drivers(cupti_decoder *self) {
  for (uint64_t i = 0; i < self->drivers.count; i++) {
    const pd_activity *row = &self->drivers.rows[i];
    const cupti_launch *launch = cupti_match_find(&self->match, row->correlation);
    if (launch && launch->runtime)
      self->counts.nested++;
    else
      cupti_settle_hand_on(self, row);
  }
  self->drivers.count = 0;
}

/* Early records that will answer a launch as the window closes; the others are the past's. */
static uint64_t early_answers(const cupti_decoder *self) {
  uint64_t answers = 0;
  for (uint64_t i = 0; i < self->early.count; i++) {
    cupti_launch *launch = cupti_match_find(&self->match, self->early.rows[i].correlation);
    if (launch) launch->answers = 0;
  }
  for (uint64_t i = 0; i < self->early.count; i++) {
    cupti_launch *launch = cupti_match_find(&self->match, self->early.rows[i].correlation);
    if (!launch || launch->answers >= cupti_match_owes(&self->match, launch)) continue;
    launch->answers++;
    answers++;
  }
  return answers;
}

static bool fits(const cupti_twin *twin, const pd_activity *row) {
  if (twin->answered || twin->shared != row->correlation || cupti_settle_graph_of(row)) return false;
  return twin->api == (row->kind == PD_ACTIVITY_KERNEL   ? PD_API_LAUNCH
                       : row->kind == PD_ACTIVITY_MEMCPY ? PD_API_MEMCPY
                                                         : PD_API_MEMSET);
}

/* Before the records under shared ids are gone through; the calls that had one before are answered. */
static void begin_answers(cupti_decoder *self) {
  for (uint64_t t = 0; t < self->twin_count; t++) self->twins[t].answered = self->twins[t].used;
}

/* The call that the record answers, which no other does then; NULL: it is left over. All before `first` are answered.
 */
static const cupti_twin *answer(cupti_decoder *self, const pd_activity *row, uint64_t *first) {
  while (*first < self->twin_count && self->twins[*first].answered) (*first)++;
  uint64_t at = *first;
  while (at < self->twin_count && !fits(&self->twins[at], row)) at++;
  if (at == self->twin_count) return NULL;
  self->twins[at].answered = true;
  return &self->twins[at];
}

/* Records under the id of several calls that will be one's as the window closes. */
static uint64_t shared_answers(cupti_decoder *self) {
  uint64_t answers = 0, first = 0;
  begin_answers(self);
  for (uint64_t i = 0; i < self->shared.count; i++) answers += answer(self, &self->shared.rows[i], &first) != NULL;
  return answers;
}

bool cupti_decoder_settle(cupti_decoder *self) {
  uint64_t kept = 0;
  for (uint64_t i = 0; i < self->orphans.count; i++) {
    pd_activity row = self->orphans.rows[i];
    if (!cupti_settle_place(self, &row, cupti_settle_graph_of(&row))) self->orphans.rows[kept++] = row;
  }
  self->orphans.count = kept;
  cupti_settle_flush(self);
  const uint64_t due = self->match.pending + cupti_match_nodes(&self->match);
  return !due || due <= early_answers(self) + shared_answers(self);
}

/* What ran before the window began is a call's from before it, even where its id has come again since; but where a
 * launch of the window has no other record, it is the clocks that disagree. */
void cupti_settle_early(cupti_decoder *self) {
  for (uint64_t i = 0; i < self->early.count; i++) {
    pd_activity *row = &self->early.rows[i];
    const cupti_launch *launch = cupti_match_find(&self->match, row->correlation);
    if (!launch || cupti_match_owes(&self->match, launch) == 0 ||
        !cupti_settle_place(self, row, cupti_settle_graph_of(row)))
      self->counts.stale++;
  }
  self->early.count = 0;
}

/* ---- calls under one id ------------------------------------------------------------------------------------ */

static int by_start(const void *a, const void *b) {
  int64_t x = ((const pd_activity *)a)->start, y = ((const pd_activity *)b)->start;
  return (x > y) - (x < y);
}
static int by_call_start(const void *a, const void *b) {
  int64_t x = ((const cupti_twin *)a)->start_ns, y = ((const cupti_twin *)b)->start_ns;
  return (x > y) - (x < y);
}

/* Ties the device records of calls under one id to them by order, kind by kind: exact where a thread has one stream.
 * What is left over belongs to no call. */
void cupti_settle_shared(cupti_decoder *self) {
  uint64_t first = 0;
  if (self->shared.count) qsort(self->shared.rows, self->shared.count, sizeof(pd_activity), by_start);
  if (self->twin_count) qsort(self->twins, self->twin_count, sizeof *self->twins, by_call_start);
  for (uint64_t i = 0; i < self->twin_count; i++) { /* from here on each has an id of its own */
    cupti_launch *launch = cupti_match_find(&self->match, self->twins[i].own);
    if (launch) launch->shared = false;
  }
  begin_answers(self);
  for (uint64_t i = 0; i < self->shared.count; i++) {
    pd_activity row = self->shared.rows[i];
    const cupti_twin *twin = answer(self, &row, &first);
    if (twin) {
      row.correlation = twin->own;
      if (cupti_settle_place(self, &row, 0)) continue;
    }
    self->counts.surplus++;
    cupti_settle_lose(self, PD_LOSS_UNMATCHED_ACTIVITY, 1);
  }
  self->shared.count = self->twin_count = 0;
}

static bool add_twin(cupti_decoder *self, uint64_t shared, const cupti_launch *launch) {
  if (launch->api < PD_API_LAUNCH || launch->api > PD_API_MEMSET) return true;
  if (!PD_ARRAY_FIT(self->twins, self->twin_capacity, self->twin_count + 1)) return false;
  self->twins[self->twin_count++] = (cupti_twin){.shared = shared,
                                                 .own = launch->correlation,
                                                 .start_ns = launch->start_ns,
                                                 .api = launch->api,
                                                 .used = launch->device_rows > 0};
  return true;
}

/* A call under the id of `launch`, another call, gets an id of its own; their device records wait for the window's end.
 */
cupti_launch *cupti_settle_part(cupti_decoder *self, cupti_launch *launch, int64_t start_ns, pd_api_class api) {
  uint64_t shared = launch->correlation;
  if (!launch->shared && !add_twin(self, shared, launch)) return NULL;
  launch->shared = true;
  self->counts.twins++;
  self->parted++;
  cupti_launch own = {.correlation = ++self->own_ids, .start_ns = start_ns, .api = api};
  return add_twin(self, shared, &own) ? cupti_match_add(&self->match, own.correlation) : NULL;
}
