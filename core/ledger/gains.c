/* Names the cause whose removal brings most. What a removal brings is replayed in gains_judge.c. See gains.h. */
#include "gains_draws.h"

#include "base/stats.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

/* ---- naming ---- */

static bool is_nameable(const gains_judge *self, uint32_t cause) {
  const gains_cause *of = &self->out->causes[cause];
  return of->applies && of->gain >= gains_judge_least_of(self, cause) && of->low > gains_judge_least(self) / 2;
}

/* Without the cause, alone or with another one. */
static replay_variant without(const gains_judge *self, uint32_t cause, uint32_t other) {
  replay_variant out = {.keep = self->out->keep};
  gains_judge_remove(self, cause, &out);
  if (other != VERDICT_none) gains_judge_remove(self, other, &out);
  return out;
}

/* All replays that look_behind asks for, at once. */
static void know_pairs(const gains_judge *self) {
  replay_variant wanted[VERDICT_none * VERDICT_none];
  uint32_t count = 0;
  for (uint32_t c = 0; c < VERDICT_none; c++)
    for (uint32_t other = 0; other < VERDICT_none && self->out->causes[c].gain >= GAINS_MINOR; other++)
      if (self->applies[other]) wanted[count++] = without(self, c, other);
  gains_replays_know(self->replays, wanted, count);
}

/* What is left to gain once a cause is gone. */
static void look_behind(const gains_judge *self, uint32_t cause) {
  gains_cause *of = &self->out->causes[cause];
  const replay_variant gone = without(self, cause, VERDICT_none);
  const double left = gains_judge_mean(self, &gone);
  of->then = VERDICT_none;
  for (uint32_t c = 0; c < VERDICT_none; c++) {
    if (c == cause || !self->applies[c]) continue;
    const replay_variant both = without(self, cause, c);
    const double more = (left - gains_judge_mean(self, &both)) / self->out->step_ns;
    if (more < GAINS_MINOR || more <= of->then_gain) continue;
    of->then = c;
    of->then_gain = more;
  }
}

/* Two causes may hide the same time: a blocking call and the computing after it that would otherwise run beside the
 * device. Whichever goes saves it, and the other then saves little more. The cause in whose time the device is idle is
 * named. */
static uint32_t in_whose_time(const gains_judge *self, uint32_t best) {
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
    const replay_variant both = without(self, best, alike[i]);
    const double together = 1 - gains_judge_mean(self, &both) / out->step_ns;
    if (together - out->causes[best].gain <= (1 - GAINS_ALIKE) * other->gain) found = alike[i];
  }
  return found;
}

