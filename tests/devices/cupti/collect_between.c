/* What CUPTI does between windows and at its end: detaching, ids of earlier sessions, many threads. */
#include "collect_rig.h"

PD_TEST(cupti_collect, switches_off_between_windows) {
  open_collect(CUPTI_BETWEEN_DISABLE);
  start();
  drain();
  cr_assert_not(any_on());
  cr_assert_eq(fake_get().finalizes, 0);
  fake_launch("_Z1kv");
  fake_finish(0);
  start();
  drain();
  cr_assert_eq(record.count, 0);
  close_collect();
  cr_assert_eq(fake_get().attaches, 1);
  cr_assert_eq(fake_get().finalizes, 1);
}

/* What is recorded where all stays on is asked for before the library is given back, which need not hand it over. */
PD_TEST(cupti_collect, flushes_before_it_gives_the_library_back) {
  open_collect(CUPTI_BETWEEN_KEEP);
  start();
  drain();
  fake_launch("_Z1kv"); /* and still runs */
  close_collect();
  cr_assert_eq(fake_get().finalizes, 1);
  cr_assert_eq(fake_get().left_to_finalize, 0);
}

PD_TEST(cupti_collect, detaches_between_windows_and_repeats_no_id) {
  open_collect(CUPTI_BETWEEN_DETACH);
  for (uint32_t window = 1; window <= 4; window++) {
    start();
    for (int i = 0; i < 5; i++) fake_launch("_Z1kv");
    fake_finish(0);
    drain();
    cr_assert(drained.complete);
    cr_assert_eq(fake_get().finalizes, window);
    check_pairs(5 * window);
  }
  close_collect();
  cr_assert_eq(fake_get().attaches, 4);
  cr_assert_eq(fake_get().finalizes, 4);
  check_manners();
}

static uint64_t realtime_ns(void) { return (uint64_t)pd_clock_ns(CLOCK_REALTIME); }

/* Another thread is inside a call as the kinds go off: its record comes in the next window and is none of it. */
PD_TEST(cupti_collect, takes_no_call_that_was_under_way_as_a_window_ended) {
  static const cupti_between policies[] = {CUPTI_BETWEEN_DISABLE, CUPTI_BETWEEN_KEEP};
  for (size_t i = 0; i < sizeof policies / sizeof policies[0]; i++) {
    fake_reset();
    open_collect(policies[i]);
    for (uint64_t window = 1; window <= 3; window++) {
      start();
      for (int k = 0; k < 5; k++) fake_launch("_Z1kv");
      fake_finish(0);
      fake_fill();
      cupti_collect_stop(collect);
      uint64_t inside = realtime_ns();
      drain();
      cr_assert(drained.complete);
      fake_straggler("_Z9stragglerv", inside);
      check_pairs(5 * window);
    }
    close_collect();
  }
}

/* The same beside a detachment: the buffer comes in the next session, in which its ids come again. */
PD_TEST(cupti_collect, takes_nothing_of_an_earlier_session) {
  open_collect(CUPTI_BETWEEN_DETACH);
  for (uint64_t window = 1; window <= 4; window++) {
    start();
    for (int i = 0; i < 20; i++) fake_launch("_Z1kv");
    fake_finish(0);
    fake_fill();
    cupti_collect_stop(collect);
    for (int i = 0; i < 3; i++) fake_straggler("_Z9stragglerv", realtime_ns());
    fake_keep(false);
    drain();
    cr_assert(drained.complete);
    cr_assert_eq(fake_get().finalizes, window);
    check_pairs(20 * window);
  }
  cr_assert_eq(counts().surplus, 0);
  cr_assert_eq(counts().strays, 3 * 2 * 3); /* of the windows before the last, each with a call and a kernel */
  close_collect();
}

PD_TEST(cupti_collect, waits_for_no_buffer_that_an_earlier_session_kept) {
  open_collect(CUPTI_BETWEEN_DETACH);
  for (uint64_t window = 1; window <= 4; window++) {
    start();
    fake_launch("_Z1kv");
    fake_finish(0);
    fake_fill();
    cupti_collect_stop(collect);
    fake_straggler("_Z9stragglerv", realtime_ns());
    fake_keep(true);
    drain();
    cr_assert(drained.complete);
    cr_assert_eq(drained.polls, 1);
    cr_assert_eq(drained.others_held, 0);
    cr_assert_eq(fake_get().finalizes, window);
    check_pairs(window);
  }
  close_collect();
}

