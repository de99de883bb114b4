/* The truth's spans of device time, on a device that only counts; and what is said of a dial that is off. */
#include "pd_test.h"

#include "base/log.h"
#include "run/truth/run_truth.h"

#include <stdio.h>
#include <string.h>

typedef struct counting {
  uint64_t created, destroyed, recorded;
} counting;

static pd_status create(pd_device *device, pd_event **out) {
  counting *self = (counting *)device;
  *out = (pd_event *)(uintptr_t)++self->created;
  return PD_OK;
}
static void destroy(pd_device *device, pd_event *event) {
  (void)event;
  ((counting *)device)->destroyed++;
}
static pd_status record(pd_device *device, pd_stream *stream, pd_event *event) {
  (void)stream;
  cr_assert_not_null(event);
  ((counting *)device)->recorded++;
  return PD_OK;
}

static const pd_stream_ops streams = {
    .size = sizeof streams, .event_create = create, .event_destroy = destroy, .event_record = record};
static const pd_device_ops device = {.size = sizeof device, .stream = &streams};

/* A step with `spans` of them; how many events were made in it. */
static uint64_t step(truth *self, const counting *counts, pd_phase phase, int spans) {
  const pd_truth *table = truth_table(self);
  const pd_step_stats stats = {.size = sizeof stats};
  truth_step_begin(self, phase);
  const uint64_t before = counts->created;
  for (int i = 0; i < spans; i++) {
    cr_assert_eq(table->device_begin(table, NULL), PD_OK);
    cr_assert_eq(table->device_end(table, NULL, 1), PD_OK);
  }
  const uint64_t made = counts->created - before;
  cr_assert_eq(truth_step(self, &stats), PD_OK);
  return made;
}

PD_TEST(truth, no_event_is_made_in_a_step_like_the_one_before) {
  counting counts = {0};
  const pd_device_access access = {.size = sizeof access, .device = (pd_device *)&counts, .ops = &device};
  truth *self = truth_open(NULL);
  cr_assert_not_null(self);
  truth_use_device(self, &access);
  cr_assert_eq(step(self, &counts, PD_PHASE_WARMUP, 3), 0);
  cr_assert_eq(counts.recorded, 0, "only active steps are measured");
  for (int i = 0; i < 100; i++) cr_assert_eq(step(self, &counts, PD_PHASE_ACTIVE, 3), 0);
  cr_assert_eq(counts.recorded, 100 * 3 * 2);
  cr_assert_eq(step(self, &counts, PD_PHASE_ACTIVE, 5), 2 * 2, "two spans more than before");
  truth_close(self);
  cr_assert_eq(counts.destroyed, counts.created);
}

/* A step of 1 ms without the injection, and what is said where it takes `with_ns` with it, and in every other round
 * `spread_ns` more or less. The first of all warnings, or NULL. */
static const char *told(double us, double share, double with_ns, double spread_ns) {
  static const char *said[LOG_WARNINGS_KEPT];
  const uint32_t before = log_warnings(said, LOG_WARNINGS_KEPT);
  const pd_run run = {.size = sizeof run, .scenario = "sync", .bottleneck = "forced_sync"};
  const pd_step_stats stats = {.size = sizeof stats, .step_time_ns = (int64_t)with_ns};
  truth *self = truth_open(NULL);
  cr_assert_not_null(self);
  truth_dial(self, us, share, 0);
  truth_step_begin(self, PD_PHASE_ACTIVE);
  cr_assert_eq(truth_step(self, &stats), PD_OK);
  for (int i = 0; i < TRUTH_DIAL_ROUNDS; i++) {
    const truth_block_pair pair = {with_ns + (i % 2 ? spread_ns : -spread_ns), 1e6, 0};
    cr_assert_eq(truth_round(self, &pair), PD_OK);
  }
  truth_tell(self, &run);
  truth_close(self);
  return log_warnings(said, LOG_WARNINGS_KEPT) > before ? said[before] : NULL;
}

PD_TEST(truth, warns_of_a_dial_that_is_more_than_5_per_cent_off) {
  cr_assert_null(told(1000, 0, 2.00e6, 0));
  cr_assert_null(told(1000, 0, 2.04e6, 0));
  cr_assert_null(told(1000, 0, 1.96e6, 0));
  const char *more = told(1000, 0, 2.08e6, 0);
  cr_assert(
      more && strstr(more, "sync was to inject 1000 us a step and injected 1080 us (95 %: 1080 to 1080 us), 8 % more"),
      "%s", more);
  const char *less = told(1000, 0, 1.90e6, 0);
  cr_assert(less && strstr(less, "injected 900 us (95 %: 900 to 900 us), 10 % less"), "%s", less);
  cr_assert_null(told(0, 0.2, 1.25e6, 0), "a fifth of the longer step is injected");
  const char *share = told(0, 0.2, 1.3e6, 0);
  cr_assert(share && strstr(share, "was to inject 250 us a step and injected 300 us (95 %: 300 to 300 us), 20 % more"),
            "%s", share);
}

PD_TEST(truth, does_not_warn_of_what_chance_explains) {
  cr_assert_null(told(1000, 0, 2.08e6, 4e5));
  const char *said = told(1000, 0, 2.08e6, 2e4);
  double low = 0, high = 0;
  cr_assert(said && sscanf(strstr(said, "(95 %: "), "(95 %%: %lf to %lf us)", &low, &high) == 2, "%s", said);
  cr_assert(1000 < low && low < 1080 && 1080 < high, "%s", said);
}

/* One step of six has two things in place of one: a mean without the largest fifth would not see it. */
PD_TEST(truth, the_mean_of_two_counts_leans_to_neither) {
  truth_block_pair pairs[60];
  truth_effect effect;
  for (int i = 0; i < 60; i++) pairs[i] = (truth_block_pair){i % 6 ? 2e6 : 3e6, 1e6, i % 6 ? 1 : 2};
  cr_assert(truth_effect_of(&(truth_rounds){pairs, 60, 1 + 1 / 6.}, &effect));
  cr_assert_float_eq(effect.added_ns, 1e6 + 1e6 / 6, 1);
  cr_assert(truth_effect_of(&(truth_rounds){pairs, 54, 1.5}, &effect), "what is asked for is not what came");
  cr_assert_float_eq(effect.added_ns, 1.5e6, 1);
  cr_assert(truth_effect_of(&(truth_rounds){pairs + 1, 5, 1 + 1 / 6.}, &effect), "none has the larger count");
  cr_assert_float_eq(effect.added_ns, 1e6, 1);
}
