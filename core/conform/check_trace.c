/* Traces for the checks of sinks; see check_trace.h. */
#include "check_trace.h"

#include <math.h>
#include <string.h>
#include <time.h>
#include <unistd.h>

const pd_device_props *check_device_props(void) {
  static const pd_device_props props = {.size = sizeof props,
                                        .name = "a \"device\"",
                                        .versions = "none, made for a check",
                                        .total_bytes = UINT64_C(1) << 34,
                                        .warp_size = 32,
                                        .sm_count = 4,
                                        .max_threads_per_block = 1024,
                                        .max_threads_per_sm = 2048,
                                        .registers_per_sm = 65536,
                                        .shared_per_sm = 65536,
                                        .max_blocks_per_sm = 32};
  return &props;
}

const pd_run *check_run(void) {
  static const pd_setting settings[] = {{"run", "scenario", "check", "default", 1, 0},
                                        {"data", "batch_size", "2", "a \"file\".ini:3", 0, 0}};
  static const pd_run run = {.size = sizeof run,
                             .pid = 4242,
                             .start_realtime_ns = INT64_C(1700000000000000000),
                             .scenario = "check",
                             .scenario_version = "1.0",
                             .bottleneck = "none",
                             .device_name = "check",
                             .pdhost_version = "1.0.0",
                             .command_line = "pdhost --check-plugin 'a b'",
                             .trace_dir = ".",
                             .worker = "host_4242",
                             .host_name = "host",
                             .settings = {settings, 2, sizeof settings[0]},
                             .batch_size = 2,
                             .num_workers = 1,
                             .image_size = 4,
                             .sync_timing = 1,
                             .total_steps = 3,
                             .wait = 1,
                             .warmup = 1,
                             .active = 1,
                             .repeat = 1,
                             .record_shapes = 1,
                             .profile_memory = 1};
  static pd_run whole;
  whole = run;
  whole.device = check_device_props();
  return &whole;
}

const pd_step_stats *check_step_stats(void) {
  static const pd_step_stats stats = {.size = sizeof stats,
                                      .phase = PD_PHASE_ACTIVE,
                                      .index = 2,
                                      .data_wait_ns = 1000000,
                                      .step_time_ns = 2000000,
                                      .batch_cost_ns = 3000000,
                                      .loss = 6.9,
                                      .loss_scale = 1,
                                      .allocated_bytes = 1 << 20,
                                      .reserved_bytes = 1 << 21,
                                      .end_realtime_ns = INT64_C(1700000001000000000)};
  return &stats;
}

const pd_summary *check_summary(void) {
  static double losses[2];
  static pd_step_stats steps[2];
  static pd_summary summary;
  losses[0] = 6.9;
  losses[1] = NAN; /* a loss that was not read */
  steps[0] = *check_step_stats();
  steps[1] = *check_step_stats();
  steps[1].loss = NAN;
  const pd_spread spread = {2, 0.002, 0.002, 0.001, 0.003, 0.001, 0.003};
  summary = (pd_summary){.size = sizeof summary,
                         .steps = 2,
                         .windows = 1,
                         .avg_step_time_s = 0.002,
                         .avg_dataloader_wait_s = 0.001,
                         .step_time_s = spread,
                         .data_wait_s = spread,
                         .batch_cost_s = spread,
                         .steps_per_s = 300,
                         .samples_per_s = 600,
                         .first_batch_s = 0.01,
                         .losses = {losses, 2, sizeof losses[0]},
                         .steps_all = {steps, 2, sizeof steps[0]},
                         .coverage = 1,
                         .profile = PD_PROFILE_FULL,
                         .sync_note = "synchronised before and after each step"};
  return &summary;
}

/* ---- traces ---- */

/* A bad byte, a lone surrogate, an overlong form and a cut sequence are all broken UTF-8. */
static const char *const odd_names[] = {"\"quoted\" \\ back\\slash",
                                        "new\nline\r\ttab",
                                        "\x01\x1f\x7f control",
                                        "f\xc3\xbcr \xe6\xbc\xa2\xe5\xad\x97 \xf0\x9f\x9a\x80",
                                        "broken \xff \xed\xa0\x80 \xc0\xaf \xe2\x82",
                                        "comma, semicolon; =formula",
                                        "</script><b>&amp;",
                                        "",
                                        "%s%n%d"};

static void record_range(const pd_record *record, const char *name, pd_range_kind kind, const pd_range_info *info) {
  record->begin(record, record->intern(record, name), kind, info);
  record->end(record);
}

