/* The tensorboard sink, loaded as the host loads it; its file is read by a decoder of our own. */
#include "tensorboard_reader.h"

#include "fake_trace.h"
#include "sink_run.h"

#include "histogram.h"

#include <math.h>
#include <signal.h>
#include <stdlib.h>
#include <sys/resource.h>
#include <unistd.h>

/* ---- writing ---- */

static char folder[64];

static void make_folder(void) {
  snprintf(folder, sizeof folder, "/tmp/pdhost_tensorboard_XXXXXX");
  cr_assert_not_null(mkdtemp(folder));
}

static void remove_folder(void) {
  char command[128];
  snprintf(command, sizeof command, "rm -rf '%s'", folder);
  cr_assert_eq(system(command), 0);
}

static void start(sink_run *run, const char *where, const pd_run *header) {
  static char setting[128];
  snprintf(setting, sizeof setting, "logdir=%s", where);
  cr_assert(sink_run_load(run, SINK_PATH, (const char *[]){setting, NULL}), "%s", run->error);
  cr_assert_eq(sink_run_open(run, header), PD_OK, "%s", run->host.message);
}

static void send_window(sink_run *run, pd_status expected) {
  fake_trace *fake = fake_trace_open();
  cr_assert_not_null(fake);
  fake_trace_training(fake, 2, 3);
  cr_assert_eq(sink_run_trace(run, fake_trace_finish(fake)), expected, "%s", run->host.message);
  fake_trace_close(fake);
}

/* Three steps of 10 ms, of which the device is busy for 5, 2 and an unknown time. */
static const pd_table_set *fake_tables(const pd_analysis *analysis, const pd_trace *trace,
                                       const pd_table_request *request) {
  static const pd_metric span = {.key = "step_span", .heading = "Span", .unit = PD_UNIT_NS};
  static const pd_metric busy = {.key = "device_busy", .heading = "GPU busy", .unit = PD_UNIT_NS};
  static const pd_metric launches = {.key = "launches", .heading = "Launches", .unit = PD_UNIT_COUNT};
  static const pd_metric *const columns[] = {&span, &busy, &launches};
  static const pd_cell cells[][3] = {{{.v.i = 10000000}, {.v.i = 5000000}, {.v.i = 7}},
                                     {{.v.i = 10000000}, {.v.i = 2000000}, {.v.i = 8}},
                                     {{.v.i = 10000000}, {.missing = 1}, {.missing = 1}}};
  static const pd_table_row rows[] = {{cells[0], 0, 0}, {cells[1], 0, 0}, {cells[2], 0, 0}};
  static const pd_table table = {.size = sizeof table,
                                 .column_count = 3,
                                 .id = "active_steps",
                                 .title = "Active steps",
                                 .columns = columns,
                                 .rows = {rows, 3, sizeof *rows}};
  static const pd_table *const tables[] = {&table};
  static const pd_table_set set = {.size = sizeof set, .count = 1, .tables = tables};
  (void)analysis;
  (void)trace;
  (void)request;
  return &set;
}

static const pd_table_set *fake_run_tables(const pd_analysis *analysis, const pd_run *run, const pd_summary *summary) {
  static const pd_metric average = {.key = "avg", .heading = "avg", .unit = PD_UNIT_NONE};
  static const pd_metric *const columns[] = {&average};
  static const pd_cell cells[] = {{.v.d = 412.5, .is_double = 1}};
  static const pd_table_row rows[] = {{cells, 0, 0}};
  static const pd_table table = {.size = sizeof table,
                                 .column_count = 1,
                                 .id = "perf_summary",
                                 .title = "Perf Summary",
                                 .columns = columns,
                                 .rows = {rows, 1, sizeof *rows}};
  static const pd_table *const tables[] = {&table};
  static const pd_table_set set = {.size = sizeof set, .count = 1, .tables = tables};
  (void)analysis;
  (void)run;
  (void)summary;
  return &set;
}

static void write_whole_run(void) {
  static const pd_analysis analysis = {.size = sizeof analysis, .tables = fake_tables, .run_tables = fake_run_tables};
  sink_run run;
  start(&run, folder, fake_run(folder));
  test_host_add(&run.host, PD_EXT_ANALYSIS, &analysis);
  cr_assert_eq(sink_run_steps(&run), PD_OK);
  send_window(&run, PD_OK);
  cr_assert_eq(sink_run_close(&run, fake_summary()), PD_OK);
  sink_run_unload(&run);
}

/* ---- tests ---- */

