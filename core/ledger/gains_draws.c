/* See gains_draws.h. */
#include "gains_draws.h"

#include "base/random_bits.h"
#include "base/stats.h"
#include "facts/loader_use.h"

#include <stdlib.h>

uint32_t gains_largest(const gains_judge *self, const double *gains_of) {
  uint32_t best = VERDICT_none;
  for (uint32_t c = 0; c < VERDICT_none; c++)
    if (self->applies[c] && gains_of[c] >= gains_judge_least_of(self, c) &&
        (best == VERDICT_none ||
         gains_judge_worth(self, c, gains_of[c]) > gains_judge_worth(self, best, gains_of[best])))
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
static uint32_t burst_of(const gains_judge *self) {
  const trace_facts *facts = self->timeline.facts;
  if (!self->timeline.has_inputs) return 1; /* nothing says that a loader has workers */
  uint64_t workers = loader_use_of(facts, INT64_MIN, INT64_MAX).workers;
  if (!workers) workers = GAINS_WORKERS;
  return workers < self->count ? (uint32_t)workers : self->count;
}

static const double *steps_of(const gains_judge *self, uint32_t run) { return &self->steps[(size_t)run * self->count]; }

/* Adds as many steps as there are to the sums of the lists, `block` neighbours at a time. NULL: no list. */
static void draw_steps(const gains_judge *self, uint32_t block, uint64_t *state, const double *const *lists,
                       uint32_t list_count, double *sums) {
  for (uint32_t i = 0; i < self->count; i += block) {
    const uint32_t first = (uint32_t)(random_bits(state) % self->count);
    for (uint32_t k = 0; k < block && i + k < self->count; k++)
      for (uint32_t r = 0; r < list_count; r++)
        if (lists[r]) sums[r] += lists[r][(first + k) % self->count];
  }
}

/* The middle 95 % of drawn gains, in any order. */
static void set_interval(double *drawn, uint64_t draws, double *low, double *high) {
  qsort(drawn, draws, sizeof *drawn, by_value);
  *low = stats_quantile(drawn, draws, 0.025);
  *high = stats_quantile(drawn, draws, 0.975);
}

bool gains_draw(const gains_judge *self) {
  const uint64_t draws = draws_for(self->count);
  const uint32_t burst = burst_of(self);
  const double *runs[GAINS_RUN_COUNT] = {NULL};
  double *drawn = malloc(draws * VERDICT_COUNT * sizeof *drawn);
  uint64_t state = GAINS_SEED, burst_state = GAINS_SEED, waiting = 0;
  if (!drawn) return false;
  for (uint32_t r = 0; r < GAINS_RUN_COUNT; r++)
    if (r >= VERDICT_COUNT || self->applies[r]) runs[r] = steps_of(self, r);
  for (uint64_t d = 0; d < draws; d++) {
    double sums[GAINS_RUN_COUNT] = {0}, bursts[GAINS_RUN_COUNT] = {0};
    draw_steps(self, 1, &state, runs, GAINS_RUN_COUNT, sums);
    draw_steps(self, burst, &burst_state, runs, GAINS_RUN_COUNT, bursts);
    double one[VERDICT_COUNT];
    for (uint32_t c = 0; c < VERDICT_COUNT; c++)
      drawn[c * draws + d] = one[c] =
          self->applies[c] ? gains_judge_gain(c == VERDICT_input_bound ? bursts : sums, c) : 0;
    self->out->named[gains_largest(self, one)]++;
    waiting +=
        self->applies[VERDICT_input_bound] && gains_judge_gain(sums, VERDICT_input_bound) >= gains_judge_least(self);
  }
  self->out->draws = draws;
  self->out->input_in_few = (double)waiting < GAINS_CERTAIN * (double)draws;
  for (uint32_t c = 0; c < VERDICT_COUNT; c++)
    set_interval(drawn + c * draws, draws, &self->out->causes[c].low, &self->out->causes[c].high);
  free(drawn);
  return true;
}

replay_variant gains_together(const gains_judge *self, uint32_t count, double keep) {
  replay_variant out = {.keep = keep};
  for (uint32_t n = 0; n < count; n++) gains_judge_remove(self, self->out->ranking[n], &out);
  return out;
}

static bool have_input(const gains *of, uint32_t count) {
  for (uint32_t n = 0; n < count; n++)
    if (of->ranking[n] == VERDICT_input_bound) return true;
  return false;
}

/* `gone` are the judged steps without the causes: the same steps are drawn as for the causes alone. */
static void draw_gains(const gains_judge *self, uint32_t block, const double *gone, double *drawn, uint64_t draws) {
  enum { NOW, GONE, LISTS };
  const double *const lists[LISTS] = {[NOW] = steps_of(self, GAINS_RUN_NOW), [GONE] = gone};
  uint64_t state = GAINS_SEED;
  for (uint64_t d = 0; d < draws; d++) {
    double sums[LISTS] = {0};
    draw_steps(self, block, &state, lists, LISTS, sums);
    drawn[d] = sums[NOW] > 0 ? 1 - sums[GONE] / sums[NOW] : 0;
  }
}

bool gains_draw_together(const gains_judge *self) {
  gains *out = self->out;
  const uint64_t draws = draws_for(self->count);
  if (out->ranked < 2) return true;
  double *gone = malloc((size_t)self->count * sizeof *gone), *drawn = malloc(draws * sizeof *drawn);
  const bool ok = gone && drawn;
  for (uint32_t n = 1; ok && n < out->ranked; n++) {
    gains_combination *of = &out->without[n];
    gains_job job = {.variant = gains_together(self, n + 1, out->keep), .steps = gone};
    gains_replays_make_all(self->replays, &job, 1);
    /* Where the device or the loader takes longer than the replay: all steps alike. */
    for (uint32_t s = 0; s < self->count && job.mean > 0; s++) gone[s] *= of->step_ns / job.mean;
    draw_gains(self, have_input(out, n + 1) ? burst_of(self) : 1, gone, drawn, draws);
    set_interval(drawn, draws, &of->low, &of->high);
  }
  free(gone);
  free(drawn);
  return ok;
}
