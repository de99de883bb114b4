/* The csv sink, loaded as the host loads it. */
#include "pd_test.h"

#include "fake_trace.h"
#include "golden.h"
#include "sink_run.h"
#include "sink_tables.h"

#include <stdlib.h>
#include <sys/stat.h>
#include <unistd.h>

static const pd_table_set *fake_tables(const pd_analysis *analysis, const pd_trace *trace,
                                       const pd_table_request *request) {
  (void)analysis;
  (void)trace;
  (void)request;
  return two_rows("a \"b\", c", "two\nlines");
}

static const pd_table_set *fake_run_tables(const pd_analysis *analysis, const pd_run *run, const pd_summary *summary) {
  cr_assert(run->size && summary->size);
  (void)analysis;
  return one_average();
}

static void start(sink_run *run, const char *const *settings, uint64_t repeat) {
  static const pd_analysis analysis = {.size = sizeof analysis, .tables = fake_tables, .run_tables = fake_run_tables};
  static pd_run header;
  header = *fake_run("traces");
  header.repeat = repeat;
  cr_assert(sink_run_load(run, SINK_PATH, settings), "%s", run->error);
  test_host_add(&run->host, PD_EXT_ANALYSIS, &analysis);
  cr_assert_eq(sink_run_open(run, &header), PD_OK);
}

static void send_window(sink_run *run, uint32_t window, pd_status expected) {
  fake_trace *fake = fake_trace_open();
  cr_assert_not_null(fake);
  fake_trace_training(fake, 2, 2);
  pd_trace *trace = fake_trace_finish(fake);
  cr_assert_not_null(trace);
  trace->window = window;
  trace->losses[PD_LOSS_RECORDS_DROPPED] = 3;
  const pd_loss_row lost[] = {{1000, 2000, 2, PD_LOSS_RECORDS_DROPPED, 0},
                              {3000, 3000, 1, PD_LOSS_RECORDS_DROPPED, PD_NONE}};
  trace->loss_rows = (pd_array){lost, 2, sizeof *lost};
  cr_assert_eq(sink_run_trace(run, trace), expected, "%s", run->host.message);
  fake_trace_close(fake);
}

static void expect_golden(const sink_run *run, const char *path, const char *golden) {
  const memory_file *file = sink_run_file(run, path);
  cr_assert_not_null(file, "%s was not written", path);
  cr_assert(file->announced);
  cr_assert(golden_equal(golden, file->data, file->bytes), "%s", path);
}

PD_TEST(sink_csv, tables_are_rfc_4180) {
  sink_run run;
  start(&run, NULL, 1);
  send_window(&run, 0, PD_OK);
  cr_assert_eq(sink_run_close(&run, fake_summary()), PD_OK);
  const memory_file *file = sink_run_file(&run, "traces/csv/operators.csv");
  cr_assert_not_null(file);
  cr_assert_str_eq(file->data, "name,cpu_time_total,cpu_percent,level,row_kind\r\n"
                               "\"a \"\"b\"\", c\",1500,37.5,0,row\r\n"
                               "\"two\nlines\",,,1,row\r\n"
                               "total,1500,,0,footer\r\n");
  file = sink_run_file(&run, "traces/csv/perf_summary.csv");
  cr_assert_not_null(file);
  cr_assert_str_eq(file->data, "name,avg,level,row_kind\r\nips,400,0,row\r\n");
  sink_run_unload(&run);
}

PD_TEST(sink_csv, events_and_steps_are_as_in_the_tree) {
  static const char *const names[] = {"ranges",   "calls", "kernels", "copies",     "others",  "memory", "annotations",
                                      "counters", "lost",  "stacks",  "lost_spans", "threads", "streams"};
  sink_run run;
  start(&run, NULL, 1);
  send_window(&run, 0, PD_OK);
  cr_assert_eq(sink_run_close(&run, fake_summary()), PD_OK);
  for (size_t i = 0; i < sizeof names / sizeof *names; i++) {
    char path[256], golden[512];
    snprintf(path, sizeof path, "traces/csv/events/%s.csv", names[i]);
    snprintf(golden, sizeof golden, GOLDEN_DIR "/events_%s.csv", names[i]);
    expect_golden(&run, path, golden);
  }
  expect_golden(&run, "traces/csv/steps.csv", GOLDEN_DIR "/steps.csv");
  cr_assert_eq(run.count, 18, "thirteen kinds of events, a table, the steps, the run's table, its outcome, the list");
  sink_run_unload(&run);
}

