/* The collector against the fake: windows, drains, and what becomes of CUPTI between them. */
#include "collect_rig.h"

PD_TEST(cupti_collect, pairs_every_launch_with_its_kernel) {
  open_collect(CUPTI_BETWEEN_DISABLE);
  for (uint64_t window = 1; window <= 3; window++) {
    start();
    for (int i = 0; i < 100; i++) fake_launch("_Z1kv");
    fake_finish(0);
    drain();
    cr_assert(drained.complete);
    cr_assert_eq(drained.pending, 0);
    check_pairs(100 * window);
  }
  close_collect();
  check_manners();
}

PD_TEST(cupti_collect, keeps_its_manners_with_every_version) {
  static const uint32_t versions[] = {130001, 130100, 130401};
  for (size_t i = 0; i < sizeof versions / sizeof versions[0]; i++) {
    fake_reset();
    fake_set()->version = versions[i];
    open_collect(CUPTI_BETWEEN_DETACH);
    for (int window = 0; window < 3; window++) {
      start();
      fake_launch("_Z1kv");
      fake_finish(0);
      drain();
      cr_assert(drained.complete);
    }
    close_collect();
    check_manners();
  }
}

PD_TEST(cupti_collect, records_the_listed_calls_and_no_others) {
  open_collect(CUPTI_BETWEEN_DISABLE);
  cr_assert_eq(fake_get().runtime_on, 0);
  start();
  fake_counts did = fake_get();
  cr_assert(did.kernel_on && did.memcpy_on && did.peer_on && did.memset_on && did.overhead_on && !did.sync_on);
  fake_call(false, 3, 0, false);   /* cudaGetDevice */
  fake_call(false, 135, 0, false); /* cudaEventRecord */
  fake_call(false, 20, 0, false);  /* cudaMalloc */
  fake_call(false, 165, 0, false); /* cudaDeviceSynchronize */
  fake_call(true, 3, 0, false);    /* cuDeviceGet */
  fake_memcpy(100);
  fake_memset(200);
  fake_peer_memcpy(300);
  fake_overhead();
  drain();
  cr_assert(drained.complete);
  cr_assert_eq(rows_of(PD_ACTIVITY_RUNTIME), 5);
  cr_assert_eq(rows_of(PD_ACTIVITY_DRIVER), 0);
  cr_assert_eq(rows_of(PD_ACTIVITY_MEMCPY), 2);
  cr_assert_eq(rows_of(PD_ACTIVITY_MEMSET), 1);
  cr_assert_eq(rows_of(PD_ACTIVITY_OVERHEAD), 1);
  cr_assert_eq(counts().unknown, 0); /* they were not even recorded */
  close_collect();
  check_manners();
}

PD_TEST(cupti_collect, asks_for_few_synchronisation_records) {
  cr_assert_eq(try_open(CUPTI_BETWEEN_DISABLE, true), PD_OK);
  for (uint32_t window = 1; window <= 2; window++) {
    start();
    cr_assert(fake_get().sync_on);
    cr_assert_eq(fake_get().sync_records_limited, window); /* each time before the kind is on */
    fake_sync();
    fake_call(false, 135, 0, false);
    drain();
    cr_assert_not(fake_get().sync_on);
  }
  cr_assert_eq(rows_of(PD_ACTIVITY_SYNC), 2);
  cr_assert_str_eq(record.names[record.rows[record.count - 1].name], "Stream Sync");
  cr_assert_eq(rows_of(PD_ACTIVITY_RUNTIME), 2);
  close_collect();
}

PD_TEST(cupti_collect, polls_until_a_flush_delivers) {
  open_collect(CUPTI_BETWEEN_DISABLE);
  start();
  fake_launch("_Z1kv");
  fake_finish(0);
  fake_set()->empty_flushes = 5;
  drain();
  cr_assert(drained.complete);
  cr_assert_eq(drained.polls, 6);
  check_pairs(1);
  cr_assert_eq(fake_get().forced_flushes, 0);
  close_collect();
}

PD_TEST(cupti_collect, waits_for_no_record_of_a_set_of_no_bytes) {
  open_collect(CUPTI_BETWEEN_DISABLE);
  start();
  fake_launch("_Z1kv");
  fake_memset(0);
  fake_memset(16);
  fake_finish(0);
  drain(); /* 20 s would be its limit */
  cr_assert(drained.complete && drained.loop_complete);
  cr_assert_eq(drained.pending, 0);
  cr_assert_eq(rows_of(PD_ACTIVITY_MEMSET), 1);
  check_pairs(1);
  close_collect();
}

PD_TEST(cupti_collect, waits_for_completions_that_come_after_the_flush) {
  open_collect(CUPTI_BETWEEN_DISABLE);
  fake_set()->late_completion = true;
  start();
  for (int i = 0; i < 10; i++) fake_launch("_Z1kv");
  fake_finish(0);
  drain();
  cr_assert(drained.complete);
  check_pairs(10);
  close_collect();
}

PD_TEST(cupti_collect, waits_for_kernels_that_outlive_the_window) {
  pthread_t device;
  uint32_t polls = 4;
  open_collect(CUPTI_BETWEEN_DISABLE);
  start();
  fake_launch("_Z1kv");
  fake_finish(0);
  for (int i = 0; i < 9; i++) fake_launch("_Z1kv");
  cr_assert_eq(pthread_create(&device, NULL, finish_after_polls, &polls), 0);
  drain();
  pthread_join(device, NULL);
  cr_assert(drained.complete);
  cr_assert_geq(drained.polls, 5);
  check_pairs(10);
  cr_assert_eq(fake_get().forced_flushes, 0);
  close_collect();
}

PD_TEST(cupti_collect, waits_for_nothing_launched_after_the_stop) {
  open_collect(CUPTI_BETWEEN_DISABLE);
  start();
  fake_launch("_Z1kv");
  fake_finish(0);
  fake_fill();
  cupti_collect_stop(collect);
  fake_call(false, 211, 0, false); /* another thread's, whose kernel has not come yet */
  fake_fill();
  fake_launch("_Z1kv");
  fake_finish(0);
  drain();
  cr_assert(drained.complete);
  cr_assert_eq(drained.polls, 1);
  check_pairs(1);
  cr_assert_eq(counts().stale, 3);
  close_collect();
}

PD_TEST(cupti_collect, waits_for_no_failed_launch) {
  open_collect(CUPTI_BETWEEN_DISABLE);
  start();
  fake_call(false, 211, 9, false);
  drain();
  cr_assert(drained.complete);
  cr_assert_eq(drained.polls, 1);
  close_collect();
}
