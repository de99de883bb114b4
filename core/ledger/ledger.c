/* See ledger.h. Lists of intervals are painted over the steps in the order of precedence; what is left goes on to the
 * next. */
#include "ledger.h"

#include "ledger_host.h"
#include "ledger_passes.h"
#include "ledger_profiler.h"
#include "ledger_streams.h"
#include "temporaries.h"
#include "facts/intervals.h"
#include "facts/step_parts.h"

#include <pdhost/array.h>

#include <stdlib.h>
#include <string.h>

static const char *const keys[LEDGER_OWNER_COUNT] = {
#define X(key, state, text) #key,
    LEDGER_MAP(X)
#undef X
};

const char *ledger_key(uint32_t cause) { return keys[cause]; }

enum { LOOP_THREAD = 0 };

typedef struct painter {
  const trace_facts *facts;
  int64_t *rows;
  intervals left, mine, next; /* left: without an owner so far */
} painter;

static void add_to_steps(painter *self, uint32_t cause) {
  size_t at = 0;
  for (uint64_t s = 0; s < self->facts->step_count; s++) {
    const pd_trace_step *step = facts_step(self->facts, s);
    while (at < self->mine.count && self->mine.rows[at].end <= step->start_ns) at++;
    for (size_t i = at; i < self->mine.count && self->mine.rows[i].start < step->end_ns; i++) {
      const interval *one = &self->mine.rows[i];
      self->rows[s * LEDGER_OWNER_COUNT + cause] += facts_span(
          one->start > step->start_ns ? one->start : step->start_ns, one->end < step->end_ns ? one->end : step->end_ns);
    }
  }
}

/* Gives `cause` what `list` holds of the rest; frees the list. */
static bool paint(painter *self, uint32_t cause, intervals *list) {
  if (!list->count) return true;
  bool ok = intervals_merge(list) && intervals_intersect(&self->left, list, &self->mine) &&
            intervals_subtract(&self->left, list, &self->next);
  if (ok) {
    const intervals left = self->left;
    self->left = self->next;
    self->next = left;
    add_to_steps(self, cause);
  }
  intervals_free(list);
  return ok;
}

/* ---- what the device did ---- */

typedef struct device_lists {
  intervals of[LEDGER_FIRST_IDLE];
  intervals queued;             /* given to the device, not begun, and its latency is over */
  intervals before_temporaries; /* the nanosecond before each kernel on them */
  uint32_t *copies;             /* rows of copies and sets; add_copies finds their causes */
  uint64_t copy_count, copy_room;
} device_lists;

struct ledger_draft {
  painter painter;
  device_lists lists;
  ledger made;
};

/* What a copy is by itself; `in_train`: made in a train_step, `of_batch`: by the training kit on a stream of kernels.
 */
static uint32_t copy_cause(const pd_trace *trace, const pd_activity *detail, bool in_train, bool of_batch) {
  const pd_memory_kind from = detail->u.copy.from, to = detail->u.copy.to;
  if (detail->kind == PD_ACTIVITY_MEMSET) return LEDGER_copy_device;
  if (to == PD_MEMORY_PAGEABLE && in_train) return LEDGER_copy_read;
  if (from == PD_MEMORY_PAGEABLE || to == PD_MEMORY_PAGEABLE) return LEDGER_copy_pageable;
  if (from == PD_MEMORY_PINNED && trace->copies_ahead && in_train && of_batch) return LEDGER_copy_late;
  if (from == PD_MEMORY_PINNED || to == PD_MEMORY_PINNED) return LEDGER_copy_pinned;
  return LEDGER_copy_device;
}

/* The kit's copies are operations; a scenario's own are bare calls. */
static bool is_kits_copy(const trace_facts *facts, const pd_device_row *row) {
  return row->range < facts->range_count &&
         !strcmp(facts_text(facts, facts_range(facts, row->range)->name), "aten::copy_");
}

