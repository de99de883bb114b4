/* See tracks.h. */
#include "tracks.h"

#include <pdhost/array.h>
#include <pdhost/host_states.h>

#include <stdlib.h>

enum { ROWS_MOST = 256 };

typedef struct builder {
  tracks *to;
  const pd_trace *trace;
  int64_t until_ns;
} builder;

/* The text of a string of the trace. */
static uint32_t name_of(const builder *self, uint32_t string) {
  if (string >= self->trace->strings.count) string = 0;
  uint32_t *known = &self->to->name_of[string];
  if (!*known) *known = text_pool_add(&self->to->texts, pd_trace_string(self->trace, string)->text) + 1;
  return *known - 1;
}

/* Whether an event of this start is wanted. */
static bool is_wanted(const builder *self, int64_t start_ns) {
  if (start_ns < self->until_ns) return true;
  self->to->left_out++;
  return false;
}

static bool add(const builder *self, track_event event) {
  tracks *to = self->to;
  if (event.name == UINT32_MAX || event.details == UINT32_MAX || !PD_ARRAY_FIT(to->events, to->room, to->count + 1))
    return false;
  if (event.end_ns < event.start_ns) event.end_ns = event.start_ns;
  to->events[to->count++] = event;
  return true;
}

static uint32_t range_kind(pd_range_kind kind) {
  switch (kind) {
  case PD_RANGE_STEP: return TRACK_STEP;
  case PD_RANGE_USER: return TRACK_ANNOTATION;
  case PD_RANGE_DATALOADER:
  case PD_RANGE_WORKER: return TRACK_INPUT;
  case PD_RANGE_MODULE: return TRACK_MODULE;
  default: return TRACK_OPERATION;
  }
}

static bool add_ranges(const builder *self) {
  for (uint64_t i = 0; i < self->trace->ranges.count; i++) {
    const pd_range *range = PD_AT(pd_range, &self->trace->ranges, i);
    if (!is_wanted(self, range->start_ns)) continue;
    if (!add(self, (track_event){.start_ns = range->start_ns,
                                 .end_ns = range->end_ns,
                                 .lane = range->thread,
                                 .name = name_of(self, range->name),
                                 .details = track_details_range(&self->to->texts, self->trace, range),
                                 .kind = range_kind(range->kind),
                                 .call = PD_NONE}))
      return false;
  }
  return true;
}

static bool add_calls(const builder *self) {
  for (uint64_t i = 0; i < self->trace->calls.count; i++) {
    const pd_call *call = PD_AT(pd_call, &self->trace->calls, i);
    if (!is_wanted(self, call->start_ns)) continue;
    if (!add(self, (track_event){.start_ns = call->start_ns,
                                 .end_ns = call->end_ns,
                                 .lane = call->thread,
                                 .name = name_of(self, call->name),
                                 .details = track_details_call(&self->to->texts, call),
                                 .kind = TRACK_CALL,
                                 .call = (uint32_t)i}))
      return false;
  }
  return true;
}

static bool add_device_rows(const builder *self) {
  const uint32_t threads = (uint32_t)self->trace->threads.count;
  for (uint64_t i = 0; i < self->trace->activities.count; i++) {
    const pd_device_row *row = PD_AT(pd_device_row, &self->trace->activities, i);
    if (!is_wanted(self, row->start_ns)) continue;
    const uint32_t kind = row->detail.kind == PD_ACTIVITY_MEMCPY   ? TRACK_COPY
                          : row->detail.kind == PD_ACTIVITY_MEMSET ? TRACK_SET
                                                                   : TRACK_KERNEL;
    if (!add(self, (track_event){.start_ns = row->start_ns,
                                 .end_ns = row->end_ns,
                                 .lane = threads + row->stream,
                                 .name = name_of(self, row->name),
                                 .details = track_details_device(&self->to->texts, row),
                                 .kind = kind,
                                 .call = row->call}))
      return false;
  }
  return true;
}

static bool add_others(const builder *self) {
  const uint32_t threads = (uint32_t)self->trace->threads.count, nothing = text_pool_add(&self->to->texts, "");
  for (uint64_t i = 0; i < self->trace->others.count; i++) {
    const pd_other_row *row = PD_AT(pd_other_row, &self->trace->others, i);
    const bool on_stream = row->stream != PD_NONE;
    if ((!on_stream && row->thread == PD_NONE) || !is_wanted(self, row->start_ns)) continue;
    if (!add(self, (track_event){.start_ns = row->start_ns,
                                 .end_ns = row->end_ns,
                                 .lane = on_stream ? threads + row->stream : row->thread,
                                 .name = name_of(self, row->name),
                                 .details = nothing,
                                 .kind = row->kind == PD_ACTIVITY_SYNC ? TRACK_WAIT : TRACK_OVERHEAD,
                                 .call = PD_NONE}))
      return false;
  }
  return true;
}

