/* The collector against the fake: everything that goes wrong. */
#include "collect_fixture.h"

/* The product and the fake see this clock: a test can set it, and hold other threads up around a reading. */
static _Atomic int64_t realtime_step_ns;
static _Atomic int hold_ups;
static const struct timespec hold_up = {.tv_nsec = 3000000};
PD_EXPORT int clock_gettime(clockid_t clock, struct timespec *at);
int clock_gettime(clockid_t clock, struct timespec *at) {
  const bool held = clock == CLOCK_REALTIME && gettid() != getpid() && atomic_load(&hold_ups) > 0;
  if (held) nanosleep(&hold_up, NULL);
  long failed = syscall(SYS_clock_gettime, clock, at);
  if (held) nanosleep(&hold_up, NULL), atomic_fetch_sub(&hold_ups, 1);
  if (!failed && clock == CLOCK_REALTIME) at->tv_sec += (time_t)(atomic_load(&realtime_step_ns) / SECOND_NS);
  return (int)failed;
}

/* The pool asks for the thread's id inside its callback: one thread can be held there. */
static _Thread_local bool held_inside;
static _Atomic bool inside_now, let_go, closed;
PD_EXPORT pid_t gettid(void);
pid_t gettid(void) {
  if (held_inside) {
    atomic_store(&inside_now, true);
    while (!atomic_load(&let_go)) sched_yield();
  }
  return (pid_t)syscall(SYS_gettid);
}

/* Of large buffers as they are mapped: how many by other threads than the first. */
static _Atomic int mapped_beside;
PD_EXPORT int madvise(void *at, size_t bytes, int advice);
int madvise(void *at, size_t bytes, int advice) {
  atomic_fetch_add(&mapped_beside, gettid() != getpid());
  return (int)syscall(SYS_madvise, at, bytes, advice);
}

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

PD_TEST(cupti_faults, names_the_tool_that_was_there_first) {
  fake_set()->other_tool = "CUPTI for Nsight Systems";
  cr_assert_eq(try_open(CUPTI_BETWEEN_AUTO, false), PD_DEVICE);
  cr_assert_not_null(strstr(why, "\"CUPTI for Nsight Systems\" (39)"), "%s", why);
  kept_record_free(&record);
}

PD_TEST(cupti_faults, leaves_nothing_behind_when_a_call_fails) {
  static const char *const functions[] = {"cuptiSetThreadIdType", "cuptiActivitySetAttribute", "cuptiSubscribe",
                                          "cuptiEnableDomain", "cuptiActivityRegisterCallbacks"};
  for (size_t i = 0; i < sizeof functions / sizeof functions[0]; i++) {
    fake_reset();
    fake_set()->fail_function = functions[i];
    fake_set()->fail_code = 35;
    cr_assert_eq(try_open(CUPTI_BETWEEN_AUTO, false), PD_DEVICE, "%s", functions[i]);
    cr_assert_not_null(strstr(why, functions[i]), "%s", why);
    cr_assert_not_null(strstr(why, "ERR_NVGPUCTRPERM"), "%s", why);
    cr_assert_null(collect);
    kept_record_free(&record);
    fake_set()->fail_function = NULL; /* and once it works again, it works: nobody is in its way */
    open_collect(CUPTI_BETWEEN_AUTO);
    close_collect();
    cr_assert_eq(fake_get().bad_order, 0, "%s", functions[i]);
  }
}

PD_TEST(cupti_faults, switches_everything_off_when_a_kind_cannot_be_switched_on) {
  enum { KINDS = 8 };
  for (uint32_t at = 0; at <= KINDS; at++) {
    fake_reset();
    cr_assert_eq(try_open(CUPTI_BETWEEN_DISABLE, true), PD_OK, "%s", why);
    fake_set()->fail_function = "cuptiActivityEnable";
    fake_set()->fail_code = 43;
    fake_set()->fail_after = at;
    const pd_status status = cupti_collect_start(collect, why, sizeof why);
    cr_assert_eq(status, at < KINDS ? PD_DEVICE : PD_OK, "%u", at);
    fake_set()->fail_function = NULL;
    if (at < KINDS) {
      cr_assert_not_null(strstr(why, "MIG"), "%s", why);
      cr_assert_not(any_on(), "%u", at);
      start(); /* it may be tried again */
    }
    fake_launch("_Z1kv");
    fake_finish(0);
    drain();
    cr_assert(drained.complete);
    close_collect();
  }
}

PD_TEST(cupti_faults, serves_one_at_a_time) {
  cupti_collect *second;
  open_collect(CUPTI_BETWEEN_DISABLE);
  const cupti_collect_config config = {.api = &api, .max_bytes = LIMIT_BYTES};
  cr_assert_eq(cupti_collect_open(&config, &second, why, sizeof why), PD_UNSUPPORTED);
  cr_assert_null(second);
  cr_assert_not_null(strstr(why, "another device"), "%s", why);
  close_collect();
}

