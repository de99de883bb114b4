/* memory_churn: batch-sized temporaries in every step, all alive until the last is filled. */
#include "pd_test.h"
#include "scenario_rig.h"

#include <stdlib.h>

static const int64_t batch_bytes = (int64_t)SCENARIO_BATCH * 3 * SCENARIO_SIZE * SCENARIO_SIZE * 4;

PD_TEST(memory_churn, presets_data_that_does_not_wait) {
  scenario_rig rig;
  const char *const presets[] = {"data.resident=device", NULL};
  scenario_rig_open(&rig, "memory_churn", NULL);
  scenario_rig_expect(&rig, "memory_churn", "allocator", presets);
  scenario_rig_close(&rig);
}

/* Rows of the trace's memory events that are batch-sized allocations (sign > 0) or frees of `allocator`. */
static uint64_t events(const pd_trace *trace, pd_allocator allocator, int sign) {
  uint64_t count = 0;
  for (uint64_t i = 0; i < trace->memory.count; i++) {
    const pd_memory_event *event = &PD_AT(pd_memory_row, &trace->memory, i)->event;
    count += event->allocator == allocator && (sign > 0 ? event->bytes : -event->bytes) >= batch_bytes;
  }
  return count;
}

static void expect_churn(const char *const *overrides, pd_allocator allocator, uint64_t temporaries) {
  scenario_rig rig;
  scenario_rig_open(&rig, "memory_churn", overrides);
  const uint64_t before = train_rig_allocations();
  pd_trace *trace = scenario_rig_trace(&rig, false, 0);
  cr_assert_eq(events(trace, allocator, 1), temporaries * SCENARIO_STEPS);
  cr_assert_eq(events(trace, allocator, -1), temporaries * SCENARIO_STEPS);
  cr_assert_eq(trace_allocations(trace, batch_bytes), temporaries * SCENARIO_STEPS);
  cr_assert_eq(trace_ranges(trace, "aten::normal_"), temporaries * SCENARIO_STEPS);
  cr_assert_eq(trace_ranges(trace, "aten::item"), 0);
  cr_assert_gt(train_rig_allocations(), before);
  /* means of the temporaries, and the model's own */
  cr_assert_eq(trace_ranges(trace, "aten::mean"), (temporaries + 1) * SCENARIO_STEPS);
  cr_assert_eq(trace_ranges(trace, "aten::add"), temporaries * SCENARIO_STEPS);
  /* all exist at once: the greatest number alive is all of them */
  uint64_t alive = 0, most = 0;
  for (uint64_t i = 0; i < trace->memory.count; i++) {
    const int64_t bytes = PD_AT(pd_memory_row, &trace->memory, i)->event.bytes;
    if (bytes >= batch_bytes) alive++;
    if (-bytes >= batch_bytes) alive--;
    if (alive > most) most = alive;
  }
  cr_assert_eq(alive, 0);
  cr_assert_eq(most, temporaries);
  trace_free(trace);
  scenario_rig_close(&rig);
}

PD_TEST(memory_churn, takes_twenty_from_the_cache) { expect_churn(NULL, PD_ALLOCATOR_CACHED, 20); }

PD_TEST(memory_churn, takes_them_from_the_pool) {
  const char *const overrides[] = {"allocator=pool", NULL};
  expect_churn(overrides, PD_ALLOCATOR_POOL, 20);
}

PD_TEST(memory_churn, takes_them_from_the_plain_allocator) {
  const char *const overrides[] = {"allocator=raw", "temporaries=7", NULL};
  expect_churn(overrides, PD_ALLOCATOR_RAW, 7);
}

PD_TEST(memory_churn, without_temporaries_it_is_a_plain_step) {
  const char *const overrides[] = {"temporaries=0", NULL};
  scenario_rig rig;
  scenario_rig_open(&rig, "memory_churn", overrides);
  pd_trace *trace = scenario_rig_trace(&rig, false, 0);
  cr_assert_eq(trace_allocations(trace, batch_bytes), 0);
  cr_assert_eq(trace_ranges(trace, "aten::normal_"), 0);
  trace_free(trace);
  scenario_rig_close(&rig);
}

/* The batch becomes x + scale * sum of the means: with scale 0 the losses are a plain step's. */
static void losses_of(const char *scale, double *losses) {
  scenario_rig rig;
  const char *const overrides[] = {scale, NULL};
  scenario_rig_open(&rig, "memory_churn", scale ? overrides : NULL);
  pd_batch batch = train_rig_batch(SCENARIO_BATCH, SCENARIO_SIZE, 1);
  const pd_step at = {.size = sizeof at, .batch = &batch};
  for (int i = 0; i < 2; i++) {
    train_rig_ok(&rig.train, scale ? rig.ops->step(rig.state, &at) : rig.train.train->step(rig.train.train, &at),
                 "step");
    train_rig_ok(&rig.train, rig.train.train->item(rig.train.train, &losses[i]), "item");
  }
  train_rig_batch_free(&batch);
  scenario_rig_close(&rig);
}

PD_TEST(memory_churn, adds_the_scaled_sum_of_means_to_the_batch) {
  double plain[2], none[2], some[2];
  losses_of(NULL, plain);
  losses_of("scale=0", none);
  losses_of("scale=1", some);
  cr_assert(none[0] == plain[0] && none[1] == plain[1]);
  cr_assert_neq(some[0], plain[0]);
}
