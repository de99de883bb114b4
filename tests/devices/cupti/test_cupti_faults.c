/* The collector against the fake: everything that goes wrong. */
#include "faults_system.h"

PD_TEST(cupti_faults, gives_up_in_time_and_lets_no_record_leak_into_the_next_window) {
  open_collect(CUPTI_BETWEEN_DISABLE);
  start();
  fake_launch("_Z1kv");
  cupti_collect_stop(collect);
  cupti_collect_drain(collect, 0, &drained);
  cr_assert_not(drained.complete);
  cr_assert_not(drained.loop_complete);
  cr_assert_eq(drained.others_held, 0);
  cr_assert_eq(drained.polls, 1);
  uint64_t before = record.count;
  start();
  fake_launch("_Z1kv");
  fake_finish(0);
  drain();
  cr_assert(drained.complete);
  cr_assert_eq(record.count - before, 2); /* of the second window alone */
  cr_assert_eq(record.rows[before].correlation, 2);
  cr_assert_eq(record.rows[before + 1].correlation, 2);
  cr_assert_geq(counts().stale, 1);
  close_collect();
}

static void *launch_forever_unfinished(void *unused) {
  (void)unused;
  fake_launch("_Z5otherv");
  return NULL;
}

/* There is no timeout: only what the loop launched is waited for without end. */
PD_TEST(cupti_faults, waits_for_no_other_threads_endless_work) {
  pthread_t other;
  open_collect(CUPTI_BETWEEN_DETACH);
  start();
  fake_launch("_Z1kv");
  fake_finish(0);
  cr_assert_eq(pthread_create(&other, NULL, launch_forever_unfinished, NULL), 0);
  pthread_join(other, NULL);
  cupti_collect_stop(collect);
  cupti_collect_drain(collect, INT64_MAX, &drained);
  cr_assert_not(drained.complete);
  cr_assert(drained.loop_complete);
  cr_assert_eq(drained.others_held, 1);
  cr_assert_eq(drained.pending, 0); /* the other's call has not even been seen */
  check_pairs(1);
  cr_assert_eq(fake_get().finalizes, 0);
  fake_finish(0);
  close_collect();
}

PD_TEST(cupti_faults, gives_no_library_back_that_still_works) {
  open_collect(CUPTI_BETWEEN_DETACH);
  start();
  fake_launch("_Z1kv");
  cupti_collect_stop(collect);
  cupti_collect_drain(collect, 0, &drained);
  cr_assert_not(drained.complete);
  cr_assert_eq(fake_get().finalizes, 0);
  cr_assert(fake_get().kernel_on && fake_get().runtime_kind); /* switching off beside a call makes ids shared */
  uint64_t before = record.count;
  start();
  fake_launch("_Z1kv");
  fake_finish(0);
  drain();
  cr_assert(drained.complete);
  cr_assert_eq(record.count - before, 2);
  cr_assert_eq(fake_get().finalizes, 1);
  close_collect();
}

PD_TEST(cupti_faults, counts_what_a_forced_flush_cuts_short) {
  open_collect(CUPTI_BETWEEN_DISABLE);
  start();
  fake_launch("_Z1kv");
  cupti_collect_close(collect);
  cr_assert_geq(fake_get().forced_flushes, 1);
  cr_assert_eq(record.lost[PD_LOSS_ZERO_TIMESTAMP], 1);
  cr_assert_eq(rows_of(PD_ACTIVITY_KERNEL), 0);
  cr_assert_eq(rows_of(PD_ACTIVITY_RUNTIME), 1);
  fake_join();
  kept_record_free(&record);
}

PD_TEST(cupti_faults, counts_records_without_a_time) {
  open_collect(CUPTI_BETWEEN_DISABLE);
  start();
  for (int i = 0; i < 20; i++) {
    uint32_t id = fake_launch("_Z1kv");
    if (i < 12)
      fake_finish(0);
    else
      fake_finish_at(id, 0, 0); /* the device's buffers are full */
  }
  drain();
  cr_assert(drained.complete);
  cr_assert_eq(counts().zero_stamped, 8);
  cr_assert_eq(record.lost[PD_LOSS_ZERO_TIMESTAMP], 8);
  cr_assert_eq(rows_of(PD_ACTIVITY_KERNEL), 12);
  close_collect();
}