PD_TEST(cupti_faults, bears_callbacks_after_its_end) {
  size_t bytes = 1;
  open_collect(CUPTI_BETWEEN_DISABLE);
  fake_set()->keeps_callbacks = true;
  start();
  uint8_t *held = fake_request(&bytes);
  cr_assert_not_null(held);
  cupti_collect_close(collect);
  held[0] = 1; /* CUPTI may still write to what it holds */
  fake_complete(held, 8);
  cr_assert_null(fake_request(&bytes));
  cr_assert_eq(bytes, 0);
  kept_record_free(&record);
}

/* A launching thread finds a large buffer mapped and faulted in before it asks. */
PD_TEST(cupti_faults, maps_the_next_buffer_before_it_is_asked_for) {
  const struct timespec moment = {.tv_nsec = 1000000};
  size_t bytes;
  open_collect(CUPTI_BETWEEN_DISABLE);
  for (int i = 0; i < 3; i++) (void)fake_request(&bytes); /* a small one, then two of the four large ones */
  (void)counts();
  cr_assert_eq(atomic_load(&mapped_beside), 0);
  (void)fake_request(&bytes);
  for (int i = 0; i < 10000 && !atomic_load(&mapped_beside); i++) nanosleep(&moment, NULL);
  cr_assert_eq(atomic_load(&mapped_beside), 1);
  cr_assert_eq(bytes, 4 << 20);
  close_collect();
}

static void *request_held(void *unused) {
  size_t bytes;
  (void)unused;
  held_inside = true;
  (void)fake_request_beside(&bytes);
  held_inside = false;
  return NULL;
}
static void *close_beside(void *unused) {
  (void)unused;
  cupti_collect_close(collect);
  atomic_store(&closed, true);
  return NULL;
}

/* A thread is inside a callback as the collector ends: what it reads there is not taken away from under it. */
PD_TEST(cupti_faults, waits_for_callbacks_that_are_under_way) {
  const struct timespec moment = {.tv_nsec = 1000000};
  pthread_t asker, closer;
  open_collect(CUPTI_BETWEEN_DISABLE);
  cr_assert_eq(pthread_create(&asker, NULL, request_held, NULL), 0);
  while (!atomic_load(&inside_now)) sched_yield();
  cr_assert_eq(pthread_create(&closer, NULL, close_beside, NULL), 0);
  for (int i = 0; i < 100 && !atomic_load(&closed); i++) nanosleep(&moment, NULL);
  cr_assert_not(atomic_load(&closed));
  atomic_store(&let_go, true);
  pthread_join(asker, NULL);
  pthread_join(closer, NULL);
  kept_record_free(&record);
}

PD_TEST(cupti_faults, does_nothing_in_a_forked_child) {
  size_t bytes;
  int state;
  open_collect(CUPTI_BETWEEN_DISABLE);
  start();
  pid_t child = fork();
  if (child == 0) {
    cupti_drained none;
    int bad = 0;
    bad |= fake_request(&bytes) != NULL ? 1 : 0;
    cupti_collect_stop(collect);
    cupti_collect_drain(collect, 1000, &none);
    bad |= none.polls ? 2 : 0;
    bad |= cupti_collect_start(collect, why, sizeof why) != PD_UNSUPPORTED ? 4 : 0;
    cupti_collect_close(collect);
    _exit(bad);
  }
  cr_assert_eq(waitpid(child, &state, 0), child);
  cr_assert(WIFEXITED(state));
  cr_assert_eq(WEXITSTATUS(state), 0);
  fake_launch("_Z1kv");
  fake_finish(0);
  drain();
  cr_assert(drained.complete); /* the parent goes on */
  close_collect();
}

PD_TEST(cupti_faults, reports_the_librarys_own_end) {
  open_collect(CUPTI_BETWEEN_DETACH);
  start();
  cr_assert_eq(cupti_collect_failed(collect), 0);
  fake_fatal(999);
  cr_assert_eq(cupti_collect_failed(collect), 999);
  drain();
  cr_assert_eq(cupti_collect_failed(collect), 999);
  start(); /* with a library that begins anew */
  cr_assert_eq(cupti_collect_failed(collect), 0);
  drain();
  close_collect();
}

PD_TEST(cupti_faults, bears_any_order_of_calls) {
  open_collect(CUPTI_BETWEEN_DETACH);
  cupti_collect_drain(collect, SECOND_NS, &drained);
  cr_assert_eq(drained.polls, 0);
  cupti_collect_stop(collect);
  start();
  cupti_collect_stop(collect);
  cupti_collect_stop(collect);
  drain();
  drain();
  close_collect();
  cupti_collect_close(NULL);
}
