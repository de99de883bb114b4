/* See gains_judge.h. */
#include "gains_judge.h"

#include "base/stats.h"
#include "trace/sort.h"

#include <math.h>
#include <stdlib.h>

/* What a graph cannot hold. */
#define NOT_IN_GRAPHS                                                                                                  \
  (REPLAY_INPUT | REPLAY_SYNC | REPLAY_ALLOCATOR | REPLAY_PAGEABLE | REPLAY_PINNED | REPLAY_HOST | REPLAY_CHAIN)
#define LAUNCHING (REPLAY_LAUNCH | REPLAY_CHAIN)

static bool starts_after(const void *rows, uint32_t a, uint32_t b) {
  const timeline_record *records = rows;
  return records[a].start_ns > records[b].start_ns;
}

bool gains_judge_open_steps(gains_judge *self) {
  const timeline *of = &self->timeline;
  self->bounds = malloc(((size_t)of->step_count + 1) * sizeof *self->bounds);
  self->steps = malloc(((size_t)of->step_count + 1) * GAINS_RUN_COUNT * sizeof *self->steps);
  self->by_start = malloc(((size_t)of->record_count + 1) * sizeof *self->by_start);
  uint32_t *scratch = malloc(((size_t)of->record_count + 1) * sizeof *scratch);
  const bool ok = self->bounds && self->steps && self->by_start && scratch;
  for (uint32_t i = 0; ok && i < of->record_count; i++) self->by_start[i] = i;
  if (ok) sort_runs(self->by_start, scratch, of->record_count, starts_after, of->records);
  free(scratch);
  return ok;
}

/* ---- runs ---- */

bool gains_judge_is_several(const gains_judge *self) { return self->timeline.passes > 1; }

void gains_judge_remove(const gains_judge *self, uint32_t cause, replay_variant *from) {
  switch (cause) {
  case VERDICT_input_bound: from->without |= REPLAY_INPUT; break;
  case VERDICT_forced_sync: from->without |= REPLAY_SYNC; break;
  case VERDICT_launch_bound: from->graph |= LAUNCHING; break;
  case VERDICT_small_batch: from->one_pass = true; break;
  case VERDICT_allocator: from->without |= REPLAY_ALLOCATOR; break;
  case VERDICT_pageable_copy: from->without |= REPLAY_PAGEABLE; break;
  case VERDICT_pinned_copy: from->without |= REPLAY_PINNED; break;
  case VERDICT_host_compute: from->without |= REPLAY_HOST; break;
  case VERDICT_serial_streams:
    from->apart |= !self->chains;
    if (self->chains) from->without |= REPLAY_CHAIN;
    break;
  case VERDICT_device_side: from->eager = true; break;
  default: break;
  }
}

/* Where launches or records go, kernels of several streams come to lie beside each other, as if each had a device of
 * its own. Until all their work is done a step cannot end: it takes no less than the device was busy with what is left.
 * Streams that run apart are meant to lie beside each other. */
static double least_of(const gains_judge *self, const replay_variant *variant) {
  int64_t end = INT64_MIN, busy = 0;
  const bool moves = variant->eager || variant->graph || variant->without;
  if (!moves || variant->apart || variant->one_pass) return 0;
  for (uint32_t i = 0; i < self->timeline.record_count; i++) {
    const timeline_record *record = &self->timeline.records[self->by_start[i]];
    const replay_record *replayed = &self->program.records[self->by_start[i]];
    if (self->timeline.calls[record->call].step < self->first || (replayed->owners & variant->without)) continue;
    const int64_t from = record->start_ns > end ? record->start_ns : end;
    const int64_t to = record->end_ns - (variant->graph && !variant->same_kernels ? replayed->fixed_ns : 0);
    if (to <= from) continue;
    busy += to - from;
    end = to;
  }
  return (double)busy / self->count;
}

double gains_judge_mean(const gains_judge *self, const replay_variant *variant) {
  replay_steps(&self->program.replay, variant, self->bounds);
  const double mean = (double)(self->bounds[self->first + self->count] - self->bounds[self->first]) / self->count;
  return fmax(mean, least_of(self, variant));
}

/* Keeps the steps of a run. */
static double run_steps(const gains_judge *self, const replay_variant *variant, uint32_t run) {
  const double mean = gains_judge_mean(self, variant);
  const int64_t *bounds = &self->bounds[self->first];
  const double replayed = (double)(bounds[self->count] - bounds[0]) / self->count;
  const double longer = replayed > 0 ? mean / replayed : 1; /* where the device is busy for longer: all steps alike */
  for (uint32_t s = 0; s < self->count; s++)
    self->steps[(size_t)run * self->count + s] = longer * (double)(bounds[s + 1] - bounds[s]);
  return mean;
}

static replay_variant rest_of(const gains_judge *self, double keep) {
  return (replay_variant){.without = NOT_IN_GRAPHS, .one_pass = gains_judge_is_several(self), .keep = keep};
}