/* One byte per stream: whether kernels ran on it. NULL on no memory. */
static char *streams_of_kernels(const trace_facts *facts) {
  char *out = calloc(facts->trace->streams.count + 1, 1);
  for (uint64_t i = 0; out && i < facts->activity_count; i++) {
    const pd_device_row *row = facts_activity(facts, i);
    if (row->detail.kind == PD_ACTIVITY_KERNEL && row->stream < facts->trace->streams.count) out[row->stream] = 1;
  }
  return out;
}

/* Whether the normal list holds `at`. */
static bool holds(const intervals *list, int64_t at) {
  size_t low = 0, high = list->count;
  while (low < high) {
    const size_t middle = low + (high - low) / 2;
    if (list->rows[middle].end <= at)
      low = middle + 1;
    else
      high = middle;
  }
  return low < list->count && list->rows[low].start <= at;
}

static bool add_copy(device_lists *lists, uint64_t row) {
  if (!PD_ARRAY_FIT(lists->copies, lists->copy_room, lists->copy_count + 1)) return false;
  lists->copies[lists->copy_count++] = (uint32_t)row;
  return true;
}

/* All lists but those of copies, which add_copies fills. */
static bool device_lists_fill(const trace_facts *facts, const intervals *alive, device_lists *lists) {
  const pd_device_props *device = facts->trace->device;
  const bool is_cuda = device && device->is_cuda;
  const int64_t latency = is_cuda ? LEDGER_LATENCY_CUDA_NS : LEDGER_LATENCY_OTHER_NS;
  const int64_t tiny = is_cuda ? LEDGER_TINY_CUDA_NS : LEDGER_TINY_OTHER_NS;
  bool ok = true;
  for (uint64_t i = 0; ok && i < facts->activity_count; i++) {
    const pd_device_row *row = facts_activity(facts, i);
    const pd_call *call = row->call < facts->call_count ? facts_call(facts, row->call) : NULL;
    uint32_t cause = row->end_ns - row->start_ns < tiny ? LEDGER_tiny_kernels : LEDGER_compute;
    const bool is_collective = facts_is_communication(facts, row->name);
    const bool is_copy = row->detail.kind != PD_ACTIVITY_KERNEL && !is_collective;
    if (is_collective) {
      cause = LEDGER_communication;
    } else if (!is_copy && call && alive->count && holds(alive, call->start_ns)) {
      const bool in_part = row->range < facts->range_count && facts_range(facts, row->range)->part != PD_PART_NONE;
      if (!in_part) cause = LEDGER_temporaries;
    }
    ok = is_copy ? add_copy(lists, i) : intervals_add(&lists->of[cause], row->start_ns, row->end_ns);
    if (cause == LEDGER_temporaries)
      ok = ok && intervals_add(&lists->before_temporaries, row->start_ns - 1, row->start_ns);
    if (call) ok = ok && intervals_add(&lists->queued, call->end_ns + latency, row->start_ns);
  }
  return ok;
}

static bool add_copies(const trace_facts *facts, const intervals *train, device_lists *lists) {
  char *of_kernels = lists->copy_count ? streams_of_kernels(facts) : NULL;
  bool ok = of_kernels || !lists->copy_count;
  for (uint64_t i = 0; ok && i < lists->copy_count; i++) {
    const pd_device_row *row = facts_activity(facts, lists->copies[i]);
    const pd_call *call = row->call < facts->call_count ? facts_call(facts, row->call) : NULL;
    const bool in_train = call && call->thread == LOOP_THREAD && holds(train, call->start_ns);
    const bool of_batch =
        is_kits_copy(facts, row) && row->stream < facts->trace->streams.count && of_kernels[row->stream];
    const uint32_t cause = copy_cause(facts->trace, &row->detail, in_train, of_batch);
    ok = intervals_add(&lists->of[cause], row->start_ns, row->end_ns);
  }
  free(of_kernels);
  return ok;
}

/* ---- the whole ---- */