static int by_start(const void *a, const void *b) {
  int64_t x = ((const pd_activity *)a)->start, y = ((const pd_activity *)b)->start;
  return (x > y) - (x < y);
}

/* CUPTI missed the end of a call as it was switched off, and gives all further calls of the thread that call's id. */
PD_TEST(cupti_collect, tells_calls_under_one_id_apart) {
  static const char *const names[] = {"_Z1av", "_Z1bv", "_Z1cv"};
  static const cupti_between policies[] = {CUPTI_BETWEEN_DISABLE, CUPTI_BETWEEN_KEEP, CUPTI_BETWEEN_DETACH};
  enum { CALLS = 30 };
  for (size_t p = 0; p < sizeof policies / sizeof policies[0]; p++) {
    fake_reset();
    open_collect(policies[p]);
    start();
    fake_launch("_Z5firstv");
    fake_stick();
    for (int i = 0; i < CALLS; i++) {
      fake_call(false, 165, 0, false); /* cudaDeviceSynchronize: no device record */
      if (i % 4 == 3) fake_memcpy(100 + (uint64_t)i);
      fake_launch(names[i % 3]);
      fake_call(false, 211, 9, false); /* a launch that failed */
      fake_finish(0);
      if (i % 7 == 6) fake_fill();
    }
    drain();
    cr_assert(drained.complete);
    cr_assert_eq(drained.polls, 1);
    cr_assert_eq(drained.twins, 3 * CALLS + CALLS / 4);
    cr_assert_eq(counts().surplus, 0);
    cr_assert_eq(counts().early, 0);
    cr_assert_eq(rows_of(PD_ACTIVITY_KERNEL), CALLS + 1);
    cr_assert_eq(rows_of(PD_ACTIVITY_MEMCPY), CALLS / 4);
    qsort(record.rows, record.count, sizeof *record.rows, by_start);
    int launch = -1; /* the first is under its own name */
    for (uint64_t i = 0; i < record.count; i++) {
      const pd_activity *call = &record.rows[i];
      if (call->kind != PD_ACTIVITY_RUNTIME) continue;
      uint64_t mates = 0, calls = 0;
      for (uint64_t j = 0; j < record.count; j++) {
        if (record.rows[j].correlation != call->correlation) continue;
        if (record.rows[j].kind == PD_ACTIVITY_RUNTIME) {
          calls++;
          continue;
        }
        mates++;
        cr_assert_geq(record.rows[j].start, call->start);
        if (record.rows[j].kind == PD_ACTIVITY_KERNEL && launch >= 0) {
          char wanted[8] = {names[launch % 3][3], '(', ')', '\0'};
          cr_assert_str_eq(record.names[record.rows[j].name], wanted);
        }
      }
      bool launched = call->u.api.api == PD_API_LAUNCH && !call->u.api.result;
      cr_assert_eq(calls, 1);
      cr_assert_eq(mates, launched || call->u.api.api == PD_API_MEMCPY);
      launch += launched;
    }
    cr_assert_eq(fake_get().finalizes, 1); /* whatever the policy: ids are the threads' own again */
    record.count = 0;
    start();
    for (int i = 0; i < 5; i++) fake_launch("_Z1kv");
    fake_finish(0);
    drain();
    cr_assert(drained.complete);
    cr_assert_eq(drained.twins, 0);
    check_pairs(5);
    close_collect();
  }
}

PD_TEST(cupti_collect, keeps_all_on_and_lets_records_between_windows_go) {
  cr_assert_eq(try_open(CUPTI_BETWEEN_KEEP, false), PD_OK);
  for (uint64_t window = 1; window <= 3; window++) {
    fake_launch("_Z1kv"); /* between windows; of the first one nothing is on yet */
    fake_fill();
    start();
    for (int i = 0; i < 5; i++) fake_launch("_Z1kv");
    fake_finish(0);
    drain();
    cr_assert(drained.complete);
    cr_assert(fake_get().kernel_on);
    check_pairs(5 * window);
  }
  cr_assert_eq(counts().stale, 4);
  close_collect();
  cr_assert_eq(fake_get().attaches, 1);
  check_manners();
}

PD_TEST(cupti_collect, waits_for_every_node_of_a_graph) {
  pthread_t device;
  uint32_t polls = 3;
  cr_assert_eq(try_open(CUPTI_BETWEEN_KEEP, false), PD_OK);
  start();
  fake_graph_launch(5, 100);
  fake_finish(0);
  drain();
  cr_assert(drained.complete);
  cr_assert_eq(rows_of(PD_ACTIVITY_KERNEL), 100);
  start();
  fake_graph_launch(5, 100);
  fake_finish(60);
  cr_assert_eq(pthread_create(&device, NULL, finish_after_polls, &polls), 0);
  drain();
  pthread_join(device, NULL);
  cr_assert(drained.complete);
  cr_assert_eq(rows_of(PD_ACTIVITY_KERNEL), 200);
  cr_assert_not(drained.graphs_empty);
  close_collect();
}

