/* See gains.h. */
#include "gains.h"

#include "base/random_bits.h"
#include "base/stats.h"
#include "program.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

/* What a graph cannot hold. */
#define NOT_IN_GRAPHS                                                                                                  \
  (REPLAY_INPUT | REPLAY_SYNC | REPLAY_ALLOCATOR | REPLAY_PAGEABLE | REPLAY_PINNED | REPLAY_HOST | REPLAY_CHAIN)
#define LAUNCHING (REPLAY_LAUNCH | REPLAY_CHAIN)

/* The variants whose steps are kept for resampling: one for each cause, and what launching is measured against. */
enum { RUN_NOW = VERDICT_COUNT, RUN_REST, RUN_COUNT };

typedef struct judge {
  timeline timeline;
  program program;
  int64_t *bounds;       /* of the run that was made last */
  double *steps;         /* RUN_COUNT lists of `count` */
  uint32_t first, count; /* steps that are judged */
  bool chains;           /* serial streams: chains are removed, not only their waits */
  bool applies[VERDICT_COUNT];
  gains *out;
} judge;

static bool open_steps(judge *self) {
  const timeline *of = &self->timeline;
  self->bounds = malloc(((size_t)of->step_count + 1) * sizeof *self->bounds);
  self->steps = malloc(((size_t)of->step_count + 1) * RUN_COUNT * sizeof *self->steps);
  return self->bounds && self->steps;
}

/* ---- runs ---- */

static bool is_several(const judge *self) { return self->timeline.passes > 1; }