void gains_judge_run(const gains_judge *self, double keep, double *means) {
  const replay_variant now = {.keep = keep}, rest = rest_of(self, keep);
  means[GAINS_RUN_NOW] = run_steps(self, &now, GAINS_RUN_NOW);
  means[GAINS_RUN_REST] = run_steps(self, &rest, GAINS_RUN_REST);
  for (uint32_t c = 0; c < VERDICT_COUNT; c++) {
    replay_variant without = c == VERDICT_launch_bound ? rest : now;
    gains_judge_remove(self, c, &without);
    means[c] = self->applies[c] ? run_steps(self, &without, c) : means[GAINS_RUN_NOW];
  }
  replay_variant graph = now;
  gains_judge_remove(self, VERDICT_launch_bound, &graph);
  means[GAINS_RUN_GRAPH] = run_steps(self, &graph, GAINS_RUN_GRAPH);
}

double gains_judge_gain(const double *means, uint32_t cause) {
  const double now = means[GAINS_RUN_NOW];
  if (now <= 0) return 0;
  if (cause != VERDICT_launch_bound) return (now - means[cause]) / now;
  const double behind_rest = means[GAINS_RUN_REST] - means[cause], alone = now - means[GAINS_RUN_GRAPH];
  return fmin(behind_rest, alone) / now;
}

double gains_judge_captured(const gains_judge *self, const double *means) {
  const double now = means[GAINS_RUN_NOW], keep = self->out->keep;
  replay_variant alone = {.keep = keep, .same_kernels = true}, behind = rest_of(self, keep);
  behind.same_kernels = true;
  gains_judge_remove(self, VERDICT_launch_bound, &alone);
  gains_judge_remove(self, VERDICT_launch_bound, &behind);
  const double gain =
      fmin(now - gains_judge_mean(self, &alone), means[GAINS_RUN_REST] - gains_judge_mean(self, &behind));
  return now > 0 ? fmin(gain / now, gains_judge_gain(means, VERDICT_launch_bound)) : 0;
}

/* ---- what recording adds ---- */

/* What recording adds to a step, and where the middle of the recorded steps may lie: at ranks of half the steps and
 * 0.98 root of their number to either side (Conover, Practical Nonparametric Statistics, 3.2). `times` are sorted. */
static void set_added(const gains_judge *self, const double *times, double median_ns) {
  gains *out = self->out;
  const double unprofiled_ns = (double)self->timeline.facts->trace->unprofiled_step_ns, count = self->count;
  const double reach = 0.98 / sqrt(count);
  timeline_launching launching;
  out->added_ns = fmax(0, median_ns - unprofiled_ns);
  out->added_low_ns = stats_quantile(times, self->count, fmax(0, 0.5 - reach)) - unprofiled_ns;
  out->added_high_ns = stats_quantile(times, self->count, fmin(1, 0.5 + reach)) - unprofiled_ns;
  if (!timeline_count_launching(&self->timeline, &launching)) return;
  const double records = launching.calls + launching.operations;
  if (records > 0) out->record_ns = out->added_ns * self->timeline.step_count / records;
}

/* The step without the recorder, 0: not known. */
static double unprofiled_step(const gains_judge *self, double recorded_ns) {
  const pd_trace *trace = self->timeline.facts->trace;
  if (trace->unprofiled_step_ns <= 0) return 0;
  double *times = self->steps; /* no run's are kept yet */
  for (uint32_t s = 0; s < self->count; s++)
    times[s] = (double)facts_step(self->timeline.facts, self->first + s)->step_time_ns;
  const double median_ns = stats_spread(times, self->count).median;
  const double more = median_ns - (double)trace->unprofiled_step_ns;
  set_added(self, times, median_ns);
  return more > 0 ? recorded_ns - more : recorded_ns;
}

/* The share of the launching with which a step takes `wanted_ns`. */
static double solve_keep(const gains_judge *self, double wanted_ns) {
  double low = GAINS_KEEP_LEAST, high = 1;
  for (int i = 0; i < 12; i++) {
    const double middle = (low + high) / 2;
    const replay_variant variant = {.keep = middle};
    if (gains_judge_mean(self, &variant) > wanted_ns)
      high = middle;
    else
      low = middle;
  }
  return (low + high) / 2;
}

/* What recording adds to all steps by its usual cost. */
static double usual_cost(const trace_facts *facts, const timeline_launching *of) {
  const pd_trace *trace = facts->trace;
  const double records = of->operations + of->calls;
  if (trace->facts & PD_FACT_RECORDER_COST) return (double)trace->record_cost_ns * records;
  /* Our own recorder, where a run has no steps without it, says nothing rather than guess. */
  if ((trace->facts & PD_FACT_TRAIN) || (trace->device && !trace->device->is_cuda)) return 0;
  if (of->nested_ns > 0)
    return fmin(of->nested_ns, GAINS_NESTED_MOST_NS) *
           (GAINS_OPERATION_NESTED * of->operations + GAINS_LAUNCH_NESTED * of->launches);
  return GAINS_RECORD_NS * records;
}

bool gains_judge_keep(const gains_judge *self, double recorded_ns, double *keep) {
  const double known = unprofiled_step(self, recorded_ns);
  timeline_launching launching;
  *keep = 1;
  self->out->cost_known = known > 0;
  if (known >= recorded_ns) return true;
  if (known > 0) {
    *keep = solve_keep(self, known);
    return true;
  }
  if (!timeline_count_launching(&self->timeline, &launching)) return false;
  if (launching.ns > 0) *keep = fmax(GAINS_KEEP_LEAST, 1 - usual_cost(self->timeline.facts, &launching) / launching.ns);
  return true;
}
