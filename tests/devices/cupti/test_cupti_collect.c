/* The collector against the fake: windows, drains, what becomes of CUPTI between them, and everything that goes wrong.
 */
#include "cupti_collect.h"
#include "fake_cupti.h"
#include "kept_record.h"
#include "pd_test.h"

#include <pthread.h>
#include <sched.h>
#include <stdatomic.h>
#include <string.h>
#include <sys/syscall.h>
#include <sys/wait.h>
#include <time.h>
#include <unistd.h>

static cupti_api api;
static cupti_collect *collect;
static kept_record record;
static cupti_drained drained;
static char why[512];
enum { LIMIT_BYTES = 64 << 20 };
#define SECOND_NS INT64_C(1000000000)

/* The product and the fake see this clock: a test can set it. */
static _Atomic int64_t realtime_step_ns;
PD_EXPORT int clock_gettime(clockid_t clock, struct timespec *at);
int clock_gettime(clockid_t clock, struct timespec *at) {
  long failed = syscall(SYS_clock_gettime, clock, at);
  if (!failed && clock == CLOCK_REALTIME) at->tv_sec += (time_t)(atomic_load(&realtime_step_ns) / SECOND_NS);
  return (int)failed;
}

static pd_status try_open(cupti_between between, bool graphs, bool sync) {
  const cupti_collect_config config = {.api = &api,
                                       .record = &record.table,
                                       .max_bytes = LIMIT_BYTES,
                                       .between = between,
                                       .graphs = graphs,
                                       .sync = sync};
  cr_assert_eq(cupti_api_load(&api, FAKE_CUPTI_PATH, why, sizeof why), PD_OK, "%s", why);
  kept_record_init(&record);
  return cupti_collect_open(&config, &collect, why, sizeof why);
}
static void open_collect(cupti_between between) { cr_assert_eq(try_open(between, false, false), PD_OK, "%s", why); }
static void start(void) { cr_assert_eq(cupti_collect_start(collect, why, sizeof why), PD_OK, "%s", why); }
static void drain(void) {
  cupti_collect_stop(collect);
  cupti_collect_drain(collect, 20 * SECOND_NS, &drained);
}
static void close_collect(void) {
  cupti_collect_close(collect);
  fake_join();
  kept_record_free(&record);
}
static cupti_counts counts(void) {
  cupti_counts copy;
  cupti_collect_counts(collect, &copy);
  return copy;
}
static uint64_t rows_of(pd_activity_kind kind) {
  uint64_t count = 0;
  for (uint64_t i = 0; i < record.count; i++) count += record.rows[i].kind == kind;
  return count;
}
/* Every launch has exactly one device record, later than itself; no id stands for two launches. */
static void check_pairs(uint64_t launches) {
  uint64_t calls = 0;
  for (uint64_t i = 0; i < record.count; i++) {
    const pd_activity *call = &record.rows[i];
    uint64_t mates = 0;
    if (call->kind != PD_ACTIVITY_RUNTIME || call->u.api.api != PD_API_LAUNCH) continue;
    calls++;
    for (uint64_t j = 0; j < record.count; j++) {
      if (j == i || record.rows[j].correlation != call->correlation) continue;
      mates++;
      cr_assert_eq(record.rows[j].kind, PD_ACTIVITY_KERNEL);
      cr_assert_geq(record.rows[j].start, call->start);
    }
    cr_assert_eq(mates, 1);
  }
  cr_assert_eq(calls, launches);
  cr_assert_eq(rows_of(PD_ACTIVITY_KERNEL), launches);
}
static void check_manners(void) {
  fake_counts did = fake_get();
  cr_assert_eq(did.in_callback, 0);
  cr_assert_eq(did.bad_order, 0);
  cr_assert_eq(did.attribute_changed, 0);
  cr_assert_eq(did.timestamp_callbacks, 0);
  cr_assert_eq(did.external_ids, 0);
  cr_assert_eq(did.latency, 0);
  cr_assert_eq(did.whole_kinds, 0);
  cr_assert_eq(did.flushes_by_subscriber, 0);
  cr_assert_eq(did.overlapping, 0);
  cr_assert_eq(did.unzeroed, 0);
  cr_assert_eq(did.thread_id_type, CUPTI_ACTIVITY_THREAD_ID_TYPE_SYSTEM);
}

PD_TEST(cupti_collect, pairs_every_launch_with_its_kernel) {
  open_collect(CUPTI_BETWEEN_DISABLE);
  for (uint64_t window = 1; window <= 3; window++) {
    start();
    for (int i = 0; i < 100; i++) fake_launch("_Z1kv");
    fake_finish(0);
    drain();
    cr_assert(drained.complete);
    cr_assert_eq(drained.pending, 0);
    cr_assert_eq(drained.device_rows, 100);
    check_pairs(100 * window);
  }
  close_collect();
  check_manners();
}