PD_TEST(sink_csv, windows_do_not_overwrite_each_other) {
  sink_run run;
  start(&run, (const char *[]){"dir=out", NULL}, 2);
  send_window(&run, 0, PD_OK);
  send_window(&run, 1, PD_OK);
  cr_assert_eq(sink_run_close(&run, fake_summary()), PD_OK);
  cr_assert_not_null(sink_run_file(&run, "out/operators.0.csv"));
  cr_assert_not_null(sink_run_file(&run, "out/operators.1.csv"));
  cr_assert_not_null(sink_run_file(&run, "out/events/kernels.1.csv"));
  cr_assert_not_null(sink_run_file(&run, "out/steps.csv"));
  for (uint32_t i = 0; i < run.count; i++)
    for (uint32_t k = 0; k < i; k++) cr_assert_str_neq(run.all[i]->path, run.all[k]->path);
  sink_run_unload(&run);
}

static void put_file(const char *folder, const char *name, const char *text) {
  char path[256];
  snprintf(path, sizeof path, "%s/%s", folder, name);
  FILE *file = fopen(path, "w");
  cr_assert_not_null(file);
  fputs(text, file);
  fclose(file);
}

static void expect_text(const char *folder, const char *name, const char *text) {
  char path[256], found[4096] = "";
  snprintf(path, sizeof path, "%s/%s", folder, name);
  FILE *file = fopen(path, "r");
  cr_assert_not_null(file, "%s was removed", name);
  found[fread(found, 1, sizeof found - 1, file)] = '\0';
  fclose(file);
  cr_assert_str_eq(found, text, "%s", name);
}

static void remove_file(const char *folder, const char *name) {
  char path[256];
  snprintf(path, sizeof path, "%s/%s", folder, name);
  unlink(path);
}

/* The folder is the user's: what lies there stays, whatever its name and first line are. */
PD_TEST(sink_csv, files_of_others_stay) {
  static const char *const names[] = {"partial.csv",     "operators.csv",         "operators.2.csv",
                                      "old_table.csv",   "old_table.0.csv",       "mine.csv",
                                      "operators.txt",   "operators.csv.partial", "events/kernels.csv",
                                      "events/mine.csv", "events/kernels.7.csv",  "operators.0.csv.1-2.partial"};
  static const char *const texts[] = {"", "name,calls,level,row_kind\r\n", "outcome,reason,steps,windows\r\n"};
  for (size_t t = 0; t < sizeof texts / sizeof *texts; t++)
    for (uint32_t fails = 0; fails < 2; fails++) {
      char folder[] = "/tmp/pdhost_csv_XXXXXX", setting[64], path[256];
      sink_run run;
      cr_assert_not_null(mkdtemp(folder));
      snprintf(path, sizeof path, "%s/events", folder);
      cr_assert_eq(mkdir(path, 0700), 0);
      for (size_t i = 0; i < sizeof names / sizeof *names; i++) put_file(folder, names[i], texts[t]);
      snprintf(setting, sizeof setting, "dir=%s", folder);
      start(&run, (const char *[]){setting, NULL}, 2);
      for (uint32_t w = 0; w < 2; w++) send_window(&run, w, PD_OK);
      cr_assert_eq(sink_run_close(&run, fails ? NULL : fake_summary()), PD_OK);
      for (size_t i = 0; i < sizeof names / sizeof *names; i++) {
        expect_text(folder, names[i], texts[t]);
        remove_file(folder, names[i]);
      }
      cr_assert_eq(rmdir(path), 0);
      cr_assert_eq(rmdir(folder), 0);
      sink_run_unload(&run);
    }
}

/* files.csv says which files are this run's; run.csv says how the run ended. */
PD_TEST(sink_csv, a_list_names_the_files_of_the_run) {
  sink_run run;
  start(&run, (const char *[]){"dir=out", "events=false", NULL}, 2);
  for (uint32_t w = 0; w < 2; w++) send_window(&run, w, PD_OK);
  cr_assert_eq(sink_run_close(&run, fake_summary()), PD_OK);
  const memory_file *file = sink_run_file(&run, "out/files.csv");
  cr_assert_not_null(file);
  cr_assert_str_eq(file->data, "file,bytes\r\noperators.0.csv,\r\nevents/lost.0.csv,\r\noperators.1.csv,\r\n"
                               "events/lost.1.csv,\r\nsteps.csv,\r\nperf_summary.csv,\r\nrun.csv,\r\n");
  cr_assert_str_eq(run.all[run.count - 1]->path, "out/files.csv", "it gets its name last");
  cr_assert(run.all[run.count - 1]->announced);
  file = sink_run_file(&run, "out/run.csv");
  cr_assert_not_null(file);
  cr_assert_not_null(strstr(file->data, "\r\ncomplete,,"), "%s", file->data);
  sink_run_unload(&run);
}

