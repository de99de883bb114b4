/* pd_profile_ops of the CUDA device without a device: every reason to do without CUPTI, and what is said then. */
#include "fake_cupti.h"
#include "kept_record.h"
#include "pd_test.h"
#include "devices/cuda/cupti/cupti_profile.h"
#include "test_host.h"

#include <stdio.h>
#include <string.h>

static test_host host;
static kept_record record;
static cuda_profile *profile;
static pd_profile_status status;
static char marks[8];
static char logged[1024]; /* the last warning */
static char told[1024];   /* the last line of information */

static pd_status mark(void *context, uint32_t which) {
  strcat(context, which ? "1" : "0");
  return PD_OK;
}
static pd_status elapsed_ns(void *context, double *ns) {
  strcat(context, "e");
  *ns = 1000.0;
  return PD_OK;
}
PD_PRINTF(3, 4) static void keep_log(const pd_host *at, pd_log_level level, const char *format, ...) {
  va_list args;
  (void)at;
  if (level > PD_LOG_INFO) return;
  va_start(args, format);
  vsnprintf(level == PD_LOG_INFO ? told : logged, sizeof logged, format, args);
  va_end(args);
}

static void open_profile(const char *library, const char *between) {
  test_host_init(&host);
  host.host.log = keep_log;
  kept_record_init(&record);
  const cuda_profile_config config = {
      .host = &host.host,
      .record = &record.table,
      .settings = {.cupti_between = between, .cupti_library = library, .cupti_memory = 64 << 20},
      .events = {.context = marks, .mark = mark, .elapsed_ns = elapsed_ns}};
  cr_assert_eq(cuda_profile_open(&config, &profile), PD_OK);
}
static void attach_with(bool sync) {
  const pd_profile_options options = {.size = sizeof options, .sync = sync};
  cr_assert_eq(cuda_profile_attach(profile, &options), PD_OK);
}
static void attach(void) { attach_with(false); }
static void look(void) {
  status = (pd_profile_status){.size = sizeof status};
  cr_assert_eq(cuda_profile_status(profile, &status), PD_OK);
}
static void window(int launches) {
  cr_assert_eq(cuda_profile_start(profile), PD_OK);
  for (int i = 0; i < launches; i++) fake_launch("_Z1kv");
  fake_finish(0);
  cr_assert_eq(cuda_profile_stop(profile), PD_OK);
  cr_assert_eq(cuda_profile_drain(profile, INT64_C(20000000000)), PD_OK);
}
static void close_profile(void) {
  cr_assert_eq(cuda_profile_detach(profile), PD_OK);
  cuda_profile_close(profile);
  kept_record_free(&record);
}
static void expect_events(const char *word) {
  look();
  cr_assert_eq(status.mode, PD_PROFILE_EVENTS);
  cr_assert_not_null(strstr(status.note, word), "%s", status.note);
  cr_assert_not_null(strstr(logged, word), "%s", logged);
}

PD_TEST(cupti_profile, records_in_full_where_it_can) {
  open_profile(FAKE_CUPTI_PATH, "auto");
  look();
  cr_assert_eq(status.mode, PD_PROFILE_NONE);
  cr_assert_eq(cuda_profile_cupti_version(profile), 0); /* not even loaded */
  attach();
  cr_assert_eq(cuda_profile_cupti_version(profile), 130001);
  for (int i = 0; i < 3; i++) window(10);
  look();
  cr_assert_eq(status.mode, PD_PROFILE_FULL);
  cr_assert_null(status.note);
  cr_assert_eq(status.dropped + status.zero_stamped + status.implausible, 0);
  cr_assert_eq(record.count, 60);
  cr_assert_str_eq(marks, "");
  cr_assert_str_eq(told, "");
  cr_assert_str_eq(logged, "");
  close_profile();
}

PD_TEST(cupti_profile, takes_its_policy_from_the_option) {
  static const struct {
    const char *word;
    uint32_t finalizes;
    bool on;
  } rows[] = {{"keep", 0, true}, {"disable", 0, false}, {"detach", 2, false}, {"auto", 2, false}};
  for (size_t i = 0; i < sizeof rows / sizeof rows[0]; i++) {
    fake_reset();
    open_profile(FAKE_CUPTI_PATH, rows[i].word);
    attach();
    window(1);
    window(1);
    cr_assert_eq(fake_get().finalizes, rows[i].finalizes, "%s", rows[i].word);
    cr_assert_eq(fake_get().kernel_on, rows[i].on, "%s", rows[i].word);
    close_profile();
  }
}

