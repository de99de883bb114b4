/* What the steps would be without each cause, by replays. Which cause is named is decided in gains.c. */
#include "gains_judge.h"

#include "base/stats.h"
#include "facts/loader_use.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

/* What a graph cannot hold. */
#define NOT_IN_GRAPHS                                                                                                  \
  (REPLAY_INPUT | REPLAY_SYNC | REPLAY_ALLOCATOR | REPLAY_PAGEABLE | REPLAY_PINNED | REPLAY_HOST | REPLAY_CHAIN)

bool gains_judge_open_steps(gains_judge *self) {
  const timeline *of = &self->timeline;
  self->steps = malloc(((size_t)of->step_count + 1) * GAINS_RUN_COUNT * sizeof *self->steps);
  self->replays = calloc(1, sizeof *self->replays);
  if (!self->steps || !self->replays) return false;
  return gains_replays_open(self->replays, of, &self->program, self->first, self->count);
}

void gains_judge_close_steps(gains_judge *self) {
  if (self->replays) gains_replays_close(self->replays);
  free(self->replays);
  free(self->steps);
}

/* ---- runs ---- */

bool gains_judge_is_several(const gains_judge *self) { return self->timeline.passes > 1; }

void gains_judge_remove(const gains_judge *self, uint32_t cause, replay_variant *from) {
  switch (cause) {
  case VERDICT_input_bound: from->without |= REPLAY_INPUT; break;
  case VERDICT_forced_sync: from->without |= REPLAY_SYNC; break;
  case VERDICT_launch_bound: from->graph |= REPLAY_LAUNCHES; break;
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

/* What the device needs for a step at least. Recording may hold streams apart that otherwise run side by side. So the
 * device needs no more than the step without the recorder takes. */
static double device_least(const gains_judge *self, const replay_variant *variant) {
  const replay_variant now = {.keep = variant->keep};
  const double least = gains_replays_least(self->replays, variant);
  return least > 0 ? fmin(least, gains_replays_mean(self->replays, &now)) : 0;
}

static double replayed_mean(const gains_judge *self, const replay_variant *variant) {
  return fmax(gains_replays_mean(self->replays, variant), device_least(self, variant));
}

/* A replay keeps each wait for a batch as long as it was. But where steps become shorter than the workers need for a
 * batch, the loop waits for longer, or begins to wait. */
static double loader_least(const gains_judge *self, const replay_variant *variant) {
  return variant->without & REPLAY_INPUT ? 0 : self->out->loader_ns;
}

double gains_judge_mean(const gains_judge *self, const replay_variant *variant) {
  return fmax(replayed_mean(self, variant), loader_least(self, variant));
}

/* Whether the recorded loop waited for batches by so much that it counts. */
static bool waits_for_batches(const gains_judge *self, double now_ns) {
  const replay_variant loaded = {.without = REPLAY_INPUT, .keep = self->out->keep};
  return now_ns - replayed_mean(self, &loaded) >= GAINS_MINOR * now_ns;
}

void gains_judge_set_loader(gains_judge *self) {
  const timeline *of = &self->timeline;
  const pd_trace *trace = of->facts->trace;
  const loader_use use = loader_use_of(of->facts, of->bounds[0], of->bounds[of->step_count]);
  const replay_variant now = {.keep = self->out->keep};
  double least = fmin(loader_use_pace_ns(&use), self->out->recorded_ns);
  /* Steps that were timed together have their waits. A slower loader was slowed by the recorder. */
  if (!trace->sync_timing && !trace->twin.rounds && trace->unprofiled_step_ns > 0)
    least = fmin(least, (double)trace->unprofiled_step_ns);
  self->out->loader_ns = least;
  const double now_ns = least > 0 ? replayed_mean(self, &now) : 0;
  self->out->input_by_pace = now_ns < least && !waits_for_batches(self, now_ns);
}

/* The steps of a run that was replayed, each longer by `start_ns`. Where the device or the loader takes longer: all
 * steps alike. */
static double bound_steps(const gains_judge *self, const replay_variant *variant, double replayed, double start_ns,
                          double *steps) {
  const double device = fmax(replayed, device_least(self, variant)), started = device + start_ns;
  const double mean = fmax(started, loader_least(self, variant));
  const double longer = replayed > 0 ? device / replayed : 1, later = started > 0 ? mean / started : 1;
  for (uint32_t s = 0; s < self->count; s++) steps[s] = (steps[s] * longer + start_ns) * later;
  return mean;
}

static double *steps_of(const gains_judge *self, uint32_t run) { return &self->steps[(size_t)run * self->count]; }

static replay_variant rest_of(const gains_judge *self, double keep) {
  return (replay_variant){.without = NOT_IN_GRAPHS, .one_pass = gains_judge_is_several(self), .keep = keep};
}

/* What a graph takes longer to start than its first kernel, where steps wait for the device: those begin with an idle
 * one, however few launches they have. Else 0. */
static double graph_launch_ns(const gains_judge *self) {
  const pd_trace *trace = self->timeline.facts->trace;
  return trace->sync_timing && (!trace->device || trace->device->is_cuda) ? GAINS_GRAPH_LAUNCH_NS : 0;
}

/* What it takes to copy a batch to where the graph reads it. 0: no extra copy is needed, or it is not known. */
static double graph_input_ns(const gains_judge *self) {
  const pd_trace *trace = self->timeline.facts->trace;
  if (!trace->graph_input_bytes || !trace->device || !(trace->device->peak_bytes_per_s > 0)) return 0;
  const double moved = 2 * (double)trace->graph_input_bytes; /* it is read and written */
  return GAINS_GRAPH_INPUT_NS + 1e9 * moved / (GAINS_GRAPH_INPUT_PART * trace->device->peak_bytes_per_s);
}

static double graph_start_ns(const gains_judge *self) {
  return self->timeline.is_graph ? 0 : graph_launch_ns(self) + graph_input_ns(self);
}

/* What a run whose launching is gone takes to start its graph. */
static double start_of(const gains_judge *self, uint32_t run) {
  const bool is_graph = run == VERDICT_launch_bound || run == GAINS_RUN_GRAPH;
  return is_graph && self->applies[VERDICT_launch_bound] ? graph_start_ns(self) : 0;
}

static double graph_mean(const gains_judge *self, const replay_variant *variant) {
  return fmax(replayed_mean(self, variant) + graph_start_ns(self), loader_least(self, variant));
}

static replay_variant variant_of(const gains_judge *self, uint32_t run, double keep) {
  const bool behind_rest = run == GAINS_RUN_REST || run == VERDICT_launch_bound;
  replay_variant out = behind_rest ? rest_of(self, keep) : (replay_variant){.keep = keep};
  if (run < VERDICT_COUNT && self->applies[run]) gains_judge_remove(self, run, &out);
  if (run == GAINS_RUN_GRAPH) gains_judge_remove(self, VERDICT_launch_bound, &out);
  return out;
}

void gains_judge_run(const gains_judge *self, double keep, double *means) {
  gains_job jobs[GAINS_RUN_COUNT];
  uint32_t job_of[GAINS_RUN_COUNT], count = 0;
  const replay_variant now = {.keep = keep};
  jobs[count++] = (gains_job){.variant = now, .steps = steps_of(self, GAINS_RUN_NOW)};
  for (uint32_t r = 0; r < GAINS_RUN_COUNT; r++) {
    const replay_variant variant = variant_of(self, r, keep);
    const bool is_now = gains_replays_alike(self->replays, &variant, &now);
    job_of[r] = is_now ? 0 : count;
    if (!is_now) jobs[count++] = (gains_job){.variant = variant, .steps = steps_of(self, r)};
  }
  gains_replays_make_all(self->replays, jobs, count);
  for (uint32_t r = 0; r < GAINS_RUN_COUNT; r++) {
    const gains_job *made = &jobs[job_of[r]];
    const replay_variant variant = variant_of(self, r, keep);
    if (made->steps != steps_of(self, r)) memcpy(steps_of(self, r), made->steps, self->count * sizeof *made->steps);
    means[r] = bound_steps(self, &variant, made->mean, start_of(self, r), steps_of(self, r));
  }
}

double gains_judge_gain(const double *means, uint32_t cause) {
  const double now = means[GAINS_RUN_NOW];
  if (now <= 0) return 0;
  if (cause != VERDICT_launch_bound) return (now - means[cause]) / now;
  const double behind_rest = means[GAINS_RUN_REST] - means[cause], alone = now - means[GAINS_RUN_GRAPH];
  return fmin(behind_rest, alone) / now;
}

static bool is_of_threads(const gains_judge *self) {
  const pd_device_props *device = self->timeline.facts->trace->device;
  return device && !device->is_cuda;
}

void gains_judge_set_cures(const gains_judge *self, const double *means) {
  enum { ALONE, BEHIND, RESIDENT, UNSYNCED, ALL };
  gains *out = self->out;
  gains_cause *launching = &out->causes[VERDICT_launch_bound];
  const double keep = out->keep;
  /* Else there are no graphs, or nothing blocks. */
  const bool may_unblock = !is_of_threads(self) && self->replays->owners & REPLAY_SYNC;
  const uint32_t count = may_unblock ? ALL : UNSYNCED; /* UNSYNCED is the last one */
  replay_variant of[ALL] = {
      [ALONE] = {.graph = REPLAY_LAUNCHES, .same_kernels = true, .keep = keep},
      [BEHIND] = rest_of(self, keep),
      [RESIDENT] = {.without = REPLAY_INPUT | REPLAY_PINNED, .keep = keep},
      [UNSYNCED] = {.without = REPLAY_SYNC, .graph = REPLAY_LAUNCHES, .same_kernels = true, .keep = keep}};
  of[BEHIND].same_kernels = true;
  gains_judge_remove(self, VERDICT_launch_bound, &of[BEHIND]);
  gains_replays_know(self->replays, of, count);

  const double alone = means[GAINS_RUN_NOW] - graph_mean(self, &of[ALONE]),
               behind = means[GAINS_RUN_REST] - graph_mean(self, &of[BEHIND]);
  launching->captured = fmin(fmin(alone, behind) / out->step_ns, launching->gain);
  const double resident = 1 - gains_judge_mean(self, &of[RESIDENT]) / out->step_ns;
  out->uncopied = fmax(0, resident - out->causes[VERDICT_input_bound].gain);
  if (!may_unblock) return;
  const double unblocked = 1 - graph_mean(self, &of[UNSYNCED]) / out->step_ns;
  out->unsynced = fmax(0, unblocked - fmax(0, launching->captured));
}

/* ---- what is worth a name ---- */

double gains_judge_least(const gains_judge *self) { return is_of_threads(self) ? GAINS_LEAST_OTHER : GAINS_LEAST_CUDA; }

double gains_judge_least_of(const gains_judge *self, uint32_t cause) {
  const double least = gains_judge_least(self);
  if (cause != VERDICT_launch_bound || is_of_threads(self)) return least;
  const double doubt = GAINS_GRAPH_DOUBT_NS / self->out->step_ns;
  return self->out->causes[cause].captured >= least + doubt ? least : INFINITY;
}

double gains_judge_worth(const gains_judge *self, uint32_t cause, double gain) {
  const gains_cause *of = &self->out->causes[cause];
  const bool has_graphs = cause == VERDICT_launch_bound && !is_of_threads(self) && of->gain > 0;
  return has_graphs ? gain * of->captured / of->gain : gain;
}

/* ---- what recording adds ---- */

static void set_added_of_each(const gains_judge *self) {
  gains *out = self->out;
  timeline_launching launching;
  timeline_count_launching(&self->timeline, &launching);
  const double records = (launching.calls + launching.operations) / self->timeline.step_count;
  if (records <= 0) return;
  out->record_ns = out->added_ns / records;
  out->record_low_ns = fmax(0, out->added_low_ns) / records;
  out->record_high_ns = fmax(0, out->added_high_ns) / records;
}

/* What recording adds to a step, and where the middle of the recorded steps may lie: at ranks of half the steps and
 * 0.98 root of their number to either side (Conover, Practical Nonparametric Statistics, 3.2). `times` are sorted. */
static void set_added(const gains_judge *self, const double *times, double median_ns) {
  gains *out = self->out;
  const double unprofiled_ns = (double)self->timeline.facts->trace->unprofiled_step_ns, count = self->count;
  const double reach = 0.98 / sqrt(count);
  out->added_ns = fmax(0, median_ns - unprofiled_ns);
  out->added_low_ns = stats_quantile(times, self->count, fmax(0, 0.5 - reach)) - unprofiled_ns;
  out->added_high_ns = stats_quantile(times, self->count, fmin(1, 0.5 + reach)) - unprofiled_ns;
  set_added_of_each(self);
}

/* The same by the window's own steps in turns. What may be nothing is not taken off: it would be noise. */
static double twin_step(const gains_judge *self, const pd_twin *twin, double recorded_ns) {
  gains *out = self->out;
  out->twin_rounds = twin->rounds;
  out->added_ns = fmax(0, (double)twin->added_ns);
  out->added_low_ns = (double)twin->low_ns;
  out->added_high_ns = (double)twin->high_ns;
  set_added_of_each(self);
  return twin->low_ns > 0 && out->added_ns < recorded_ns ? recorded_ns - out->added_ns : recorded_ns;
}

/* What pd_trace.unprofiled_step_ns is of these steps. */
static bool step_times(const gains_judge *self, double *times) {
  if (self->timeline.facts->trace->sync_timing) {
    for (uint32_t s = 0; s < self->count; s++) times[s] = facts_fed_step_ns(self->timeline.facts, self->first + s);
    return true;
  }
  int64_t *seen = malloc(((size_t)self->timeline.step_count + 1) * sizeof *seen);
  if (!seen) return false;
  timeline_observed(&self->timeline, seen);
  for (uint32_t s = 0; s < self->count; s++) times[s] = (double)(seen[self->first + s + 1] - seen[self->first + s]);
  free(seen);
  return true;
}

/* The step without the recorder, 0: not known. False on no memory. */
static bool unprofiled_step(const gains_judge *self, double recorded_ns, double *out) {
  const pd_trace *trace = self->timeline.facts->trace;
  *out = 0;
  if (trace->twin.rounds) *out = twin_step(self, &trace->twin, recorded_ns);
  if (trace->twin.rounds || trace->unprofiled_step_ns <= 0) return true;
  double *times = self->steps; /* no run's are kept yet */
  if (!step_times(self, times)) return false;
  const pd_spread recorded = stats_spread(times, self->count);
  /* Recording does not only lengthen steps, it scatters them: of their mean, all that is more is its. */
  const double more = recorded.mean - (double)trace->unprofiled_step_ns;
  set_added(self, times, recorded.median);
  *out = more > 0 ? recorded_ns - more : recorded_ns;
  return true;
}

/* How much longer than `wanted_ns` a step takes with that share of the launching, if no wait for a batch changes. */
static double step_beyond(const gains_judge *self, double keep, double wanted_ns) {
  const replay_variant variant = {.keep = keep};
  return replayed_mean(self, &variant) - wanted_ns;
}

/* The share of the launching with which a step takes `wanted_ns`. A step grows with the share, mostly in a straight
 * line: by the rule of false position, of Illinois, where an end that stays counts half (Dowell and Jarratt, BIT 11,
 * 1971). Where the device holds the step up below some share the line has a corner, and halves find what is left. */
static double solve_keep(const gains_judge *self, double low, double wanted_ns) {
  enum { POSITIONS = 6, HALVES = 14 };
  double high = 1;
  double below = step_beyond(self, low, wanted_ns), above = step_beyond(self, high, wanted_ns);
  if (below >= 0) return low;
  if (above <= 0) return high;
  for (int i = 0, moved = 0; i < POSITIONS + HALVES && high - low > GAINS_KEEP_EXACT; i++) {
    const double middle = i < POSITIONS ? high - above * (high - low) / (above - below) : (low + high) / 2;
    const double beyond = step_beyond(self, middle, wanted_ns);
    if (fabs(beyond) <= GAINS_KEEP_EXACT * wanted_ns) return middle;
    if (beyond > 0) {
      high = middle;
      above = beyond;
      if (moved > 0) below /= 2;
      moved = 1;
    } else {
      low = middle;
      below = beyond;
      if (moved < 0) above /= 2;
      moved = -1;
    }
  }
  return (low + high) / 2;
}

/* Whether a step takes longer than `wanted_ns`. The program has changed, so that no replay is known. */
static bool is_beyond(gains_judge *self, double keep, double wanted_ns) {
  gains_replays_forget(self->replays);
  return step_beyond(self, keep, wanted_ns) > 0;
}

/* Whether it is enough that less lies between the records of a graph. Then replay.inside says how much of it stays. */
static bool solve_inside(gains_judge *self, double wanted_ns) {
  enum { HALVES = 10 };
  const double almost = 1 - GAINS_KEEP_EXACT;
  double low = 0, high = 1;
  if (!self->replays->has_inside || step_beyond(self, almost, wanted_ns) >= 0) return false;
  for (int i = 0; i < HALVES; i++) {
    const double middle = self->program.replay.inside = (low + high) / 2;
    *(is_beyond(self, almost, wanted_ns) ? &high : &low) = middle;
  }
  self->program.replay.inside = low;
  gains_replays_forget(self->replays);
  return low > 0;
}

/* Where a step takes longer even with the least of launching, less lies between two records of a queue: so little that
 * it takes `wanted_ns`, but no less than in a graph, and `keep` of all beyond that. */
static void solve_queue(gains_judge *self, double keep, double wanted_ns) {
  enum { HALVES = 11 }; /* to less than 1 ns */
  int64_t low = program_captured_gap(&self->timeline), high = self->timeline.limits.queue_gap_ns;
  for (int i = 0; i < HALVES && low < high; i++) {
    const int64_t middle = (low + high) / 2;
    program_set_queue_gap(&self->program, &self->timeline, middle);
    *(is_beyond(self, keep, wanted_ns) ? &high : &low) = middle;
  }
}

static double solve(gains_judge *self, double wanted_ns) {
  const bool in_graphs = self->replays->has_inside && facts_mostly_graphs(self->timeline.facts);
  const double least = in_graphs ? GAINS_KEEP_LEAST_GRAPHS : GAINS_KEEP_LEAST_KNOWN;
  if (solve_inside(self, wanted_ns)) return 1 - GAINS_KEEP_EXACT;
  if (step_beyond(self, least, wanted_ns) > GAINS_KEEP_EXACT * wanted_ns) solve_queue(self, least, wanted_ns);
  return solve_keep(self, least, wanted_ns);
}

/* What recording adds to all steps by its usual cost. False on no memory. Our own recorder, where a run has no steps
 * without it, says nothing rather than guess. */
static bool usual_cost(const timeline *from, const timeline_launching *of, double *out) {
  const pd_trace *trace = from->facts->trace;
  const bool is_told = (trace->facts & PD_FACT_RECORDER_COST) != 0;
  double nested_ns = 0, launch_ns = 0;
  *out = is_told ? (double)trace->record_cost_ns * (of->operations + of->calls) : 0;
  if (is_told || (trace->facts & PD_FACT_TRAIN) || (trace->device && !trace->device->is_cuda)) return true;
  if (!timeline_nested(from, &nested_ns)) return false;
  *out = fmin(nested_ns, GAINS_NESTED_MOST_NS) *
         (GAINS_OPERATION_NESTED * of->operations + GAINS_LAUNCH_NESTED * of->launches);
  if (nested_ns > 0) return true;
  if (!timeline_launch_quartile(from, &launch_ns)) return false;
  *out = GAINS_LAUNCH_RECORDED * fmin(launch_ns, GAINS_LAUNCH_MOST_NS) * (of->launches - of->graphs) +
         GAINS_GRAPH_RECORD_NS * of->graph_records + GAINS_OPERATION_NS * of->operations;
  return true;
}

bool gains_judge_keep(gains_judge *self, double recorded_ns, double *keep) {
  timeline_launching launching;
  double known, cost;
  *keep = 1;
  if (!unprofiled_step(self, recorded_ns, &known)) return false;
  self->out->cost_known = known > 0;
  if (known >= recorded_ns) return true;
  timeline_count_launching(&self->timeline, &launching);
  if (known > 0)
    *keep = solve(self, known);
  else if (!usual_cost(&self->timeline, &launching, &cost))
    return false;
  else if (launching.ns > 0)
    *keep = fmax(GAINS_KEEP_LEAST, 1 - cost / launching.ns);
  self->out->launch_cost_ns = (1 - *keep) * launching.ns / self->timeline.step_count;
  return true;
}