/* Gives the causes [first, end) their time, in this order. */
static bool paint_busy(ledger_draft *self, uint32_t first, uint32_t end) {
  bool ok = true;
  for (uint32_t cause = first; cause < end && ok; cause++) {
    const bool is_kept = cause == LEDGER_communication && self->lists.of[cause].count;
    ok = paint(&self->painter, cause, &self->lists.of[cause]);
    if (!is_kept) continue;
    self->made.communication = self->painter.mine;
    self->painter.mine = (intervals){0};
  }
  return ok;
}

/* Kernels own their time before copies do. */
static bool paint_kernels(ledger_draft *self) {
  const trace_facts *facts = self->painter.facts;
  const pd_device_props *device = facts->trace->device;
  const int64_t latency = device && device->is_cuda ? LEDGER_LATENCY_CUDA_NS : LEDGER_LATENCY_OTHER_NS;
  intervals alive = {0};
  self->made.passes = ledger_passes_per_step(facts);
  const bool ok = ledger_streams_serialised(facts, latency, &self->lists.of[LEDGER_serialised]) &&
                  ledger_passes_cost(facts, self->made.passes, &self->lists.of[LEDGER_passes]) &&
                  temporaries_find(facts, &self->made.allocations, &self->made.allocated_bytes, &alive) &&
                  device_lists_fill(facts, &alive, &self->lists) && paint_busy(self, 0, LEDGER_copy_read);
  intervals_free(&alive);
  return ok;
}

static bool overheads(const trace_facts *facts, intervals *out) {
  for (uint64_t i = 0; i < facts->trace->others.count; i++) {
    const pd_other_row *row = PD_AT(pd_other_row, &facts->trace->others, i);
    if (row->kind == PD_ACTIVITY_OVERHEAD && !intervals_add(out, row->start_ns, row->end_ns)) return false;
  }
  return true;
}

/* What is left of the device's time in short pieces, where work is queued. */
static bool launch_gaps(const painter *self, intervals *queued, intervals *out) {
  const pd_device_props *device = self->facts->trace->device;
  const int64_t limit = device && device->is_cuda ? LEDGER_GAP_CUDA_NS : LEDGER_GAP_OTHER_NS;
  intervals pieces = {0};
  bool ok = intervals_merge(queued);
  for (size_t i = 0; ok && i < self->left.count; i++) {
    const interval *one = &self->left.rows[i];
    if (one->end - one->start <= limit) ok = intervals_add(&pieces, one->start, one->end);
  }
  ok = ok && intervals_intersect(&pieces, queued, out);
  intervals_free(&pieces);
  return ok;
}

/* Those of `gaps` that end where a kernel on temporaries begins. */
static bool gaps_of_temporaries(const intervals *gaps, intervals *before, intervals *out) {
  bool ok = intervals_merge(before);
  for (size_t i = 0; ok && i < gaps->count; i++)
    if (holds(before, gaps->rows[i].end - 1)) ok = intervals_add(out, gaps->rows[i].start, gaps->rows[i].end);
  return ok;
}

/* What recording adds to the steps of another program, taken from its launching; a run of our own knows it by call. */
static bool recording(painter *self, const gains *of, const intervals *launching, intervals *out) {
  const double wanted = (of->recorded_ns - of->step_ns) * (double)self->facts->step_count;
  if ((self->facts->trace->facts & PD_FACT_TRAIN) || !of->is_judged || wanted <= 0) return true;
  intervals idle = {0};
  bool ok = intervals_intersect(&self->left, launching, &idle);
  const double all = (double)intervals_length(&idle), part = all > wanted ? wanted / all : 1;
  for (size_t i = 0; ok && i < idle.count; i++) {
    const interval *one = &idle.rows[i];
    ok = intervals_add(out, one->start, one->start + (int64_t)(part * (double)(one->end - one->start)));
  }
  intervals_free(&idle);
  return ok;
}