PD_TEST(cupti_profile, records_synchronisations_where_they_are_wanted) {
  for (int sync = 0; sync < 2; sync++) {
    fake_reset();
    open_profile(FAKE_CUPTI_PATH, "disable");
    attach_with(sync);
    cr_assert_eq(cuda_profile_start(profile), PD_OK);
    fake_sync();
    cr_assert_eq(cuda_profile_stop(profile), PD_OK);
    cr_assert_eq(cuda_profile_drain(profile, INT64_C(20000000000)), PD_OK);
    cr_assert_eq(record.count, (uint64_t)sync);
    close_profile();
  }
}

PD_TEST(cupti_profile, takes_no_more_memory_than_its_option_says) {
  enum { MOST = 64 << 20 };
  uint64_t given = 0;
  size_t bytes;
  open_profile(FAKE_CUPTI_PATH, "disable");
  attach();
  for (int i = 0; i < 100; i++) {
    (void)fake_request(&bytes);
    given += bytes;
    look(); /* the decoder is not in the middle of mapping one */
  }
  cr_assert_leq(given, MOST);
  cr_assert_geq(given, MOST - (4 << 20));
  close_profile();
}

PD_TEST(cupti_profile, times_by_events_where_there_is_no_library) {
  open_profile("/nowhere/libcupti.so.13", "auto");
  attach();
  expect_events("/nowhere/libcupti.so.13");
  expect_events("set cupti_library or CUDA_HOME");
  window(3);
  cr_assert_str_eq(marks, "01e");
  cr_assert_str_eq(told, "the window took 0.001 ms of device time, by events");
  cr_assert_eq(record.count, 0); /* no device record is made up */
  look();
  cr_assert_eq(status.mode, PD_PROFILE_EVENTS);
  close_profile();
}

PD_TEST(cupti_profile, touches_no_library_that_is_too_old) {
  fake_set()->version = 26;
  open_profile(FAKE_CUPTI_PATH, "auto");
  attach();
  expect_events("libfake_cupti_whole.so (CUPTI version 26 is too old");
  window(3);
  cr_assert_eq(fake_get().requests, 0); /* so it is never answered with no buffer, which it would not survive */
  cr_assert_eq(fake_get().attaches, 0);
  close_profile();
}

PD_TEST(cupti_profile, goes_on_after_every_refusal) {
  static const struct {
    const char *function;
    int code;
    const char *word;
  } rows[] = {{"cuptiSubscribe", 39, "another profiler"},   {"cuptiSubscribe", 35, "ERR_NVGPUCTRPERM"},
              {"cuptiSubscribe", 36, "interface"},          {"cuptiActivityEnable", 33, "virtual GPU"},
              {"cuptiActivityEnable", 40, "virtual GPU"},   {"cuptiActivityEnable", 41, "confidential"},
              {"cuptiActivityEnable", 42, "mining"},        {"cuptiActivityEnable", 43, "MIG"},
              {"cuptiActivityEnable", 44, "SLI"},           {"cuptiActivityEnable", 45, "WSL"},
              {"cuptiActivityEnable", 27, "not supported"}, {"cuptiActivityRegisterCallbacks", 999, "CODE 999"}};
  for (size_t i = 0; i < sizeof rows / sizeof rows[0]; i++) {
    fake_reset();
    marks[0] = logged[0] = '\0';
    fake_set()->fail_function = rows[i].function;
    fake_set()->fail_code = rows[i].code;
    open_profile(FAKE_CUPTI_PATH, "auto");
    attach();
    window(3);
    expect_events(rows[i].word);
    cr_assert_eq(marks[0], '0');
    cr_assert_eq(record.count, 0);
    marks[0] = '\0';
    window(3);
    cr_assert_str_eq(marks, "01e");
    close_profile();
  }
}

