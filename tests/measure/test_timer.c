/* The stopping rules over streams of block times that no clock makes: every rule ends on every stream, and with the
 * blocks that torch.utils.benchmark would take. */
#include "made_noise.h"
#include "pd_test.h"

#include "measure/measurement_judge.h"
#include "measure/measurement_text.h"
#include "measure/timer.h"

#include <stdlib.h>
#include <string.h>

typedef enum stream_kind {
  CONSTANT,
  HEAVY_TAIL,
  DRIFT_UP,
  DRIFT_DOWN,
  ZERO,
  JUMPING,
  BACKWARDS,
  NOT_A_NUMBER,
  ALTERNATING,
  STREAM_KINDS
} stream_kind;

typedef struct stream {
  stream_kind kind;
  double run_s, empty_s;
  uint64_t state; /* of the random numbers */
  uint64_t blocks, runs, empty_blocks;
  uint64_t stop_after; /* blocks; 0: never */
  pd_status stop_with;
} stream;

static double block_time(stream *self, uint64_t number) {
  const double even_s = self->empty_s + self->run_s * (double)number;
  switch (self->kind) {
  case HEAVY_TAIL: return even_s / made_noise_uniform(&self->state); /* no mean */
  case DRIFT_UP: return even_s * (1 + 0.05 * (double)self->blocks);
  case DRIFT_DOWN: return even_s / (1 + 0.05 * (double)self->blocks);
  case ZERO: return 0;
  case JUMPING: return self->blocks % 7 == 3 ? 3600 : self->blocks % 5 == 1 ? -3600 : even_s;
  case BACKWARDS: return -even_s;
  case NOT_A_NUMBER: return (double)NAN;
  case ALTERNATING: return self->blocks % 2 ? even_s : 10 * even_s;
  default: return even_s;
  }
}

static pd_status block(void *user, uint64_t number, double *host_s, double *device_s) {
  stream *self = user;
  *device_s = (double)NAN;
  if (number == 0) {
    self->empty_blocks++;
    *host_s = self->kind == NOT_A_NUMBER ? (double)NAN : self->empty_s;
    return PD_OK;
  }
  if (self->stop_after && self->blocks == self->stop_after) return self->stop_with;
  self->blocks++;
  self->runs += number;
  *host_s = block_time(self, number);
  return PD_OK;
}

static pd_status timer_measure(const timer_rules *rules, stream *user, pd_measurement *out) {
  const pd_status status = timer_prepare(rules, block, user, out);
  return status == PD_OK ? timer_take(rules, block, user, out) : status;
}

static const timer_rules blocked = {.method = TIMER_BLOCKED_AUTORANGE, .min_run_time_s = 0.2};
static const timer_rules adaptive = {
    .method = TIMER_ADAPTIVE_AUTORANGE, .min_run_time_s = 0.01, .max_run_time_s = 10, .threshold = 0.1};
static const timer_rules timeit = {.method = TIMER_TIMEIT, .number = 500};

PD_TEST(timer, every_rule_ends_on_every_stream) {
  static const timer_rules *const all[] = {&blocked, &adaptive, &timeit};
  static const double run_times[] = {1e-10, 1e-7, 3e-5, 0.01, 30};
  for (size_t r = 0; r < sizeof all / sizeof all[0]; r++)
    for (stream_kind kind = CONSTANT; kind < STREAM_KINDS; kind++)
      for (size_t i = 0; i < sizeof run_times / sizeof run_times[0]; i++)
        for (int number = 0; number < 2; number++) {
          timer_rules rules = *all[r];
          if (number) rules.number = 3;
          stream s = {.kind = kind, .run_s = run_times[i], .empty_s = 1e-6, .state = 5};
          pd_measurement got = {.threads = 1};
          const pd_status status = timer_measure(&rules, &s, &got);
          const bool timeless = kind == BACKWARDS || kind == NOT_A_NUMBER;
          /* A single block may be the one that jumps back. */
          const bool unlucky = kind == JUMPING && rules.method == TIMER_TIMEIT && got.block_count == 0;
          cr_assert_eq(status, timeless || unlucky ? PD_INVALID : PD_OK, "rule %zu stream %d run %g: status %d", r,
                       kind, run_times[i], status);
          cr_assert_eq(got.block_count == 0, timeless || unlucky);
          cr_assert_leq(got.block_count, TIMER_MAX_BLOCKS);
          cr_assert_leq(got.number_per_run, TIMER_MAX_NUMBER);
          cr_assert_not(got.partial);
          cr_assert_eq(got.warning_count, timeless || unlucky || (kind == JUMPING && got.warning_count) ? 1 : 0);
          for (uint64_t b = 0; b < got.block_count; b++) cr_assert(got.host_s[b] >= 0);
          measurement_clear(&got);
        }
}