/* One launch with its kernel, and one copy, all at `at` nanoseconds of real time. */
static void record_device(const pd_record *record, const char *kernel, int64_t at, uint64_t correlation) {
  const uint32_t thread = (uint32_t)gettid();
  const uint32_t launch = record->intern(record, "launch");
  const pd_activity rows[] = {
      {.kind = PD_ACTIVITY_RUNTIME,
       .name = launch,
       .start = at,
       .end = at + 10,
       .correlation = correlation,
       .thread = thread,
       .u.api = {.api = PD_API_LAUNCH}},
      {.kind = PD_ACTIVITY_KERNEL,
       .name = record->intern(record, kernel),
       .start = at + 20,
       .end = at + 400,
       .correlation = correlation,
       .stream = 7,
       .u.kernel = {.grid = {1, 2, 3}, .block = {32, 1, 1}, .occupancy = -1, .waves = -1}},
      {.kind = PD_ACTIVITY_RUNTIME,
       .name = launch,
       .start = at + 500,
       .end = at + 510,
       .correlation = correlation + 1,
       .thread = thread,
       .u.api = {.api = PD_API_MEMCPY}},
      {.kind = PD_ACTIVITY_MEMCPY,
       .start = at + 520,
       .end = at + 600,
       .correlation = correlation + 1,
       .stream = 7,
       .bytes = 4096,
       .u.copy = {.from = PD_MEMORY_PAGEABLE, .to = PD_MEMORY_DEVICE}},
  };
  record->activities(record, PD_CLOCK_REALTIME, rows, sizeof rows / sizeof rows[0]);
}

static void record_plain(const pd_record *record, uint64_t correlation) {
  const pd_shape shape = {.rank = 2, .dtype = PD_F32, .dims = {8, 0}};
  const pd_range_info info = {
      .size = sizeof info, .part = PD_PART_FORWARD, .flops = 1000, .shape_count = 1, .shapes = &shape};
  record_range(record, "aten::mm", PD_RANGE_OP, &info);
  record_range(record, "train_step", PD_RANGE_USER, NULL);
  const pd_memory_event event = {.address = 4096,
                                 .bytes = 4096,
                                 .total_allocated = 4096,
                                 .total_reserved = 8192,
                                 .device_type = 1,
                                 .allocator = PD_ALLOCATOR_POOL};
  record->memory(record, &event);
  record->counter(record, record->intern(record, "queue"), 1.5);
  record_device(record, "kernel<float>(float*)", record->now_ns(record), correlation);
}

static void record_names(const pd_record *record, uint64_t correlation) {
  static char long_name[10241];
  memset(long_name, 'n', sizeof long_name - 1);
  for (size_t i = 0; i < sizeof odd_names / sizeof odd_names[0]; i++) {
    record_range(record, odd_names[i], PD_RANGE_OP, NULL);
    record_range(record, odd_names[i], PD_RANGE_USER, NULL);
    record_device(record, odd_names[i], record->now_ns(record), correlation + 2 * i);
    record->counter(record, record->intern(record, odd_names[i]), i % 2 ? NAN : INFINITY);
  }
  record_range(record, long_name, PD_RANGE_OP, NULL);
  record_device(record, long_name, record->now_ns(record), correlation + 100);
  record->name_thread(record, odd_names[0]);
}

pd_status check_trace_make(recorder *from, check_trace_kind kind, uint32_t window, pd_trace **out) {
  static uint64_t correlation = 1;
  const pd_record *record = recorder_table(from);
  const double losses[1] = {6.9};
  recorder_enable(from, true);
  pd_status status = recorder_window_begin(from, window);
  if (status != PD_OK) return status;
  const uint64_t start = record->ticks(record);
  if (kind != CHECK_TRACE_EMPTY) record_plain(record, correlation);
  if (kind == CHECK_TRACE_NAMES) record_names(record, correlation + 10);
  for (pd_loss loss = 0; kind == CHECK_TRACE_LOSSES && loss < PD_LOSS_COUNT; loss++)
    record->lost(record, loss, 17 + loss);
  correlation += 1000;
  const struct timespec pause = {.tv_nsec = 1000000}; /* so that the step holds the device records above */
  nanosleep(&pause, NULL);
  const uint64_t end = record->ticks(record);
  const recorder_step step = {.number = 2,
                              .start_ticks = start,
                              .end_ticks = end,
                              .train_start_ticks = start,
                              .train_end_ticks = end,
                              .data_wait_ns = 1000,
                              .step_time_ns = 1000000};
  status = recorder_step_done(from, &step);
  recorder_enable(from, false);
  const recorder_window about = {.profile = PD_PROFILE_FULL,
                                 .sync_timing = true,
                                 .device = check_device_props(),
                                 .losses = kind == CHECK_TRACE_LOSSES ? NULL : losses};
  return status == PD_OK ? recorder_window_end(from, &about, out) : status;
}