/* The order of ledger.h. */
static bool paint_idle(painter *self, const gains *of, intervals *queued, intervals *before_temporaries,
                       ledger_host *host) {
  intervals profiler = {0}, calls = {0}, gaps = {0}, temporary = {0}, added = {0};
  bool ok = overheads(self->facts, &profiler) && paint(self, LEDGER_profiler, &profiler) &&
            launch_gaps(self, queued, &gaps) && gaps_of_temporaries(&gaps, before_temporaries, &temporary) &&
            paint(self, LEDGER_allocator, &temporary) && paint(self, LEDGER_launch_gap, &gaps) &&
            paint(self, LEDGER_device_side, queued) && ledger_profiler_calls(self->facts, &self->left, &calls) &&
            paint(self, LEDGER_profiler, &calls) && paint(self, LEDGER_input_io, &host->input_io) &&
            paint(self, LEDGER_input_cpu, &host->input_cpu) && paint(self, LEDGER_input_handover, &host->input) &&
            paint(self, LEDGER_allocator, &host->allocator) && paint(self, LEDGER_measurement, &host->outer_sync) &&
            paint(self, LEDGER_forced_sync, &host->inner_sync) && paint(self, LEDGER_host_compute, &host->compute) &&
            paint(self, LEDGER_forced_sync, &host->inner_tail) && paint(self, LEDGER_measurement, &host->outer_tail) &&
            paint(self, LEDGER_transfer, &host->transfer) && paint(self, LEDGER_transfer, &host->transfer_tail) &&
            recording(self, of, &host->train, &added) && paint(self, LEDGER_profiler, &added) &&
            paint(self, LEDGER_launch, &host->train) && paint(self, LEDGER_measurement, &host->between) &&
            paint(self, LEDGER_unknown, &host->steps);
  intervals_free(&profiler);
  intervals_free(&calls);
  intervals_free(&gaps);
  intervals_free(&temporary);
  intervals_free(&added);
  return ok;
}

ledger_draft *ledger_begin(const trace_facts *facts) {
  ledger_draft *self = calloc(1, sizeof *self);
  if (!self) return NULL;
  self->painter.facts = facts;
  self->made.rows = self->painter.rows =
      calloc((facts->step_count + 1) * LEDGER_OWNER_COUNT, sizeof *self->painter.rows);
  bool ok = self->painter.rows != NULL;
  for (uint64_t s = 0; ok && s < facts->step_count; s++) {
    const pd_trace_step *step = facts_step(facts, s);
    ok = intervals_add(&self->painter.left, step->start_ns, step->end_ns);
    self->made.launches += step->launches;
  }
  if (ok && intervals_merge(&self->painter.left) && paint_kernels(self)) return self;
  ledger_drop(self);
  return NULL;
}

void ledger_drop(ledger_draft *self) {
  if (!self) return;
  for (uint32_t cause = 0; cause < LEDGER_FIRST_IDLE; cause++) intervals_free(&self->lists.of[cause]);
  intervals_free(&self->lists.queued);
  intervals_free(&self->lists.before_temporaries);
  free(self->lists.copies);
  intervals_free(&self->painter.left);
  intervals_free(&self->painter.mine);
  intervals_free(&self->painter.next);
  ledger_free(&self->made);
  free(self);
}

bool ledger_end(ledger_draft *self, const gains *of, ledger *out) {
  *out = (ledger){0};
  if (!self) return false;
  ledger_host host;
  memset(&host, 0, sizeof host);
  const bool ok = ledger_host_open(self->painter.facts, of, &host) &&
                  add_copies(self->painter.facts, &host.train, &self->lists) &&
                  paint_busy(self, LEDGER_copy_read, LEDGER_FIRST_IDLE) &&
                  paint_idle(&self->painter, of, &self->lists.queued, &self->lists.before_temporaries, &host);
  self->made.blocking_calls = host.blocking_calls;
  self->made.blocking_steps = host.blocking_steps;
  ledger_host_free(&host);
  if (ok) *out = self->made;
  if (ok) self->made = (ledger){0};
  ledger_drop(self);
  return ok;
}

bool ledger_open(const trace_facts *facts, const gains *of, ledger *out) {
  return ledger_end(ledger_begin(facts), of, out);
}

void ledger_free(ledger *self) {
  free(self->rows);
  intervals_free(&self->communication);
  *self = (ledger){0};
}