PD_TEST(cupti_collect, keeps_its_manners_with_every_version) {
  static const uint32_t versions[] = {27, 28, 130000, 130001, 130100, 130401};
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
  cr_assert(did.kernel_on && did.memcpy_on && did.memset_on && did.overhead_on && !did.sync_on);
  fake_call(false, 3, 0, false);   /* cudaGetDevice */
  fake_call(false, 135, 0, false); /* cudaEventRecord */
  fake_call(false, 20, 0, false);  /* cudaMalloc */
  fake_call(false, 165, 0, false); /* cudaDeviceSynchronize */
  fake_call(true, 3, 0, false);    /* cuDeviceGet */
  fake_memcpy(100);
  fake_memset(200);
  fake_overhead();
  drain();
  cr_assert(drained.complete);
  cr_assert_eq(rows_of(PD_ACTIVITY_RUNTIME), 4);
  cr_assert_eq(rows_of(PD_ACTIVITY_DRIVER), 0);
  cr_assert_eq(rows_of(PD_ACTIVITY_MEMCPY), 1);
  cr_assert_eq(rows_of(PD_ACTIVITY_MEMSET), 1);
  cr_assert_eq(rows_of(PD_ACTIVITY_OVERHEAD), 1);
  cr_assert_eq(counts().unknown, 0); /* they were not even recorded */
  close_collect();
  check_manners();
}