PD_TEST(sink_tensorboard, the_first_record_is_the_known_one) {
  static const unsigned char known[] = {0x18, 0,    0,    0,    0,    0,    0,    0,    0xa3, 0x7f,
                                        0x4b, 0x22, 0x09, 0,    0,    0x90, 0xd0, 0x93, 0xaf, 0xda,
                                        0x41, 0x1a, 0x0d, 0x62, 0x72, 0x61, 0x69, 0x6e, 0x2e, 0x45,
                                        0x76, 0x65, 0x6e, 0x74, 0x3a, 0x32, 0xe6, 0xa1, 0xba, 0x57};
  event_file file;
  make_folder();
  write_whole_run();
  read_folder(&file, folder, ".0");
  cr_assert_str_eq(file.path + strlen(folder), "/events.out.tfevents.1790857026.fakehost.4242.0");
  cr_assert_gt(file.bytes, sizeof known);
  cr_assert_eq(memcmp(file.data, known, sizeof known), 0);
  free(file.data);
  remove_folder();
}

PD_TEST(sink_tensorboard, scalars_are_those_of_the_steps) {
  event_file file;
  make_folder();
  write_whole_run();
  read_folder(&file, folder, ".0");
  cr_assert_eq(count_tag(&file, "time/step_time_s"), FAKE_STEP_COUNT);
  cr_assert_eq(count_tag(&file, "train/loss"), FAKE_STEP_COUNT - 1, "a loss that was not read is left out");
  for (uint32_t i = 0; i < FAKE_STEP_COUNT; i++) {
    const pd_step_stats *stats = fake_step_stats(i);
    const tb_event step_time = find_event(&file, "time/step_time_s", i);
    cr_assert(step_time.has_scalar);
    cr_assert_float_eq(step_time.scalar, (float)stats->step_time_ns / 1e9f, 1e-9f);
    cr_assert_float_eq(step_time.wall_time, (double)stats->end_realtime_ns / 1e9, 1e-6);
    cr_assert_float_eq(find_event(&file, "throughput/samples_per_s", i).scalar, 400.0f, 1e-3f);
    if (!isnan(stats->loss)) cr_assert_eq(find_event(&file, "train/loss", i).scalar, (float)stats->loss);
  }
  /* As the analysis has them: where it has no figure there is none. */
  cr_assert_eq(count_tag(&file, "device/launches"), 2);
  cr_assert_eq(find_event(&file, "device/launches", 2).scalar, 7.0f);
  cr_assert_eq(count_tag(&file, "device/busy_share"), 2);
  cr_assert_float_eq(find_event(&file, "device/busy_share", 2).scalar, 0.5f, 1e-6f);
  cr_assert_float_eq(find_event(&file, "device/busy_share", 3).scalar, 0.2f, 1e-6f);
  cr_assert_float_eq(find_event(&file, "summary/avg_dataloader_wait_s", FAKE_STEP_COUNT).scalar, 0.002f, 1e-9f);
  free(file.data);
  remove_folder();
}

PD_TEST(sink_tensorboard, plugins_get_their_data) {
  event_file file;
  make_folder();
  write_whole_run();
  read_folder(&file, folder, ".0");
  const tb_event session = find_event(&file, "_hparams_/session_start_info", 0);
  cr_assert_str_eq(session.plugin, "hparams");
  cr_assert_not_null(memmem(session.content, session.content_bytes, "data.num_workers", 16), "shown though a default");
  cr_assert_not_null(memmem(session.content, session.content_bytes, "data.io_sleep_ms", 16), "shown: not a default");
  const tb_event experiment = find_event(&file, "_hparams_/experiment", 0);
  cr_assert_str_eq(experiment.plugin, "hparams");
  /* Field 4 is a key: its name, its type and whether it is varied; field 5 a figure. */
  static const char workers[] = "\x22\x14\x0a\x10"
                                "data.num_workers"
                                "\x20\x03";
  static const char scenario[] = "\x22\x12\x0a\x0c"
                                 "run.scenario"
                                 "\x20\x01\x38\x01";
  static const char rate[] = "\x2a\x19\x0a\x17\x12\x15"
                             "summary/samples_per_s";
  cr_assert_not_null(memmem(experiment.content, experiment.content_bytes, workers, sizeof workers - 1));
  cr_assert_not_null(memmem(experiment.content, experiment.content_bytes, scenario, sizeof scenario - 1));
  cr_assert_not_null(memmem(experiment.content, experiment.content_bytes, rate, sizeof rate - 1));
  static const unsigned char success[] = {0x22, 0x0b, 0x08, 0x01};
  const tb_event end = find_event(&file, "_hparams_/session_end_info", FAKE_STEP_COUNT);
  cr_assert_eq(memcmp(end.content, success, sizeof success), 0);
  cr_assert_str_eq(find_event(&file, "custom_scalars__config__", 0).plugin, "custom_scalars");
  const tb_event text = find_event(&file, "run/quick_stats", FAKE_STEP_COUNT);
  cr_assert_str_eq(text.plugin, "text");
  cr_assert_not_null(memmem(text.content, text.content_bytes, "| samples per second | 400.000 |", 32));
  const tb_event table = find_event(&file, "tables/perf_summary", FAKE_STEP_COUNT);
  cr_assert_not_null(memmem(table.content, table.content_bytes, "| 412.5 |", 9));
  const tb_event histogram = find_event(&file, "histograms/kernel_duration_us", 4);
  cr_assert_str_eq(histogram.plugin, "histograms");
  cr_assert_eq(histogram.content_bytes, 30 * 3 * sizeof(double));
  double kernels = 0;
  for (size_t i = 0; i < 30; i++) {
    double count;
    memcpy(&count, histogram.content + (3 * i + 2) * sizeof count, sizeof count);
    kernels += count;
  }
  cr_assert_eq(kernels, 12);
  free(file.data);
  remove_folder();
}