PD_TEST(cupti_profile, names_the_other_tool) {
  fake_set()->other_tool = "CUPTI for nsys";
  open_profile(FAKE_CUPTI_PATH, "auto");
  attach();
  expect_events("CUPTI for nsys");
  close_profile();
}

PD_TEST(cupti_profile, goes_on_when_the_library_gives_up) {
  open_profile(FAKE_CUPTI_PATH, "disable");
  attach();
  window(5);
  cr_assert_eq(cuda_profile_start(profile), PD_OK);
  fake_fatal(999);
  cr_assert_eq(cuda_profile_stop(profile), PD_OK);
  cr_assert_eq(cuda_profile_drain(profile, 0), PD_OK);
  expect_events("gave up");
  window(5);
  cr_assert_str_eq(marks, "01e");
  close_profile();
}

PD_TEST(cupti_profile, keeps_its_counts_after_detaching) {
  open_profile(FAKE_CUPTI_PATH, "disable");
  attach();
  cr_assert_eq(cuda_profile_start(profile), PD_OK);
  fake_finish_at(fake_launch("_Z1kv"), 0, 0);
  fake_finish_at(fake_launch("_Z1kv"), 5, 4);
  fake_set()->dropped = 3;
  cr_assert_eq(cuda_profile_stop(profile), PD_OK);
  cr_assert_eq(cuda_profile_drain(profile, INT64_C(20000000000)), PD_OK);
  for (int i = 0; i < 2; i++) {
    look();
    cr_assert_eq(status.zero_stamped, 1);
    cr_assert_eq(status.implausible, 1);
    cr_assert_eq(status.dropped, 3);
    cr_assert_eq(cuda_profile_detach(profile), PD_OK);
  }
  close_profile();
}

/* A window that is broken off: its kernels come back without an end as CUPTI is given back, and count. */
PD_TEST(cupti_profile, counts_what_it_cut_short) {
  open_profile(FAKE_CUPTI_PATH, "disable");
  attach();
  cr_assert_eq(cuda_profile_start(profile), PD_OK);
  for (int i = 0; i < 3; i++) fake_launch("_Z1kv");
  cr_assert_eq(cuda_profile_detach(profile), PD_OK);
  look();
  cr_assert_eq(status.zero_stamped, 3);
  cr_assert_eq(record.lost[PD_LOSS_ZERO_TIMESTAMP], 3);
  close_profile();
}

PD_TEST(cupti_profile, warns_of_full_buffers) {
  size_t bytes;
  open_profile(FAKE_CUPTI_PATH, "disable");
  attach();
  for (int w = 0; w < 2; w++) {
    logged[0] = '\0';
    cr_assert_eq(cuda_profile_start(profile), PD_OK);
    for (int i = 0; i < 100 && !w; i++) { /* of 64 MiB */
      (void)fake_request(&bytes);
      look();
    }
    const uint32_t refused = fake_get().refused;
    cr_assert_gt(refused, 50);
    cr_assert_eq(cuda_profile_stop(profile), PD_OK);
    cr_assert_eq(cuda_profile_drain(profile, 0), PD_OK);
    if (w) continue;
    char wanted[128];
    snprintf(wanted, sizeof wanted, "CUPTI asked %u times for a buffer beyond cupti_memory", refused);
    cr_assert_not_null(strstr(logged, wanted), "%s", logged);
  }
  cr_assert_null(strstr(logged, "cupti_memory"), "%s", logged); /* the second window asked for none */
  close_profile();
}

PD_TEST(cupti_profile, warns_of_launches_without_a_record) {
  open_profile(FAKE_CUPTI_PATH, "disable");
  attach();
  cr_assert_eq(cuda_profile_start(profile), PD_OK);
  fake_call(false, 211, 0, false); /* a launch whose kernel never comes */
  cr_assert_eq(cuda_profile_stop(profile), PD_OK);
  cr_assert_eq(cuda_profile_drain(profile, 0), PD_OK);
  cr_assert_not_null(strstr(logged, "1 launches have no device record"), "%s", logged);
  close_profile();
}