static void rank(const gains_judge *self) {
  gains *out = self->out;
  out->ranked = 0;
  for (uint32_t n = 0; n < GAINS_RANKED; n++) {
    uint32_t best = VERDICT_none;
    for (uint32_t c = 0; c < VERDICT_none; c++) {
      bool taken = false;
      for (uint32_t i = 0; i < out->ranked; i++) taken |= out->ranking[i] == c;
      if (taken || !is_nameable(self, c)) continue;
      if (best == VERDICT_none ||
          gains_judge_worth(self, c, out->causes[c].gain) > gains_judge_worth(self, best, out->causes[best].gain))
        best = c;
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
  for (uint32_t n = 0; n < out->ranked; n++) {
    const replay_variant gone = gains_together(self, n + 1, out->keep);
    out->without[n].step_ns = gains_judge_mean(self, &gone);
    out->without[n].gain = 1 - out->without[n].step_ns / out->step_ns;
  }
}

static void widen(double to, double *low, double *high) {
  *low = fmin(*low, to);
  *high = fmax(*high, to);
}

/* Where the run has no steps without the recorder, what it adds is an estimate: with half and with 1.5 times as much,
 * another cause may be the largest, and the gains' intervals reach as far as the gains go. */
static void vary_cost(const gains_judge *self) {
  double means[GAINS_RUN_COUNT];
  gains *out = self->out;
  if (out->cost_known) return;
  for (int half = 1; half <= 3 && out->keep < 1; half += 2) {
    const double keep = fmax(GAINS_KEEP_LEAST, 1 - (1 - out->keep) * half / 2);
    gains_judge_run(self, keep, means);
    double one[VERDICT_COUNT];
    for (uint32_t c = 0; c < VERDICT_COUNT; c++) {
      one[c] = self->applies[c] ? gains_judge_gain(means, c) : 0;
      if (!self->applies[c]) continue;
      widen(one[c], &out->causes[c].low, &out->causes[c].high);
    }
    for (uint32_t n = 1; n < out->ranked; n++) {
      const replay_variant gone = gains_together(self, n + 1, keep);
      widen(1 - gains_judge_mean(self, &gone) / means[GAINS_RUN_NOW], &out->without[n].low, &out->without[n].high);
    }
    const uint32_t other = gains_largest(self, one);
    if (other != out->cause) out->close = other;
  }
}

/* An estimate of what recording adds leaves the gains unsure by more than their steps scatter. */
static void find_near(const gains_judge *self) {
  gains *out = self->out;
  const double near = self->timeline.has_operations ? GAINS_NEAR : GAINS_NEAR_BARE;
  if (out->cost_known || out->keep >= 1 || out->cause == VERDICT_none) return;
  for (uint32_t c = 0; c < VERDICT_none; c++) {
    if (c == out->cause || !is_nameable(self, c)) continue;
    if (gains_judge_worth(self, out->cause, out->causes[out->cause].gain) -
            gains_judge_worth(self, c, out->causes[c].gain) >=
        near)
      continue;
    if (out->near == VERDICT_COUNT || gains_judge_worth(self, c, out->causes[c].gain) >
                                          gains_judge_worth(self, out->near, out->causes[out->near].gain))
      out->near = c;
  }
}

/* Without operations all that lies between two calls counts as launching, though it may belong to what blocks, copies
 * or allocates there: the host that launches sets the pace of the step, so that its time moves from one to the other.
 * If nothing else says how slow recording is, it is then estimated from the launches alone: up to half of the launching
 * may be the recorder's. */
static void find_beside(const gains_judge *self) {
  static const struct {
    uint32_t cause;
    replay_owners owner;
  } of[] = {{VERDICT_forced_sync, REPLAY_SYNC},
            {VERDICT_allocator, REPLAY_ALLOCATOR},
            {VERDICT_pageable_copy, REPLAY_PAGEABLE},
            {VERDICT_host_compute, REPLAY_HOST},
            {VERDICT_serial_streams, REPLAY_CHAIN}};
  gains *out = self->out;
  const bool is_shown = out->cost_known || (self->timeline.facts->trace->facts & PD_FACT_RECORDER_COST);
  const double keep = is_shown ? out->keep : GAINS_KEEP_LEAST;
  double means[GAINS_RUN_COUNT];
  if (out->cause != VERDICT_launch_bound || self->timeline.has_operations) return;
  gains_judge_run(self, keep, means);
  const double launching = gains_judge_worth(self, out->cause, gains_judge_gain(means, out->cause));
  for (size_t i = 0; i < sizeof of / sizeof *of; i++) {
    const double ns = (double)self->timeline.beside_ns[__builtin_ctz(of[i].owner)] / self->timeline.step_count;
    const double moved = keep * ns / means[GAINS_RUN_NOW];
    const double with = gains_judge_gain(means, of[i].cause) + moved;
    if (with < gains_judge_least(self) || with < launching - moved) continue;
    if (ns <= out->beside_ns) continue;
    out->beside = of[i].cause;
    out->beside_ns = ns;
  }
}

/* A grid does not tell whether more samples are more blocks or longer ones: sums over the batch, as of weights'
 * gradients, keep their grid. So the gain of one pass lies between what kernels with room for more blocks give and what
 * they give if they take as many times as long. */
static void vary_passes(const gains_judge *self) {
  gains_cause *of = &self->out->causes[VERDICT_small_batch];
  if (!of->applies) return;
  const replay_variant longest = {.one_pass = true, .longest = true, .keep = self->out->keep};
  of->low = fmin(of->low, 1 - gains_judge_mean(self, &longest) / self->out->step_ns);
  for (uint32_t n = 1; n < self->out->ranked; n++) {
    replay_variant gone = gains_together(self, n + 1, self->out->keep);
    if (!gone.one_pass) continue;
    gone.longest = true;
    double *low = &self->out->without[n].low;
    *low = fmin(*low, 1 - gains_judge_mean(self, &gone) / self->out->step_ns);
  }
  self->out->passes_unsure = self->out->cause == VERDICT_small_batch && of->low < gains_judge_least(self);
}

/* Where the streams' chains are long their removal is what the section costs; else their waits'. */
static void choose_serial(gains_judge *self, double keep) {
  enum { APART, CHAINS, BOTH };
  const replay_variant of[BOTH] = {
      [APART] = {.apart = true, .keep = keep}, [CHAINS] = {.without = REPLAY_CHAIN, .keep = keep}};
  gains_replays_know(self->replays, of, BOTH);
  self->chains = gains_judge_mean(self, &of[CHAINS]) < gains_judge_mean(self, &of[APART]);
}

static void set_applies(gains_judge *self) {
  for (uint32_t c = 0; c < VERDICT_COUNT; c++) self->applies[c] = c != VERDICT_none && c != VERDICT_profiler;
  self->applies[VERDICT_small_batch] = gains_judge_is_several(self);
  const pd_device_props *device = self->timeline.facts->trace->device;
  self->applies[VERDICT_device_side] = !device || device->is_cuda; /* a device of threads was not scheduled */
}

static void set_idle(const gains_judge *self) {
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

static bool check_fidelity(const gains_judge *self) {
  gains *out = self->out;
  int64_t *seen = malloc(((size_t)self->timeline.step_count + 1) * sizeof *seen);
  double *misses = malloc(((size_t)self->count + 1) * sizeof *misses);
  bool ok = seen && misses;
  if (ok) {
    const replay_variant nothing = {.keep = 1};
    timeline_observed(&self->timeline, seen);
    out->recorded_ns = (double)(seen[self->first + self->count] - seen[self->first]) / self->count;
    const int64_t from = seen[self->first], to = seen[self->first + self->count];
    out->busy = to > from ? (double)intervals_within(&self->timeline.busy, from, to) / (double)(to - from) : 0;
    gains_replays_make(self->replays, &nothing);
    const int64_t *bounds = self->replays->bounds;
    for (uint32_t s = 0; s < self->count; s++) {
      const double was = (double)(seen[self->first + s + 1] - seen[self->first + s]);
      const double is = (double)(bounds[self->first + s + 1] - bounds[self->first + s]);
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

/* Where the calls of what is named are made. */
static bool find_place(gains_judge *self) {
  switch (self->out->cause) {
  case VERDICT_forced_sync: return places_find(&self->timeline, REPLAY_SYNC, true, &self->out->where);
  case VERDICT_launch_bound: return places_find(&self->timeline, REPLAY_LAUNCH, false, &self->out->where);
  case VERDICT_allocator: return places_find(&self->timeline, REPLAY_ALLOCATOR, true, &self->out->where);
  case VERDICT_pageable_copy: return places_find(&self->timeline, REPLAY_PAGEABLE, true, &self->out->where);
  case VERDICT_serial_streams:
    return !self->chains || places_find(&self->timeline, REPLAY_CHAIN, false, &self->out->where);
  default: return true;
  }
}

static bool find(gains_judge *self) {
  gains *out = self->out;
  double means[GAINS_RUN_COUNT];
  set_applies(self);
  if (!check_fidelity(self)) return false;
  if (!gains_judge_keep(self, out->recorded_ns, &out->keep)) return false;
  choose_serial(self, out->keep);
  gains_judge_set_loader(self);
  gains_judge_run(self, out->keep, means);
  out->step_ns = means[GAINS_RUN_NOW];
  if (out->step_ns <= 0) return true;
  out->is_judged = true;
  for (uint32_t c = 0; c < VERDICT_COUNT; c++) {
    const double gain = self->applies[c] ? gains_judge_gain(means, c) : 0;
    out->causes[c] = (gains_cause){.applies = self->applies[c], .gain = gain, .captured = gain, .then = VERDICT_none};
  }
  gains_judge_set_cures(self, means);
  set_idle(self);
  out->input_unmarked = !self->timeline.has_inputs;
  if (!gains_draw(self)) return false;
  know_pairs(self);
  for (uint32_t c = 0; c < VERDICT_none; c++)
    if (out->causes[c].gain >= GAINS_MINOR) look_behind(self, c);
  rank(self);
  if (!gains_draw_together(self)) return false;
  vary_cost(self);
  find_near(self);
  find_beside(self);
  vary_passes(self);
  return find_place(self);
}

bool gains_are_sure(const gains *self) {
  if (self->cause == VERDICT_input_bound && (self->input_unmarked || self->input_in_few || self->input_by_pace))
    return false;
  /* What the queued work waits for is not recorded, and may be work that is not. */
  return self->cause != VERDICT_device_side && self->close == VERDICT_COUNT && self->near == VERDICT_COUNT &&
         self->beside == VERDICT_COUNT && !self->passes_unsure &&
         (double)self->agreeing >= GAINS_CERTAIN * (double)self->draws;
}

bool gains_find(const trace_facts *facts, gains *out) {
  gains_judge self = {.out = out};
  *out =
      (gains){.cause = VERDICT_none, .close = VERDICT_COUNT, .near = VERDICT_COUNT, .beside = VERDICT_COUNT, .keep = 1};
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
    ok = program_open(&self.timeline, &self.program) && gains_judge_open_steps(&self) && find(&self);
  }
  gains_judge_close_steps(&self);
  program_close(&self.program);
  memcpy(out->host, self.timeline.host, sizeof out->host);
  memset(self.timeline.host, 0, sizeof self.timeline.host);
  out->made = self.timeline.made;
  self.timeline.made = (intervals){0};
  timeline_close(&self.timeline);
  return ok;
}

void gains_free(gains *self) {
  for (uint32_t o = 0; o < TIMELINE_OWNERS; o++) intervals_free(&self->host[o]);
  intervals_free(&self->made);
}