PD_TEST(cupti_faults, notices_graphs_that_leave_no_kernels) {
  cr_assert_eq(try_open(CUPTI_BETWEEN_DISABLE, false), PD_OK);
  fake_set()->graph_silence = true;
  for (int window = 0; window < 2; window++) {
    start();
    fake_graph_launch(5, 10);
    fake_finish(0);
    cupti_collect_stop(collect);
    cupti_collect_drain(collect, 0, &drained);
    cr_assert_eq(drained.graphs_empty, window == 1);
    cr_assert_eq(drained.complete, window == 0);
    cr_assert_eq(drained.pending, window == 1);
  }
  close_collect();
}

PD_TEST(cupti_faults, hides_no_graph_kernels_under_a_wrong_id) {
  cr_assert_eq(try_open(CUPTI_BETWEEN_DISABLE, false), PD_OK);
  start();
  fake_graph_launch_wrong(5, 10);
  fake_finish(0);
  cupti_collect_stop(collect);
  cupti_collect_drain(collect, 0, &drained);
  cr_assert_not(drained.complete);
  cr_assert_eq(drained.pending, 1);
  cr_assert_eq(rows_of(PD_ACTIVITY_KERNEL), 10); /* handed on, for the trace to count as unmatched */
  close_collect();
}

PD_TEST(cupti_faults, stops_taking_memory_at_its_limit_and_counts_what_is_dropped) {
  size_t bytes;
  uint64_t given = 0;
  open_collect(CUPTI_BETWEEN_DISABLE);
  start();
  for (int i = 0; i < 10000; i++) {
    given += fake_request(&bytes) ? bytes : 0;
    if (i % 100 == 99) (void)counts(); /* the decoder is not in the middle of mapping one */
  }
  cr_assert_leq(given, (uint64_t)LIMIT_BYTES);
  cr_assert_geq(given, (uint64_t)LIMIT_BYTES - (4 << 20));
  cr_assert_gt(fake_get().refused, 9900);
  cr_assert_eq(fake_get().in_callback, 0);
  fake_launch("_Z1kv"); /* no buffer for either record */
  cupti_collect_stop(collect);
  cupti_collect_drain(collect, 0, &drained);
  cr_assert_eq(drained.refused, fake_get().refused);
  cr_assert_eq(counts().dropped, 2);
  cr_assert_eq(record.lost[PD_LOSS_RECORDS_DROPPED], 2);
  close_collect();
}

PD_TEST(cupti_faults, blames_no_window_for_what_was_dropped_before) {
  open_collect(CUPTI_BETWEEN_DISABLE);
  fake_set()->dropped = 7;
  start();
  fake_set()->dropped += 3; /* what was not asked for yet is still there */
  drain();
  cr_assert_eq(counts().dropped, 3);
  cr_assert_eq(record.lost[PD_LOSS_RECORDS_DROPPED], 3);
  close_collect();
}

PD_TEST(cupti_faults, survives_a_step_of_the_system_clock) {
  static const int64_t steps[] = {-SECOND_NS, SECOND_NS};
  for (int i = 0; i < 2; i++) {
    fake_reset();
    atomic_store(&realtime_step_ns, 0);
    cr_assert_eq(try_open(CUPTI_BETWEEN_KEEP, false), PD_OK);
    start();
    drain();
    start(); /* kinds are on already, so calls are told apart by their times */
    atomic_store(&realtime_step_ns, steps[i]);
    for (int k = 0; k < 10; k++) fake_launch("_Z1kv");
    fake_finish(0);
    drain();
    cr_assert(drained.complete);
    check_pairs(10);
    close_collect();
  }
}

/* A thread that is held up between two clocks sees them apart; that is no step, and calls are still told by their
 * times.
 */
PD_TEST(cupti_faults, takes_a_slow_reading_of_the_clocks_for_no_step) {
  open_collect(CUPTI_BETWEEN_DISABLE);
  start();
  fake_launch("_Z1kv");
  fake_finish(0);
  fake_fill();
  cupti_collect_stop(collect);
  fake_launch("_Z5laterv");
  fake_finish(0);
  atomic_store(&hold_ups, 2);
  drain();
  cr_assert(drained.complete);
  check_pairs(1);
  cr_assert_eq(counts().stale, 2);
  cr_assert_eq(atomic_load(&hold_ups), 0);
  close_collect();
}

PD_TEST(cupti_faults, refuses_another_clock) {
  fake_set()->clock_elsewhere = true;
  cr_assert_eq(try_open(CUPTI_BETWEEN_AUTO, false), PD_DEVICE);
  cr_assert_not_null(strstr(why, "CLOCK_REALTIME"), "%s", why);
  cr_assert_eq(fake_get().attaches, 0);
  kept_record_free(&record);
}