PD_TEST(sink_tensorboard, a_run_that_is_killed_leaves_whole_records) {
  event_file file;
  sink_run run;
  make_folder();
  start(&run, folder, fake_run(folder));
  cr_assert_eq(sink_run_steps(&run), PD_OK);
  send_window(&run, PD_OK);
  read_folder(&file, folder, ".0"); /* as it lies there, with the sink still open */
  cr_assert_eq(count_tag(&file, "time/step_time_s"), FAKE_STEP_COUNT);
  cr_assert_eq(count_tag(&file, "histograms/step_time_us"), 1);
  free(file.data);
  cr_assert_eq(sink_run_close(&run, NULL), PD_OK);
  sink_run_unload(&run);
  remove_folder();
}

PD_TEST(sink_tensorboard, no_file_is_overwritten) {
  event_file first, second;
  make_folder();
  write_whole_run();
  write_whole_run();
  read_folder(&first, folder, ".0");
  read_folder(&second, folder, ".1");
  cr_assert_eq(count_tag(&first, "train/loss"), FAKE_STEP_COUNT - 1);
  cr_assert_eq(count_tag(&second, "train/loss"), FAKE_STEP_COUNT - 1);
  free(first.data);
  free(second.data);
  remove_folder();
}

PD_TEST(sink_tensorboard, a_full_disk_is_an_error_and_cuts_no_record) {
  event_file file;
  sink_run run;
  tb_event event;
  size_t events = 0;
  make_folder();
  start(&run, folder, fake_run(folder));
  const struct rlimit limit = {2500, 2500};
  signal(SIGXFSZ, SIG_IGN);
  cr_assert_eq(setrlimit(RLIMIT_FSIZE, &limit), 0);
  cr_assert_eq(sink_run_steps(&run), PD_OK);
  send_window(&run, PD_IO);
  cr_assert_not_null(strstr(run.host.message, "cannot be written: File too large; it keeps the records before"), "%s",
                     run.host.message);
  cr_assert_not_null(strstr(run.host.message, "events.out.tfevents"));
  cr_assert_eq(sink_run_close(&run, NULL), PD_OK);
  read_folder(&file, folder, ".0");
  while (next_event(&file, &event)) events++;
  cr_assert(!file.broken);
  cr_assert_eq(events, 5, "version, experiment, session, layout, configuration: what was flushed before");
  free(file.data);
  sink_run_unload(&run);
  remove_folder();
}

PD_TEST(sink_tensorboard, a_disk_that_is_full_from_the_start_gets_no_file) {
  sink_run run;
  char option[128];
  make_folder();
  snprintf(option, sizeof option, "logdir=%s", folder);
  const struct rlimit limit = {0, 0};
  signal(SIGXFSZ, SIG_IGN);
  cr_assert(sink_run_load(&run, SINK_PATH, (const char *[]){option, NULL}));
  cr_assert_eq(setrlimit(RLIMIT_FSIZE, &limit), 0);
  cr_assert_eq(sink_run_open(&run, fake_run("traces")), PD_IO);
  const size_t length = strlen(run.host.message), end = strlen("cannot be written: File too large");
  cr_assert(length > end && strcmp(run.host.message + length - end, "cannot be written: File too large") == 0, "%s",
            run.host.message);
  cr_assert_eq(rmdir(folder), 0, "a file is left");
  sink_run_unload(&run);
}