PD_TEST(timer, timeit_warms_up_with_a_hundredth_and_takes_one_block) {
  stream s = {.kind = CONSTANT, .run_s = 1e-3, .empty_s = 1e-6};
  pd_measurement got = {.threads = 1};
  cr_assert_eq(timer_measure(&timeit, &s, &got), PD_OK);
  cr_assert_eq(s.empty_blocks, 5);
  cr_assert_eq(s.runs, 505);
  cr_assert_eq(got.block_count, 1);
  cr_assert_eq(got.number_per_run, 500);
  cr_assert_float_eq(got.host_s[0], 0.500001, 1e-12);
  cr_assert_float_eq(got.timer_overhead_s, 1e-6, 1e-18);
  cr_assert_str_eq(got.method, "timeit");
  measurement_clear(&got);
}

/* torch's loop, in its own words: the smallest power of ten that is cheap to time and long enough. */
static uint64_t torch_number(double run_s, double empty_s, double min_run_time_s) {
  for (uint64_t number = 1;; number *= 10) {
    const double took_s = empty_s + run_s * (double)number;
    if (empty_s / took_s <= 1e-4 && took_s >= min_run_time_s / 1000) return number;
    if (took_s > min_run_time_s) return number;
  }
}

PD_TEST(timer, blocked_autorange_takes_the_blocks_that_torch_takes) {
  static const double runs[] = {2e-9, 1.7e-7, 3e-5, 0.004, 0.19, 0.21, 5}, empties[] = {0, 4e-8, 1e-5};
  for (size_t i = 0; i < sizeof runs / sizeof runs[0]; i++)
    for (size_t e = 0; e < sizeof empties / sizeof empties[0]; e++) {
      stream s = {.kind = CONSTANT, .run_s = runs[i], .empty_s = empties[e]};
      pd_measurement got = {.threads = 1};
      cr_assert_eq(timer_measure(&blocked, &s, &got), PD_OK);
      cr_assert_eq(got.number_per_run, torch_number(runs[i], empties[e], 0.2), "%g %g: %lu", runs[i], empties[e],
                   got.number_per_run);
      const double took_s = empties[e] + runs[i] * (double)got.number_per_run;
      cr_assert_float_eq((double)got.block_count, ceil(0.2 / took_s), 1.01, "%g %g: %lu", runs[i], empties[e],
                         got.block_count);
      measurement_clear(&got);
    }
}

PD_TEST(timer, adaptive_autorange_stops_at_four_blocks_when_they_agree) {
  stream s = {.kind = CONSTANT, .run_s = 1e-4, .empty_s = 1e-8};
  pd_measurement got = {.threads = 1};
  cr_assert_eq(timer_measure(&adaptive, &s, &got), PD_OK);
  /* Blocks of 1e-4 s; the least time of 0.01 s asks for a hundred. */
  cr_assert_eq(got.number_per_run, torch_number(1e-4, 1e-8, 0.05));
  cr_assert_float_eq((double)got.block_count, 100, 1.01);
  measurement_clear(&got);
  s = (stream){.kind = CONSTANT, .run_s = 0.1, .empty_s = 1e-8};
  cr_assert_eq(timer_measure(&adaptive, &s, &got), PD_OK);
  cr_assert_eq(got.block_count, 4);
  measurement_clear(&got);
}

PD_TEST(timer, adaptive_autorange_gives_up_at_its_limit) {
  stream s = {.kind = ALTERNATING, .run_s = 0.01, .empty_s = 1e-8};
  pd_measurement got = {.threads = 1};
  cr_assert_eq(timer_measure(&adaptive, &s, &got), PD_OK);
  double spent_s = 0;
  for (uint64_t i = 0; i < got.block_count; i++) spent_s += got.host_s[i];
  cr_assert(spent_s > 10 && spent_s < 10.2, "%g", spent_s);
  cr_assert_not(got.partial);
  measurement_clear(&got);
}

PD_TEST(timer, a_number_is_kept) {
  timer_rules rules = blocked;
  rules.number = 7;
  stream s = {.kind = CONSTANT, .run_s = 1e-3, .empty_s = 1e-3};
  pd_measurement got = {.threads = 1};
  cr_assert_eq(timer_measure(&rules, &s, &got), PD_OK);
  cr_assert_eq(got.number_per_run, 7);
  cr_assert_eq(got.block_count, 25); /* of 8 ms, until 0.2 s */
  measurement_clear(&got);
}