PD_TEST(cupti_collect, asks_for_few_synchronisation_records) {
  cr_assert_eq(try_open(CUPTI_BETWEEN_DISABLE, false, true), PD_OK);
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

static void *finish_after_polls(void *polls) {
  uint32_t before = fake_get().flushes;
  while (fake_get().flushes - before < *(uint32_t *)polls) sched_yield();
  fake_finish(0);
  return NULL;
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

PD_TEST(cupti_collect, gives_up_in_time_and_lets_no_record_leak_into_the_next_window) {
  open_collect(CUPTI_BETWEEN_DISABLE);
  start();
  fake_launch("_Z1kv");
  cupti_collect_stop(collect);
  cupti_collect_drain(collect, 0, &drained);
  cr_assert_not(drained.complete);
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

PD_TEST(cupti_collect, counts_what_a_forced_flush_cuts_short) {
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

PD_TEST(cupti_collect, counts_records_without_a_time) {
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

PD_TEST(cupti_collect, waits_for_no_failed_launch) {
  open_collect(CUPTI_BETWEEN_DISABLE);
  start();
  fake_call(false, 211, 9, false);
  drain();
  cr_assert(drained.complete);
  cr_assert_eq(drained.polls, 1);
  close_collect();
}

PD_TEST(cupti_collect, switches_off_between_windows) {
  open_collect(CUPTI_BETWEEN_DISABLE);
  start();
  drain();
  fake_counts did = fake_get();
  cr_assert_not(did.kernel_on || did.memcpy_on || did.memset_on || did.overhead_on || did.runtime_kind ||
                did.driver_kind);
  cr_assert_eq(did.runtime_on + did.driver_on, 0);
  cr_assert_eq(did.finalizes, 0);
  fake_launch("_Z1kv");
  fake_finish(0);
  start();
  drain();
  cr_assert_eq(record.count, 0);
  close_collect();
  cr_assert_eq(fake_get().attaches, 1);
  cr_assert_eq(fake_get().finalizes, 1);
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

PD_TEST(cupti_collect, keeps_all_on_and_lets_records_between_windows_go) {
  cr_assert_eq(try_open(CUPTI_BETWEEN_KEEP, true, false), PD_OK);
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
  cr_assert_eq(try_open(CUPTI_BETWEEN_KEEP, true, false), PD_OK);
  start();
  fake_graph_launch(5, 100);
  fake_finish(0);
  drain();
  cr_assert(drained.complete);
  cr_assert_eq(drained.device_rows, 100);
  start();
  fake_graph_launch(5, 100);
  fake_finish(60);
  cr_assert_eq(pthread_create(&device, NULL, finish_after_polls, &polls), 0);
  drain();
  pthread_join(device, NULL);
  cr_assert(drained.complete);
  cr_assert_eq(drained.device_rows, 100);
  cr_assert_not(drained.graphs_empty);
  close_collect();
}

PD_TEST(cupti_collect, notices_graphs_that_leave_no_kernels) {
  cr_assert_eq(try_open(CUPTI_BETWEEN_DISABLE, true, false), PD_OK);
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

PD_TEST(cupti_collect, hides_no_graph_kernels_under_a_wrong_id) {
  cr_assert_eq(try_open(CUPTI_BETWEEN_DISABLE, true, false), PD_OK);
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

PD_TEST(cupti_collect, stops_taking_memory_at_its_limit_and_counts_what_is_dropped) {
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
  cr_assert_eq(counts().dropped, 2);
  cr_assert_eq(record.lost[PD_LOSS_RECORDS_DROPPED], 2);
  close_collect();
}

PD_TEST(cupti_collect, blames_no_window_for_what_was_dropped_before) {
  open_collect(CUPTI_BETWEEN_DISABLE);
  fake_set()->dropped = 7;
  start();
  fake_set()->dropped = 3;
  drain();
  cr_assert_eq(counts().dropped, 3);
  cr_assert_eq(record.lost[PD_LOSS_RECORDS_DROPPED], 3);
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
  cr_assert_eq(drained.device_rows, 200000);
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

PD_TEST(cupti_collect, survives_a_step_of_the_system_clock) {
  static const int64_t steps[] = {-SECOND_NS, SECOND_NS};
  for (int i = 0; i < 2; i++) {
    fake_reset();
    atomic_store(&realtime_step_ns, 0);
    cr_assert_eq(try_open(CUPTI_BETWEEN_KEEP, true, false), PD_OK);
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

PD_TEST(cupti_collect, refuses_another_clock) {
  fake_set()->clock_elsewhere = true;
  cr_assert_eq(try_open(CUPTI_BETWEEN_AUTO, false, false), PD_DEVICE);
  cr_assert_not_null(strstr(why, "CLOCK_REALTIME"), "%s", why);
  cr_assert_eq(fake_get().attaches, 0);
  kept_record_free(&record);
}

PD_TEST(cupti_collect, names_the_tool_that_was_there_first) {
  fake_set()->other_tool = "CUPTI for Nsight Systems";
  cr_assert_eq(try_open(CUPTI_BETWEEN_AUTO, false, false), PD_DEVICE);
  cr_assert_not_null(strstr(why, "\"CUPTI for Nsight Systems\" (39)"), "%s", why);
  kept_record_free(&record);
}

PD_TEST(cupti_collect, leaves_nothing_behind_when_a_call_fails) {
  static const char *const functions[] = {"cuptiSetThreadIdType", "cuptiActivitySetAttribute", "cuptiSubscribe",
                                          "cuptiEnableDomain", "cuptiActivityRegisterCallbacks"};
  for (size_t i = 0; i < sizeof functions / sizeof functions[0]; i++) {
    fake_reset();
    fake_set()->fail_function = functions[i];
    fake_set()->fail_code = 35;
    cr_assert_eq(try_open(CUPTI_BETWEEN_AUTO, false, false), PD_DEVICE, "%s", functions[i]);
    cr_assert_not_null(strstr(why, functions[i]), "%s", why);
    cr_assert_not_null(strstr(why, "ERR_NVGPUCTRPERM"), "%s", why);
    cr_assert_null(collect);
    kept_record_free(&record);
    /* And once it works again, it works. */
    fake_reset();
    open_collect(CUPTI_BETWEEN_AUTO);
    close_collect();
  }
}

PD_TEST(cupti_collect, switches_everything_off_when_a_kind_cannot_be_switched_on) {
  open_collect(CUPTI_BETWEEN_DISABLE);
  fake_set()->fail_function = "cuptiActivityEnable";
  fake_set()->fail_code = 43;
  cr_assert_eq(cupti_collect_start(collect, why, sizeof why), PD_DEVICE);
  cr_assert_not_null(strstr(why, "MIG"), "%s", why);
  fake_set()->fail_function = NULL;
  cr_assert_not(fake_get().kernel_on);
  start(); /* it may be tried again */
  fake_launch("_Z1kv");
  fake_finish(0);
  drain();
  cr_assert(drained.complete);
  close_collect();
}

PD_TEST(cupti_collect, serves_one_at_a_time) {
  cupti_collect *second;
  open_collect(CUPTI_BETWEEN_DISABLE);
  const cupti_collect_config config = {.api = &api, .max_bytes = LIMIT_BYTES};
  cr_assert_eq(cupti_collect_open(&config, &second, why, sizeof why), PD_UNSUPPORTED);
  cr_assert_null(second);
  cr_assert_not_null(strstr(why, "another device"), "%s", why);
  close_collect();
}

PD_TEST(cupti_collect, bears_callbacks_after_its_end) {
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

PD_TEST(cupti_collect, does_nothing_in_a_forked_child) {
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

PD_TEST(cupti_collect, reports_the_librarys_own_end) {
  open_collect(CUPTI_BETWEEN_DISABLE);
  start();
  cr_assert_eq(cupti_collect_failed(collect), 0);
  fake_fatal(999);
  cr_assert_eq(cupti_collect_failed(collect), 999);
  drain();
  close_collect();
}

PD_TEST(cupti_collect, chooses_by_what_was_measured) {
  cr_assert_eq(try_open(CUPTI_BETWEEN_AUTO, false, false), PD_OK);
  cr_assert_eq(cupti_collect_between(collect), CUPTI_BETWEEN_DETACH);
  close_collect();
  fake_reset();
  cr_assert_eq(try_open(CUPTI_BETWEEN_AUTO, true, false), PD_OK);
  cr_assert_eq(cupti_collect_between(collect), CUPTI_BETWEEN_DETACH);
  close_collect();
}

PD_TEST(cupti_collect, bears_any_order_of_calls) {
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
