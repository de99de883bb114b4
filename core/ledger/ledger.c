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
} device_lists;

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

static bool device_lists_fill(const trace_facts *facts, const intervals *alive, const intervals *train,
                              device_lists *lists) {
  const pd_device_props *device = facts->trace->device;
  const bool is_cuda = device && device->is_cuda;
  const int64_t latency = is_cuda ? LEDGER_LATENCY_CUDA_NS : LEDGER_LATENCY_OTHER_NS;
  const int64_t tiny = is_cuda ? LEDGER_TINY_CUDA_NS : LEDGER_TINY_OTHER_NS;
  char *of_kernels = streams_of_kernels(facts);
  bool ok = of_kernels != NULL;
  for (uint64_t i = 0; ok && i < facts->activity_count; i++) {
    const pd_device_row *row = facts_activity(facts, i);
    const pd_call *call = row->call < facts->call_count ? facts_call(facts, row->call) : NULL;
    uint32_t cause = row->end_ns - row->start_ns < tiny ? LEDGER_tiny_kernels : LEDGER_compute;
    if (facts_is_communication(facts, row->name)) {
      cause = LEDGER_communication;
    } else if (row->detail.kind != PD_ACTIVITY_KERNEL) {
      const bool in_train = call && call->thread == LOOP_THREAD && holds(train, call->start_ns);
      cause =
          copy_cause(facts->trace, &row->detail, in_train,
                     is_kits_copy(facts, row) && row->stream < facts->trace->streams.count && of_kernels[row->stream]);
    } else if (call && alive->count && holds(alive, call->start_ns)) {
      const bool in_part = row->range < facts->range_count && facts_range(facts, row->range)->part != PD_PART_NONE;
      if (!in_part) cause = LEDGER_temporaries;
    }
    ok = intervals_add(&lists->of[cause], row->start_ns, row->end_ns);
    if (cause == LEDGER_temporaries)
      ok = ok && intervals_add(&lists->before_temporaries, row->start_ns - 1, row->start_ns);
    if (call) ok = ok && intervals_add(&lists->queued, call->end_ns + latency, row->start_ns);
  }
  free(of_kernels);
  return ok;
}

/* ---- the whole ---- */

static bool paint_device(painter *self, const intervals *train, ledger *out, intervals *queued,
                         intervals *before_temporaries) {
  const pd_device_props *device = self->facts->trace->device;
  const int64_t latency = device && device->is_cuda ? LEDGER_LATENCY_CUDA_NS : LEDGER_LATENCY_OTHER_NS;
  intervals alive = {0};
  device_lists lists;
  memset(&lists, 0, sizeof lists);
  out->passes = ledger_passes_per_step(self->facts);
  bool ok = ledger_streams_serialised(self->facts, latency, &lists.of[LEDGER_serialised]) &&
            ledger_passes_cost(self->facts, out->passes, &lists.of[LEDGER_passes]) &&
            temporaries_find(self->facts, &out->allocations, &out->allocated_bytes, &alive) &&
            device_lists_fill(self->facts, &alive, train, &lists);
  for (uint32_t cause = 0; cause < LEDGER_FIRST_IDLE; cause++) {
    const bool is_kept = cause == LEDGER_communication && lists.of[cause].count;
    ok = ok && paint(self, cause, &lists.of[cause]);
    intervals_free(&lists.of[cause]);
    if (!is_kept) continue;
    out->communication = self->mine;
    self->mine = (intervals){0};
  }
  intervals_free(&alive);
  *queued = lists.queued;
  *before_temporaries = lists.before_temporaries;
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

bool ledger_open(const trace_facts *facts, const gains *of, ledger *out) {
  painter self = {.facts = facts};
  ledger_host host;
  intervals queued = {0}, before_temporaries = {0};
  *out = (ledger){0};
  memset(&host, 0, sizeof host);
  out->rows = self.rows = calloc((facts->step_count + 1) * LEDGER_OWNER_COUNT, sizeof *self.rows);
  bool ok = self.rows != NULL;
  for (uint64_t s = 0; ok && s < facts->step_count; s++) {
    const pd_trace_step *step = facts_step(facts, s);
    ok = intervals_add(&self.left, step->start_ns, step->end_ns);
    out->launches += step->launches;
  }
  ok = ok && intervals_merge(&self.left) && ledger_host_open(facts, of, &host) &&
       paint_device(&self, &host.train, out, &queued, &before_temporaries) &&
       paint_idle(&self, of, &queued, &before_temporaries, &host);
  out->blocking_calls = host.blocking_calls;
  out->blocking_steps = host.blocking_steps;
  ledger_host_free(&host);
  intervals_free(&queued);
  intervals_free(&before_temporaries);
  intervals_free(&self.left);
  intervals_free(&self.mine);
  intervals_free(&self.next);
  if (!ok) ledger_free(out);
  return ok;
}

void ledger_free(ledger *self) {
  free(self->rows);
  intervals_free(&self->communication);
  *self = (ledger){0};
}