PD_TEST(sink_tensorboard, a_folder_that_cannot_be_is_named) {
  sink_run run;
  cr_assert(sink_run_load(&run, SINK_PATH, (const char *[]){"logdir=/dev/null/logs", NULL}));
  cr_assert_eq(sink_run_open(&run, fake_run("traces")), PD_IO);
  cr_assert_str_eq(run.host.message, "/dev/null/logs: folder cannot be made: Not a directory");
  cr_assert_null(run.state);
  sink_run_unload(&run);
}

PD_TEST(sink_tensorboard, hostile_settings_stay_text) {
  const pd_setting settings[] = {{"a", "b", "\xff|\n`x`[<&", "o|", 0, 0}, {"a", "nan", "nan", "o", 0, 0}};
  pd_run header = *fake_run("traces");
  event_file file;
  sink_run run;
  make_folder();
  header.settings = (pd_array){settings, 2, sizeof *settings};
  start(&run, folder, &header);
  cr_assert_eq(sink_run_close(&run, fake_summary()), PD_OK);
  read_folder(&file, folder, ".0");
  const tb_event text = find_event(&file, "run/configuration", 0);
  static const char shown[] = "\xef\xbf\xbd\\| \\`x\\`\\[&lt;&amp; | o\\| |";
  cr_assert_not_null(memmem(text.content, text.content_bytes, shown, sizeof shown - 1));
  const tb_event session = find_event(&file, "_hparams_/session_start_info", 0);
  cr_assert_not_null(memmem(session.content, session.content_bytes, "\x1a\x0b\xef\xbf\xbd|\n`x`[<&", 13));
  free(file.data);
  sink_run_unload(&run);
  remove_folder();
}

PD_TEST(sink_tensorboard, an_empty_window_adds_nothing) {
  event_file file;
  sink_run run;
  fake_trace *fake = fake_trace_open();
  make_folder();
  start(&run, folder, fake_run(folder));
  cr_assert_eq(sink_run_trace(&run, fake_trace_finish(fake)), PD_OK);
  cr_assert_eq(sink_run_close(&run, fake_summary()), PD_OK);
  read_folder(&file, folder, ".0");
  cr_assert_eq(count_tag(&file, "histograms/kernel_duration_us"), 0);
  cr_assert_eq(count_tag(&file, "run/quick_stats"), 1);
  free(file.data);
  sink_run_unload(&run);
  fake_trace_close(fake);
  remove_folder();
}

PD_TEST(sink_tensorboard, a_run_without_device_records_claims_no_coverage) {
  event_file file;
  sink_run run;
  pd_summary summary = *fake_summary();
  summary.profile = PD_PROFILE_EVENTS;
  summary.coverage = (double)NAN;
  make_folder();
  start(&run, folder, fake_run(folder));
  cr_assert_eq(sink_run_close(&run, &summary), PD_OK);
  read_folder(&file, folder, ".0");
  cr_assert_eq(count_tag(&file, "summary/coverage"), 0);
  cr_assert_eq(count_tag(&file, "summary/samples_per_s"), 1);
  const tb_event text = find_event(&file, "run/quick_stats", FAKE_STEP_COUNT);
  cr_assert_not_null(memmem(text.content, text.content_bytes, "| launches with their device record | n/a |", 43));
  free(file.data);
  sink_run_unload(&run);
  remove_folder();
}

PD_TEST(histogram, every_value_is_counted_once) {
  double rows[HISTOGRAM_BUCKETS * 3];
  const double even[] = {0, 1, 2, 3, 29, 30}, wide[] = {1, 2, 10, 1000, 1e6}, same[] = {5, 5, 5};
  cr_assert_eq(histogram_fill(even, 0, rows), 0);
  cr_assert_eq(histogram_fill(same, 3, rows), 1);
  cr_assert_eq(rows[0], 4.5);
  cr_assert_eq(rows[1], 5.5);
  cr_assert_eq(rows[2], 3);
  cr_assert_eq(histogram_fill(even, 6, rows), 30);
  for (int i = 0; i < 4; i++) cr_assert_eq(rows[3 * i + 2], 1);
  cr_assert_eq(rows[3 * 29 + 2], 2, "the last bucket holds its right end");
  cr_assert_eq(rows[3 * 29 + 1], 30);
  cr_assert_eq(histogram_fill(wide, 5, rows), 30);
  double sum = 0;
  for (int i = 0; i < 30; i++) {
    sum += rows[3 * i + 2];
    if (i) cr_assert_float_eq(rows[3 * i] / rows[3 * i - 3], pow(1e6, 1.0 / 30), 1e-9);
  }
  cr_assert_eq(sum, 5);
}