/* Takes one cause more away. */
static void remove_cause(const judge *self, uint32_t cause, replay_variant *from) {
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

static double run_mean(const judge *self, const replay_variant *variant) {
  replay_steps(&self->program.replay, variant, self->bounds);
  return (double)(self->bounds[self->first + self->count] - self->bounds[self->first]) / self->count;
}

/* Keeps the steps of a run. */
static double run_steps(const judge *self, const replay_variant *variant, uint32_t run) {
  const double mean = run_mean(self, variant);
  for (uint32_t s = 0; s < self->count; s++)
    self->steps[(size_t)run * self->count + s] =
        (double)(self->bounds[self->first + s + 1] - self->bounds[self->first + s]);
  return mean;
}

static replay_variant rest_of(const judge *self, double keep) {
  return (replay_variant){.without = NOT_IN_GRAPHS, .one_pass = is_several(self), .keep = keep};
}

/* All runs of one `keep`; the means. */
static void run_all(const judge *self, double keep, double *means) {
  const replay_variant now = {.keep = keep}, rest = rest_of(self, keep);
  means[RUN_NOW] = run_steps(self, &now, RUN_NOW);
  means[RUN_REST] = run_steps(self, &rest, RUN_REST);
  for (uint32_t c = 0; c < VERDICT_COUNT; c++) {
    replay_variant without = c == VERDICT_launch_bound ? rest : now;
    remove_cause(self, c, &without);
    means[c] = self->applies[c] ? run_steps(self, &without, c) : means[RUN_NOW];
  }
}

static double gain_of(const double *means, uint32_t cause) {
  const double from = means[cause == VERDICT_launch_bound ? RUN_REST : RUN_NOW];
  return means[RUN_NOW] > 0 ? (from - means[cause]) / means[RUN_NOW] : 0;
}

/* ---- what recording adds ---- */

/* The step without the recorder, 0: not known. */
static double unprofiled_step(const judge *self, double recorded_ns) {
  const pd_trace *trace = self->timeline.facts->trace;
  if (trace->unprofiled_step_ns <= 0) return 0;
  double *times = self->steps; /* no run's are kept yet */
  for (uint32_t s = 0; s < self->count; s++)
    times[s] = (double)facts_step(self->timeline.facts, self->first + s)->step_time_ns;
  const double more = stats_spread(times, self->count).median - (double)trace->unprofiled_step_ns;
  return more > 0 ? recorded_ns - more : recorded_ns;
}

/* The share of the launching with which a step takes `wanted_ns`. */
static double solve_keep(const judge *self, double wanted_ns) {
  double low = GAINS_KEEP_LEAST, high = 1;
  for (int i = 0; i < 12; i++) {
    const double middle = (low + high) / 2;
    const replay_variant variant = {.keep = middle};
    if (run_mean(self, &variant) > wanted_ns)
      high = middle;
    else
      low = middle;
  }
  return (low + high) / 2;
}

static double keep_of(const judge *self, double recorded_ns) {
  const pd_trace *trace = self->timeline.facts->trace;
  const double known = unprofiled_step(self, recorded_ns);
  double launching, records;
  self->out->cost_known = known > 0;
  if (known >= recorded_ns) return 1;
  if (known > 0) return solve_keep(self, known);
  timeline_count_launching(&self->timeline, &launching, &records);
  if (launching <= 0) return 1;
  double each = GAINS_RECORD_NS;
  if (trace->facts & PD_FACT_RECORDER_COST)
    each = (double)trace->record_cost_ns;
  else if ((trace->facts & PD_FACT_TRAIN) || (trace->device && !trace->device->is_cuda))
    each = 0; /* our own recorder, where a run has no steps without it, says nothing rather than guess */
  return fmax(GAINS_KEEP_LEAST, 1 - records * each / launching);
}

/* ---- naming ---- */

static double least_gain(const judge *self) {
  const pd_device_props *device = self->timeline.facts->trace->device;
  return device && !device->is_cuda ? GAINS_LEAST_OTHER : GAINS_LEAST_CUDA;
}

/* The cause with the largest of `gains_of` all that could be named, or VERDICT_none. */
static uint32_t largest(const judge *self, const double *gains_of) {
  uint32_t best = VERDICT_none;
  for (uint32_t c = 0; c < VERDICT_none; c++)
    if (self->applies[c] && gains_of[c] >= least_gain(self) && (best == VERDICT_none || gains_of[c] > gains_of[best]))
      best = c;
  return best;
}

static uint64_t draws_for(uint64_t steps) {
  const uint64_t draws = GAINS_STEPS_DRAWN / steps;
  return draws > GAINS_DRAWS ? GAINS_DRAWS : draws < GAINS_DRAWS_LEAST ? GAINS_DRAWS_LEAST : draws;
}

static int by_value(const void *a, const void *b) {
  const double *x = a, *y = b;
  return (*x > *y) - (*x < *y);
}

/* Steps in which waits for input come together: one for each worker of the loader. */
static uint32_t burst_of(const judge *self) {
  const trace_facts *facts = self->timeline.facts;
  uint32_t workers = 0, last = PD_NONE;
  for (uint64_t i = 0; i < facts->range_count; i++) {
    const pd_range *range = facts_range(facts, i);
    if (range->kind != PD_RANGE_WORKER || range->thread == last) continue;
    last = range->thread; /* ranges are sorted by thread */
    workers++;
  }
  if (!workers) workers = GAINS_WORKERS;
  return workers < self->count ? workers : self->count;
}

/* Adds as many steps as there are to the sums of all runs, `block` neighbours at a time. */
static void draw_steps(const judge *self, uint32_t block, uint64_t *state, double *sums) {
  for (uint32_t i = 0; i < self->count; i += block) {
    const uint32_t first = (uint32_t)(random_bits(state) % self->count);
    for (uint32_t k = 0; k < block && i + k < self->count; k++)
      for (uint32_t r = 0; r < RUN_COUNT; r++)
        if (r >= VERDICT_COUNT || self->applies[r])
          sums[r] += self->steps[(size_t)r * self->count + (first + k) % self->count];
  }
}

/* Sets the cause's interval from drawn gains, in any order. */
static void set_interval(const judge *self, uint32_t cause, double *drawn, uint64_t draws) {
  qsort(drawn, draws, sizeof *drawn, by_value);
  self->out->causes[cause].low = stats_quantile(drawn, draws, 0.025);
  self->out->causes[cause].high = stats_quantile(drawn, draws, 0.975);
}

static bool resample(const judge *self) {
  const uint64_t draws = draws_for(self->count);
  const uint32_t burst = burst_of(self);
  double *drawn = malloc(draws * VERDICT_COUNT * sizeof *drawn);
  uint64_t state = GAINS_SEED, burst_state = GAINS_SEED;
  if (!drawn) return false;
  for (uint64_t d = 0; d < draws; d++) {
    double sums[RUN_COUNT] = {0}, bursts[RUN_COUNT] = {0};
    draw_steps(self, 1, &state, sums);
    draw_steps(self, burst, &burst_state, bursts);
    double one[VERDICT_COUNT];
    for (uint32_t c = 0; c < VERDICT_COUNT; c++)
      drawn[c * draws + d] = one[c] = self->applies[c] ? gain_of(c == VERDICT_input_bound ? bursts : sums, c) : 0;
    self->out->named[largest(self, one)]++;
  }
  self->out->draws = draws;
  for (uint32_t c = 0; c < VERDICT_COUNT; c++) set_interval(self, c, drawn + c * draws, draws);
  free(drawn);
  return true;
}

static bool is_nameable(const judge *self, uint32_t cause) {
  const gains_cause *of = &self->out->causes[cause];
  return of->applies && of->gain >= least_gain(self) && of->low > least_gain(self) / 2;
}

/* What is left to gain once a cause is gone. */
static void look_behind(const judge *self, uint32_t cause) {
  gains_cause *of = &self->out->causes[cause];
  replay_variant gone = {.keep = self->out->keep};
  remove_cause(self, cause, &gone);
  const double left = run_mean(self, &gone);
  of->then = VERDICT_none;
  for (uint32_t c = 0; c < VERDICT_none; c++) {
    if (c == cause || !self->applies[c]) continue;
    replay_variant both = gone;
    remove_cause(self, c, &both);
    const double more = (left - run_mean(self, &both)) / self->out->step_ns;
    if (more < GAINS_MINOR || more <= of->then_gain) continue;
    of->then = c;
    of->then_gain = more;
  }
}

/* Two causes may hide the same time: a blocking call and the computing behind it that would otherwise run beside the
 * device. Whichever goes saves it, and the other then saves little more. Of such causes the one is named in whose time
 * the device is idle. */
static uint32_t in_whose_time(const judge *self, uint32_t best) {
  static const uint32_t alike[] = {VERDICT_input_bound, VERDICT_forced_sync, VERDICT_allocator, VERDICT_pageable_copy,
                                   VERDICT_host_compute};
  const gains *out = self->out;
  uint32_t found = best;
  bool may = false;
  for (size_t i = 0; i < sizeof alike / sizeof *alike; i++) may |= alike[i] == best;
  for (size_t i = 0; may && i < sizeof alike / sizeof *alike; i++) {
    const gains_cause *other = &out->causes[alike[i]];
    if (alike[i] == best || !is_nameable(self, alike[i]) || other->idle <= out->causes[found].idle) continue;
    if (other->gain < GAINS_ALIKE * out->causes[best].gain) continue;
    replay_variant both = {.keep = out->keep};
    remove_cause(self, best, &both);
    remove_cause(self, alike[i], &both);
    const double together = 1 - run_mean(self, &both) / out->step_ns;
    if (together - out->causes[best].gain <= (1 - GAINS_ALIKE) * other->gain) found = alike[i];
  }
  return found;
}

static void rank(const judge *self) {
  gains *out = self->out;
  out->ranked = 0;
  for (uint32_t n = 0; n < GAINS_RANKED; n++) {
    uint32_t best = VERDICT_none;
    for (uint32_t c = 0; c < VERDICT_none; c++) {
      bool taken = false;
      for (uint32_t i = 0; i < out->ranked; i++) taken |= out->ranking[i] == c;
      if (taken || !is_nameable(self, c)) continue;
      if (best == VERDICT_none || out->causes[c].gain > out->causes[best].gain) best = c;
    }
    if (best == VERDICT_none) break;
    if (n == 0) {
      const uint32_t named = in_whose_time(self, best);
      if (named != best) out->agreeing = out->named[best];
      best = named;
    }
    out->ranking[out->ranked++] = best;
  }
  out->cause = out->ranked ? out->ranking[0] : VERDICT_none;
  out->agreeing += out->named[out->cause];
  replay_variant gone = {.keep = out->keep};
  for (uint32_t n = 0; n < out->ranked; n++) {
    remove_cause(self, out->ranking[n], &gone);
    out->without[n].step_ns = run_mean(self, &gone);
    out->without[n].gain = 1 - out->without[n].step_ns / out->step_ns;
  }
}

static void find_close(const judge *self) {
  double means[RUN_COUNT];
  gains *out = self->out;
  out->close = VERDICT_COUNT;
  for (int half = 1; half <= 3 && out->keep < 1; half += 2) {
    run_all(self, fmax(GAINS_KEEP_LEAST, 1 - (1 - out->keep) * half / 2), means);
    double one[VERDICT_COUNT];
    for (uint32_t c = 0; c < VERDICT_COUNT; c++) one[c] = self->applies[c] ? gain_of(means, c) : 0;
    const uint32_t other = largest(self, one);
    if (other != out->cause) out->close = other;
  }
}

/* Where the streams' chains are long their removal is what the section costs; else their waits'. */
static void choose_serial(judge *self, double keep) {
  const replay_variant apart = {.apart = true, .keep = keep}, chains = {.without = REPLAY_CHAIN, .keep = keep};
  self->chains = run_mean(self, &chains) < run_mean(self, &apart);
}

static void set_applies(judge *self) {
  for (uint32_t c = 0; c < VERDICT_COUNT; c++) self->applies[c] = c != VERDICT_none && c != VERDICT_profiler;
  self->applies[VERDICT_small_batch] = is_several(self);
  const pd_device_props *device = self->timeline.facts->trace->device;
  self->applies[VERDICT_device_side] = !device || device->is_cuda; /* a device of threads was not scheduled */
}

static void set_idle(const judge *self) {
  static const struct {
    uint32_t cause;
    replay_owners owners;
  } of[] = {{VERDICT_input_bound, REPLAY_INPUT},   {VERDICT_forced_sync, REPLAY_SYNC},
            {VERDICT_allocator, REPLAY_ALLOCATOR}, {VERDICT_pageable_copy, REPLAY_PAGEABLE},
            {VERDICT_host_compute, REPLAY_HOST},   {VERDICT_launch_bound, REPLAY_LAUNCH},
            {VERDICT_serial_streams, REPLAY_CHAIN}};
  const timeline *from = &self->timeline;
  const double span = (double)(from->bounds[from->step_count] - from->bounds[0]);
  if (span <= 0) return;
  for (size_t i = 0; i < sizeof of / sizeof *of; i++)
    self->out->causes[of[i].cause].idle = (double)from->idle_ns[__builtin_ctz(of[i].owners)] / span;
  self->out->causes[VERDICT_pageable_copy].idle += (double)from->pageable_ns / span;
}

/* ---- fidelity ---- */

static bool check_fidelity(const judge *self) {
  gains *out = self->out;
  int64_t *seen = malloc(((size_t)self->timeline.step_count + 1) * sizeof *seen);
  double *misses = malloc(((size_t)self->count + 1) * sizeof *misses);
  bool ok = seen && misses;
  if (ok) {
    const replay_variant nothing = {.keep = 1};
    timeline_observed(&self->timeline, seen);
    out->recorded_ns = (double)(seen[self->first + self->count] - seen[self->first]) / self->count;
    ok = timeline_busy(&self->timeline, seen[self->first], seen[self->first + self->count], &out->busy);
    run_mean(self, &nothing);
    for (uint32_t s = 0; s < self->count; s++) {
      const double was = (double)(seen[self->first + s + 1] - seen[self->first + s]);
      const double is = (double)(self->bounds[self->first + s + 1] - self->bounds[self->first + s]);
      misses[s] = was > 0 ? fabs(is - was) / was : 0;
    }
    const pd_spread spread = stats_spread(misses, self->count);
    out->miss_median = spread.median;
    out->miss_worst = spread.max;
  }
  free(seen);
  free(misses);
  return ok;
}

static bool find(judge *self) {
  gains *out = self->out;
  double means[RUN_COUNT];
  set_applies(self);
  if (!check_fidelity(self)) return false;
  out->keep = keep_of(self, out->recorded_ns);
  choose_serial(self, out->keep);
  run_all(self, out->keep, means);
  out->step_ns = means[RUN_NOW];
  if (out->step_ns <= 0) return true;
  out->is_judged = true;
  for (uint32_t c = 0; c < VERDICT_COUNT; c++)
    out->causes[c] = (gains_cause){
        .applies = self->applies[c], .gain = self->applies[c] ? gain_of(means, c) : 0, .then = VERDICT_none};
  set_idle(self);
  if (!resample(self)) return false;
  for (uint32_t c = 0; c < VERDICT_none; c++)
    if (out->causes[c].gain >= GAINS_MINOR) look_behind(self, c);
  rank(self);
  find_close(self);
  return true;
}

bool gains_find(const trace_facts *facts, gains *out) {
  judge self = {.out = out};
  *out = (gains){.cause = VERDICT_none, .close = VERDICT_COUNT, .keep = 1};
  bool ok = timeline_open(facts, &self.timeline);
  const timeline *of = &self.timeline;
  if (ok) {
    out->unlinked = of->device_records ? (double)of->unlinked / of->device_records : 0;
    out->passes = of->passes;
    out->hops = of->hops;
  }
  if (ok && of->step_count && of->record_count && of->item_count) {
    self.first = of->begins_behind && of->step_count >= 3;
    self.count = of->step_count - self.first;
    out->steps = self.count;
    ok = program_open(of, &self.program) && open_steps(&self) && find(&self);
  }
  program_close(&self.program);
  free(self.bounds);
  free(self.steps);
  timeline_close(&self.timeline);
  return ok;
}