/* What the system saw of the launching threads: a lane for each, after the streams. */
static bool add_states(const builder *self) {
  const uint32_t first = (uint32_t)(self->trace->threads.count + self->trace->streams.count);
  for (uint64_t i = 0; i < self->trace->states.count; i++) {
    const pd_state_row *row = PD_AT(pd_state_row, &self->trace->states, i);
    char words[128];
    if (!is_wanted(self, row->start_ns)) continue;
    pd_host_state_words(row->state, pd_trace_string(self->trace, row->name)->text, words, sizeof words);
    if (!add(self, (track_event){.start_ns = row->start_ns,
                                 .end_ns = row->end_ns,
                                 .lane = first + row->thread,
                                 .name = text_pool_add(&self->to->texts, words),
                                 .details = 0, /* the empty text */
                                 .kind = TRACK_STATE,
                                 .call = PD_NONE}))
      return false;
  }
  return true;
}

/* ---- rows ---- */

static int by_lane(const void *a, const void *b) {
  const track_event *x = a, *y = b;
  if (x->lane != y->lane) return x->lane < y->lane ? -1 : 1;
  if (x->start_ns != y->start_ns) return x->start_ns < y->start_ns ? -1 : 1;
  return (x->end_ns < y->end_ns) - (x->end_ns > y->end_ns);
}

static int by_row(const void *a, const void *b) {
  const track_event *x = a, *y = b;
  if (x->lane != y->lane) return x->lane < y->lane ? -1 : 1;
  if (x->row != y->row) return x->row < y->row ? -1 : 1;
  if (x->start_ns != y->start_ns) return x->start_ns < y->start_ns ? -1 : 1;
  return (x->end_ns > y->end_ns) - (x->end_ns < y->end_ns);
}

/* Below what is open: calls come from another clock than ranges and may stick out of one by a little. What is too deep
 * is left out. */
static uint32_t nested_row(int64_t *ends, uint32_t *open, const track_event *event) {
  while (*open && ends[*open - 1] <= event->start_ns) --*open;
  if (*open == ROWS_MOST) return ROWS_MOST;
  ends[*open] = event->end_ns;
  return (*open)++;
}

/* The first row that is free. */
static uint32_t free_row(int64_t *ends, uint32_t *used, const track_event *event) {
  uint32_t row = 0;
  while (row < *used && ends[row] > event->start_ns) row++;
  if (row == ROWS_MOST) return ROWS_MOST;
  if (row == *used) ++*used;
  ends[row] = event->end_ns;
  return row;
}

static void set_rows(tracks *self, uint32_t threads) {
  int64_t ends[ROWS_MOST];
  uint32_t rows = 0, lane = PD_NONE;
  uint64_t kept = 0;
  qsort(self->events, self->count, sizeof *self->events, by_lane);
  for (uint64_t i = 0; i < self->count; i++) {
    track_event event = self->events[i];
    if (event.lane != lane) rows = 0;
    lane = event.lane;
    event.row = lane < threads ? nested_row(ends, &rows, &event) : free_row(ends, &rows, &event);
    if (event.row < ROWS_MOST) self->events[kept++] = event;
  }
  self->left_out += self->count - kept;
  self->count = kept;
  qsort(self->events, self->count, sizeof *self->events, by_row);
}

bool tracks_open(const pd_trace *trace, int64_t until_ns, tracks *out) {
  const builder self = {.to = out, .trace = trace, .until_ns = until_ns};
  *out = (tracks){.name_of = calloc(trace->strings.count + 1, sizeof *out->name_of)};
  if (!out->name_of || text_pool_add(&out->texts, "") != 0 || !add_ranges(&self) || !add_calls(&self) ||
      !add_device_rows(&self) || !add_others(&self) || !add_states(&self))
    return false;
  if (out->count) set_rows(out, (uint32_t)trace->threads.count);
  return true;
}

void tracks_free(tracks *self) {
  free(self->events);
  free(self->name_of);
  text_pool_free(&self->texts);
  *self = (tracks){.events = NULL};
}