PD_TEST(cupti_collect, carries_a_wrap_of_the_ids_on) {
  open_collect(CUPTI_BETWEEN_DISABLE);
  fake_set()->first_correlation = 0xFFFFFFF0u;
  start();
  for (int i = 0; i < 32; i++) {
    fake_launch("_Z1kv");
    if (i % 8 == 7) fake_finish(0);
  }
  drain();
  cr_assert(drained.complete);
  for (uint64_t i = 0; i < record.count; i++) {
    cr_assert_geq(record.rows[i].correlation, 0xFFFFFFF1u);
    cr_assert_leq(record.rows[i].correlation, UINT64_C(0xFFFFFFF0) + 33);
  }
  close_collect();
}

/* Signals are the program's: the decoder's thread takes none, and leaves those of the thread that opened it alone. */
PD_TEST(cupti_collect, takes_no_signals) {
  static const int signals[] = {SIGINT, SIGTERM, SIGHUP, SIGUSR1, SIGALRM, SIGCHLD};
  sigset_t mine;
  open_collect(CUPTI_BETWEEN_DISABLE);
  (void)counts(); /* the thread has its name */
  pthread_sigmask(SIG_SETMASK, NULL, &mine);
  for (size_t i = 0; i < sizeof signals / sizeof signals[0]; i++) {
    cr_assert_eq(sigismember(&record.blocked, signals[i]), 1, "%d", signals[i]);
    cr_assert_eq(sigismember(&mine, signals[i]), 0, "%d", signals[i]);
  }
  close_collect();
}

PD_TEST(cupti_collect, decodes_more_than_it_may_hold) {
  open_collect(CUPTI_BETWEEN_DISABLE);
  start();
  for (int round = 0; round < 100; round++) { /* 400000 records of 256 bytes a pair: more than the 64 MiB allowed */
    for (int i = 0; i < 2000; i++) {
      fake_launch("_Z1kv");
      if (i % 1000 == 999) fake_finish(0);
    }
    (void)api.ActivityFlushAll(0); /* as CUPTI's own thread does with full buffers */
    (void)counts();                /* the decoder keeps up: it has answered after its queue */
  }
  drain();
  cr_assert(drained.complete);
  cr_assert_eq(rows_of(PD_ACTIVITY_KERNEL), 200000);
  cr_assert_eq(record.count, 400000);
  cr_assert_eq(counts().dropped, 0);
  close_collect();
}

enum { THREADS = 6, EACH = 200 };
static void *launch_many(void *unused) {
  (void)unused;
  for (int i = 0; i < EACH; i++) {
    fake_launch("_Z1kv");
    if (i % 100 == 99) fake_fill();
  }
  return NULL;
}

PD_TEST(cupti_collect, reads_the_buffers_of_many_threads_once_each) {
  pthread_t threads[THREADS];
  open_collect(CUPTI_BETWEEN_DISABLE);
  start();
  for (int i = 0; i < THREADS; i++) cr_assert_eq(pthread_create(&threads[i], NULL, launch_many, NULL), 0);
  for (int i = 0; i < THREADS; i++) pthread_join(threads[i], NULL);
  fake_finish(0);
  drain();
  cr_assert(drained.complete);
  check_pairs(THREADS * EACH);
  close_collect();
  check_manners();
}

PD_TEST(cupti_collect, chooses_by_what_was_measured) {
  cr_assert_eq(try_open(CUPTI_BETWEEN_AUTO, false), PD_OK);
  start();
  drain();
  cr_assert_eq(fake_get().finalizes, 1); /* AUTO detaches */
  close_collect();
}

/* Beside cuptiFinalize nothing else of the library is called: not even to read the buffer that it gives back. */
PD_TEST(cupti_collect, decodes_nothing_while_the_library_is_given_back) {
  fake_set()->slow_finalize = true;
  open_collect(CUPTI_BETWEEN_DETACH);
  for (int window = 0; window < 2; window++) {
    start();
    fake_launch("_Z1kv");
    fake_finish(0);
    drain();
    cr_assert(drained.complete);
  }
  cr_assert_eq(fake_get().finalizes, 2);
  check_pairs(2);
  check_manners();
  close_collect();
}