PD_TEST(sink_csv, without_events_the_losses_stay) {
  sink_run run;
  start(&run, (const char *[]){"events=false", NULL}, 1);
  send_window(&run, 0, PD_OK);
  cr_assert_eq(sink_run_close(&run, fake_summary()), PD_OK);
  cr_assert_eq(run.count, 6);
  const memory_file *file = sink_run_file(&run, "traces/csv/events/lost.csv");
  cr_assert_not_null(file);
  cr_assert_not_null(strstr(file->data, "RECORDS_DROPPED,3,"));
  sink_run_unload(&run);
}

PD_TEST(sink_csv, a_full_disk_is_an_error_and_leaves_no_half_file) {
  sink_run run;
  start(&run, NULL, 1);
  run.fail_after_bytes = 300;
  send_window(&run, 0, PD_IO);
  cr_assert_eq(sink_run_close(&run, NULL), PD_OK);
  for (uint32_t i = 0; i < run.count; i++)
    cr_assert_neq(run.all[i]->committed, run.all[i]->discarded, "%s", run.all[i]->path);
  cr_assert(run.all[run.count - 1]->discarded);
  sink_run_unload(&run);
}

PD_TEST(sink_csv, a_file_that_cannot_be_renamed_ends_the_window) {
  sink_run run;
  start(&run, NULL, 1);
  run.fail_commit = true;
  send_window(&run, 0, PD_IO);
  cr_assert_eq(sink_run_close(&run, NULL), PD_OK);
  cr_assert_eq(run.count, 1);
  cr_assert(run.all[0]->discarded && !run.all[0]->announced);
  sink_run_unload(&run);
}

PD_TEST(sink_csv, an_empty_window_has_headers_alone) {
  sink_run run;
  fake_trace *fake = fake_trace_open();
  cr_assert_not_null(fake);
  start(&run, NULL, 1);
  cr_assert_eq(sink_run_trace(&run, fake_trace_finish(fake)), PD_OK);
  cr_assert_eq(sink_run_close(&run, fake_summary()), PD_OK);
  cr_assert_str_eq(sink_run_file(&run, "traces/csv/events/counters.csv")->data, "ts_ns,name,value\r\n");
  sink_run_unload(&run);
  fake_trace_close(fake);
}

PD_TEST(sink_csv, hostile_names_stay_fields) {
  enum { LONG = 65536 };
  static char long_name[LONG + 1];
  sink_run run;
  fake_trace *fake = fake_trace_open();
  cr_assert_not_null(fake);
  memset(long_name, '"', LONG);
  fake_step(fake, 1, 0, 100);
  fake_range(fake, PD_RANGE_OP, long_name, 0, 1, 9)->stack = 0;
  for (int64_t i = 0; i < 7; i++) fake_shape(fake, PD_F16, 4, (const int64_t[]){i, INT64_MAX, INT64_MAX, INT64_MIN});
  const uint32_t frames[] = {fake_string(fake, "outer (a,b)"), fake_string(fake, "inner \"x\"\n")};
  const pd_stack stack = {frames, 2};
  pd_trace *trace = fake_trace_finish(fake);
  trace->stacks = (pd_array){&stack, 1, sizeof stack};
  start(&run, NULL, 1);
  cr_assert_eq(sink_run_trace(&run, trace), PD_OK);
  cr_assert_eq(sink_run_close(&run, fake_summary()), PD_OK);
  cr_assert_str_eq(sink_run_file(&run, "traces/csv/events/stacks.csv")->data,
                   "index,frames\r\n0,\"inner \"\"x\"\"\n;outer (a,b)\"\r\n");
  const char *row = strstr(sink_run_file(&run, "traces/csv/events/ranges.csv")->data, "\r\n0,\"") + 5;
  cr_assert_eq(strspn(row, "\""), 2 * LONG + 1, "each quote twice, and the end of the field");
  cr_assert_not_null(strstr(row, "[6 9223372036854775807 9223372036854775807 -9223372036854775808],0,,"));
  cr_assert_not_null(strstr(row, "c10::Half;c10::Half,0\r\n"));
  sink_run_unload(&run);
  fake_trace_close(fake);
}