PD_TEST(timer, as_many_blocks_as_are_wanted) {
  static const struct {
    double run_s, empty_s;
    uint64_t number, blocks;
  } rows[] = {
      {4.5e-4, 2.4e-5, 100, 45}, /* torch's rule alone: 1000 runs, five blocks */
      {2.57e-3, 2.4e-5, 10, 78}, /* 100 runs, eight blocks */
      {1e-5, 1e-6, 1000, 200},   /* as torch's: it is long enough by itself */
      {0.3, 1e-6, 1, 40},        /* a run is longer than its share: still as many */
  };
  for (size_t i = 0; i < sizeof rows / sizeof rows[0]; i++) {
    const timer_rules rules = {.method = TIMER_BLOCKED_AUTORANGE, .min_run_time_s = 2, .min_blocks = 40};
    stream s = {.kind = CONSTANT, .run_s = rows[i].run_s, .empty_s = rows[i].empty_s};
    pd_measurement got = {.threads = 1};
    cr_assert_eq(timer_measure(&rules, &s, &got), PD_OK);
    cr_assert_eq(got.number_per_run, rows[i].number, "%zu: %lu", i, got.number_per_run);
    cr_assert_float_eq((double)got.block_count, (double)rows[i].blocks, 1.01, "%zu: %lu", i, got.block_count);
    measurement_clear(&got);
  }
  timer_rules rules = {
      .method = TIMER_BLOCKED_AUTORANGE, .min_run_time_s = 0.2, .min_blocks = 40, .max_run_time_s = 10};
  stream slow = {.kind = CONSTANT, .run_s = 3};
  pd_measurement few = {.threads = 1};
  cr_assert_eq(timer_measure(&rules, &slow, &few), PD_OK);
  cr_assert_eq(few.block_count, 4, "until max_run_time is over");
  measurement_clear(&few);
  stream broken = {.kind = NOT_A_NUMBER, .run_s = 1e-3};
  pd_measurement got = {.threads = 1};
  cr_assert_eq(timer_measure(&rules, &broken, &got), PD_INVALID);
  measurement_clear(&got);
}

/* A cache that takes far longer to empty than the block that it is emptied for. */
typedef struct cold {
  double now_s, flush_s, run_s;
  uint64_t blocks;
} cold;

static pd_status cold_block(void *user, uint64_t number, double *host_s, double *device_s) {
  cold *self = user;
  *device_s = (double)NAN;
  *host_s = self->run_s * (double)number;
  self->now_s += number ? self->flush_s + *host_s : 0;
  self->blocks += number > 0;
  return PD_OK;
}

static double cold_clock(void *user) { return ((const cold *)user)->now_s; }

PD_TEST(timer, emptying_the_cache_counts_against_the_most_time) {
  static const struct {
    timer_method method;
    double min_s, max_s, threshold;
    uint64_t min_blocks, blocks; /* these are left when the time is up */
  } rows[] = {
      {TIMER_BLOCKED_AUTORANGE, 0.2, 10, 0.1, 0, 160},
      {TIMER_BLOCKED_AUTORANGE, 2, 10, 0.1, 40, 160},
      {TIMER_BLOCKED_AUTORANGE, 20, 10, 0.1, 0, 320},
      {TIMER_BLOCKED_AUTORANGE, 1e-3, 10, 0.1, 0, 20}, /* content long before */
      {TIMER_BLOCKED_AUTORANGE, 0.2, 0.001, 0.1, 0, 4},
      {TIMER_BLOCKED_AUTORANGE, 1e-6, 0.001, 0.1, 0, 1},
      {TIMER_ADAPTIVE_AUTORANGE, 0.01, 5, 0.1, 0, 80},
  };
  for (size_t i = 0; i < sizeof rows / sizeof rows[0]; i++) {
    const timer_rules rules = {.method = rows[i].method,
                               .number = 1,
                               .min_run_time_s = rows[i].min_s,
                               .min_blocks = rows[i].min_blocks,
                               .max_run_time_s = rows[i].max_s,
                               .threshold = rows[i].threshold,
                               .clock = cold_clock};
    cold on = {.now_s = 1000, .flush_s = 0.0625, .run_s = 51e-6};
    pd_measurement got = {.threads = 1};
    cr_assert_eq(timer_prepare(&rules, cold_block, &on, &got), PD_OK);
    cr_assert_eq(timer_take(&rules, cold_block, &on, &got), PD_OK);
    cr_assert_eq(got.block_count, rows[i].blocks, "%zu: %lu", i, got.block_count);
    const bool content = rows[i].blocks == 20 || rows[i].blocks == 1;
    cr_assert_eq(got.warning_count, !content, "%zu", i);
    if (!content) cr_assert(strstr(got.warnings[0], "The time is up after "), "%s", got.warnings[0]);
    cr_assert_not(got.partial);
    measurement_clear(&got);
  }
}

PD_TEST(timer, ends_early_with_what_there_is) {
  static const pd_status ends[] = {PD_STOP, PD_DEVICE};
  for (int i = 0; i < 2; i++) {
    /* One block of growing, five that count. */
    stream s = {.kind = CONSTANT, .run_s = 0.01, .empty_s = 0, .stop_after = 6, .stop_with = ends[i]};
    pd_measurement got = {.threads = 1};
    cr_assert_eq(timer_measure(&blocked, &s, &got), ends[i]);
    cr_assert_eq(got.block_count, 5);
    cr_assert(got.partial);
    measurement_clear(&got);
  }
}

PD_TEST(timer, blocks_of_a_jumping_clock_are_counted_out) {
  stream s = {.kind = JUMPING, .run_s = 1e-3, .empty_s = 0};
  const timer_rules rules = {.method = TIMER_BLOCKED_AUTORANGE, .number = 1, .min_run_time_s = 4000};
  pd_measurement got = {.threads = 1};
  cr_assert_eq(timer_measure(&rules, &s, &got), PD_OK);
  cr_assert_eq(got.warning_count, 1);
  cr_assert(strstr(got.warnings[0], "have no time and do not count"), "%s", got.warnings[0]);
  measurement_clear(&got);
}