/* What is missing is named: kernels of a graph whose size is known, and buffers that CUPTI keeps. */
PD_TEST(cupti_profile, says_what_is_missing) {
  open_profile(FAKE_CUPTI_PATH, "keep");
  attach();
  cr_assert_eq(cuda_profile_start(profile), PD_OK);
  fake_graph_launch(5, 10);
  fake_finish(0);
  cr_assert_eq(cuda_profile_stop(profile), PD_OK);
  cr_assert_eq(cuda_profile_drain(profile, INT64_C(20000000000)), PD_OK);
  cr_assert_str_eq(logged, "");
  cr_assert_eq(cuda_profile_start(profile), PD_OK);
  fake_graph_launch(5, 7);
  fake_finish(0);
  cr_assert_eq(cuda_profile_stop(profile), PD_OK);
  cr_assert_eq(cuda_profile_drain(profile, 0), PD_OK);
  cr_assert_str_eq(logged, "after a wait of 0.0 s 3 kernels of graphs have no device record");
  cr_assert_eq(record.lost[PD_LOSS_UNMATCHED_LAUNCH], 3);
  cr_assert_eq(cuda_profile_start(profile), PD_OK);
  fake_launch("_Z1kv"); /* its record is in a buffer with a kernel that runs, and so is the call's */
  cr_assert_eq(cuda_profile_stop(profile), PD_OK);
  cr_assert_eq(cuda_profile_drain(profile, 0), PD_OK);
  cr_assert_str_eq(logged, "after a wait of 0.0 s 1 buffers of records are with CUPTI still");
  fake_finish(0);
  close_profile();
}

static void *launch_beside(void *unused) {
  (void)unused;
  fake_launch("_Z5otherv");
  return NULL;
}

PD_TEST(cupti_profile, warns_of_other_threads_work) {
  pthread_t other;
  open_profile(FAKE_CUPTI_PATH, "disable");
  attach();
  cr_assert_eq(cuda_profile_start(profile), PD_OK);
  cr_assert_eq(pthread_create(&other, NULL, launch_beside, NULL), 0);
  pthread_join(other, NULL);
  cr_assert_eq(cuda_profile_stop(profile), PD_OK);
  cr_assert_eq(cuda_profile_drain(profile, INT64_MAX), PD_OK);
  cr_assert_not_null(strstr(logged, "other threads"), "%s", logged);
  look();
  cr_assert_eq(status.mode, PD_PROFILE_FULL);
  fake_finish(0);
  close_profile();
}

PD_TEST(cupti_profile, warns_of_calls_under_one_id) {
  open_profile(FAKE_CUPTI_PATH, "disable");
  attach();
  cr_assert_eq(cuda_profile_start(profile), PD_OK);
  fake_launch("_Z1kv");
  fake_stick();
  for (int i = 0; i < 3; i++) fake_launch("_Z1kv");
  fake_finish(0);
  cr_assert_eq(cuda_profile_stop(profile), PD_OK);
  cr_assert_eq(cuda_profile_drain(profile, INT64_MAX), PD_OK);
  cr_assert_not_null(strstr(logged, "3 calls of another thread one id"), "%s", logged);
  close_profile();
}

PD_TEST(cupti_profile, warns_of_graphs_without_kernels) {
  open_profile(FAKE_CUPTI_PATH, "disable");
  attach();
  cr_assert_eq(cuda_profile_start(profile), PD_OK);
  fake_call(false, 311, 0, false);
  cr_assert_eq(cuda_profile_stop(profile), PD_OK);
  cr_assert_eq(cuda_profile_drain(profile, 0), PD_OK);
  cr_assert_not_null(strstr(logged, "graphs were launched and none"), "%s", logged);
  close_profile();
}

PD_TEST(cupti_profile, bears_closing_at_any_time) {
  for (int stage = 0; stage < 5; stage++) {
    fake_reset();
    open_profile(FAKE_CUPTI_PATH, "auto");
    if (stage > 0) attach();
    if (stage > 1) cr_assert_eq(cuda_profile_start(profile), PD_OK);
    if (stage > 2) cr_assert_eq(cuda_profile_stop(profile), PD_OK);
    if (stage > 3) cr_assert_eq(cuda_profile_drain(profile, 0), PD_OK);
    cuda_profile_close(profile);
    kept_record_free(&record);
  }
  cuda_profile_close(NULL);
}
