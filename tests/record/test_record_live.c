/* What pdhost top is shown of a recording: sums of the last seconds. */
#include "record/record_live.h"

#include "pd_test.h"

#define MS INT64_C(1000000)
#define NOW (INT64_C(1700000000) * 1000 * MS)

static record_live *live;
static record_live_process process;

static void start(void) {
  live = record_live_open();
  process = (record_live_process){0};
  cr_assert_not_null(live);
}

/* At a time before NOW, in milliseconds. */
static void add(pd_activity_kind kind, pd_api_class api, int64_t from_ms, int64_t to_ms, uint32_t device) {
  pd_activity row = {.kind = kind, .start = NOW - from_ms * MS, .end = NOW - to_ms * MS, .device = device};
  if (kind == PD_ACTIVITY_RUNTIME) row.u.api.api = api;
  record_live_add(live, 0, &process, &row, 1);
}

PD_TEST(record_live, a_second_is_divided_among_what_the_gpu_did) {
  start();
  add(PD_ACTIVITY_KERNEL, 0, 1400, 1100, 0);
  add(PD_ACTIVITY_MEMCPY, 0, 1200, 1000, 0); /* half of it beside the kernel */
  add(PD_ACTIVITY_MEMSET, 0, 900, 850, 0);
  add(PD_ACTIVITY_KERNEL, 0, 400, 100, 0); /* not all of that time is there yet */
  add(PD_ACTIVITY_KERNEL, 0, 3000, 2000, 0);
  const record_live_second second = record_live_last(live, NOW);
  cr_assert_eq(second.devices, 1);
  cr_assert_float_eq(second.share[RECORD_LIVE_KERNELS], 0.3, 1e-9);
  cr_assert_float_eq(second.share[RECORD_LIVE_COPIES], 0.1, 1e-9);
  cr_assert_float_eq(second.share[RECORD_LIVE_SETS], 0.05, 1e-9);
  cr_assert_float_eq(second.busy, 0.45, 1e-9);
  record_live_close(live);
}

PD_TEST(record_live, two_gpus_are_averaged) {
  start();
  add(PD_ACTIVITY_KERNEL, 0, 1500, 500, 0);
  add(PD_ACTIVITY_KERNEL, 0, 1500, 1250, 1);
  const record_live_second second = record_live_last(live, NOW);
  cr_assert_eq(second.devices, 2);
  cr_assert_float_eq(second.busy, 0.625, 1e-9);
  record_live_close(live);
}

PD_TEST(record_live, calls_are_launching_waiting_and_memory) {
  start();
  for (int i = 0; i < 5; i++) add(PD_ACTIVITY_RUNTIME, PD_API_LAUNCH, 1400 - i * 10, 1398 - i * 10, 0);
  add(PD_ACTIVITY_RUNTIME, PD_API_SYNC, 1200, 800, 0);
  add(PD_ACTIVITY_RUNTIME, PD_API_FREE, 700, 690, 0);
  add(PD_ACTIVITY_RUNTIME, PD_API_LAUNCH, 300, 299, 0);
  const record_live_second second = record_live_last(live, NOW);
  cr_assert_eq(second.launches, 5);
  cr_assert_eq(second.devices, 0);
  cr_assert_float_eq(second.share[RECORD_LIVE_LAUNCHING], 0.01, 1e-9);
  cr_assert_float_eq(second.share[RECORD_LIVE_WAITING], 0.4, 1e-9);
  cr_assert_float_eq(second.share[RECORD_LIVE_ALLOCATING], 0.01, 1e-9);
  cr_assert_eq(atomic_load(&live->launches), 6);
  record_live_close(live);
}

PD_TEST(record_live, a_call_of_the_driver_inside_one_of_the_runtime_is_no_second_one) {
  start();
  pd_activity rows[2] = {
      {.kind = PD_ACTIVITY_DRIVER, .start = NOW - 1300 * MS, .end = NOW - 1200 * MS, .correlation = 7},
      {.kind = PD_ACTIVITY_RUNTIME, .start = NOW - 1400 * MS, .end = NOW - 1100 * MS, .correlation = 7}};
  rows[0].u.api.api = rows[1].u.api.api = PD_API_LAUNCH;
  record_live_add(live, 0, &process, rows, 2);
  const record_live_second second = record_live_last(live, NOW);
  cr_assert_eq(second.launches, 1);
  cr_assert_float_eq(second.share[RECORD_LIVE_LAUNCHING], 0.3, 1e-9);
  record_live_close(live);
}

PD_TEST(record_live, what_is_long_over_is_in_no_second) {
  start();
  add(PD_ACTIVITY_KERNEL, 0, 1400, 1100, 0);
  const int64_t round_ns = RECORD_LIVE_BUCKETS * RECORD_LIVE_BUCKET_NS; /* the same buckets, of another time */
  cr_assert_eq(record_live_last(live, NOW + round_ns).devices, 0);
  record_live_close(live);
}

PD_TEST(record_live, a_step_is_the_mean_of_those_that_ended) {
  start();
  cr_assert_eq(record_live_last(live, NOW).step_ns, 0, "none was marked");
  for (int64_t ms = 2000; ms > 200; ms -= 100) record_live_step(live, NOW - ms * MS);
  record_live_second second = record_live_last(live, NOW);
  cr_assert_eq(second.steps, 10);
  cr_assert_float_eq(second.step_ns, 100e6, 1);
  second = record_live_last(live, NOW + 5000 * MS);
  cr_assert_eq(second.steps, 0);
  cr_assert_float_eq(second.step_ns, 100e6, 1, "the last one");
  record_live_close(live);
}
