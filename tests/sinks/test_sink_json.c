/* The json sink, loaded as the host loads it. */
#include "pd_test.h"

#include "fake_trace.h"
#include "golden.h"
#include "json_reader.h"
#include "sink_run.h"
#include "sink_tables.h"

#define PATH "traces/metrics_dataloader.json"

static pd_trace *training(fake_trace **fake, uint32_t window) {
  *fake = fake_trace_open();
  cr_assert_not_null(*fake);
  fake_trace_training(*fake, 2 + 10 * window, 2);
  pd_trace *trace = fake_trace_finish(*fake);
  cr_assert_not_null(trace);
  trace->window = window;
  return trace;
}

static void start(sink_run *run, const char *const *settings) {
  cr_assert(sink_run_load(run, SINK_PATH, settings), "%s", run->error);
  cr_assert_eq(sink_run_open(run, fake_run("traces")), PD_OK, "%s", run->host.message);
}

static const pd_table_set *fake_tables(const pd_analysis *analysis, const pd_trace *trace,
                                       const pd_table_request *request) {
  (void)trace;
  cr_assert_eq(request->size, sizeof *request);
  return analysis->impl ? NULL : two_rows("a \"b\"", "c");
}

static const pd_table_set *fake_run_tables(const pd_analysis *analysis, const pd_run *run, const pd_summary *summary) {
  cr_assert(run->size && summary->size);
  return analysis->impl ? NULL : one_average();
}

PD_TEST(sink_json, the_document_is_as_in_the_tree) {
  sink_run run;
  fake_trace *fake;
  const pd_trace *trace = training(&fake, 0);
  static const pd_analysis analysis = {.size = sizeof analysis, .tables = fake_tables, .run_tables = fake_run_tables};
  start(&run, NULL);
  test_host_add(&run.host, PD_EXT_ANALYSIS, &analysis);
  cr_assert_eq(sink_run_trace(&run, trace), PD_OK);
  cr_assert_eq(sink_run_close(&run, fake_summary()), PD_OK);
  const memory_file *file = sink_run_file(&run, PATH);
  cr_assert_not_null(file);
  cr_assert(file->announced);
  cr_assert_eq(run.count, 1);
  json_node *root = json_reader_parse(file->data, file->bytes);
  cr_assert_not_null(root);
  json_reader_free(root);
  cr_assert(golden_equal(GOLDEN_DIR "/metrics.json", file->data, file->bytes));
  sink_run_unload(&run);
  fake_trace_close(fake);
}

PD_TEST(sink_json, the_keys_of_the_script_have_their_types) {
  sink_run run;
  start(&run, NULL);
  cr_assert_eq(sink_run_close(&run, fake_summary()), PD_OK);
  const memory_file *file = sink_run_file(&run, PATH);
  json_node *root = json_reader_parse(file->data, file->bytes);
  cr_assert_not_null(root);
  cr_assert(json_reader_is(json_reader_get(root, "scenario"), "dataloader"));
  cr_assert_eq(json_reader_get(root, "batch_size")->number, 4);
  cr_assert_eq(json_reader_get(root, "num_workers")->number, 2);
  cr_assert_eq(json_reader_get(root, "pin_memory")->kind, JSON_TRUE);
  cr_assert_eq(json_reader_get(root, "amp")->kind, JSON_FALSE);
  cr_assert_eq(json_reader_get(root, "avg_step_time_s")->number, 0.0075);
  cr_assert_eq(json_reader_get(root, "avg_dataloader_wait_s")->number, 0.002);
  cr_assert(json_reader_is(json_reader_get(root, "trace_dir"), "traces"));
  cr_assert_eq(json_reader_get(root, "losses")->count, FAKE_STEP_COUNT);
  cr_assert_eq(json_reader_at(json_reader_get(root, "losses"), 0)->kind, JSON_NULL, "NaN is no JSON");
  cr_assert_eq(json_reader_at(json_reader_get(root, "losses"), 4)->number, 6.65);
  cr_assert_eq(json_reader_get(root, "step_rows")->count, FAKE_STEP_COUNT);
  cr_assert_eq(json_reader_get(root, "windows")->count, 0);
  json_reader_free(root);
  sink_run_unload(&run);
}

PD_TEST(sink_json, energy_and_pauses_are_those_of_the_run) {
  sink_run run;
  pd_summary summary = *fake_summary();
  summary.energy_j = 12.5;
  summary.energy_j_per_step = 2.5;
  summary.energy_j_per_sample = 0.625;
  summary.processor_energy_j = 50;
  summary.processor_energy_j_per_step = 10;
  summary.processor_energy_j_per_sample = 2.5;
  summary.pauses = 2;
  summary.paused_s = 1.5;
  start(&run, NULL);
  cr_assert_eq(sink_run_close(&run, &summary), PD_OK);
  const memory_file *file = sink_run_file(&run, PATH);
  json_node *root = json_reader_parse(file->data, file->bytes);
  cr_assert_not_null(root);
  cr_assert_eq(json_reader_get(root, "energy_j")->number, 12.5);
  cr_assert_eq(json_reader_get(root, "energy_j_per_step")->number, 2.5);
  cr_assert_eq(json_reader_get(root, "energy_j_per_sample")->number, 0.625);
  cr_assert_eq(json_reader_get(root, "processor_energy_j")->number, 50);
  cr_assert_eq(json_reader_get(root, "processor_energy_j_per_step")->number, 10);
  cr_assert_eq(json_reader_get(root, "processor_energy_j_per_sample")->number, 2.5);
  cr_assert_eq(json_reader_get(root, "pauses")->number, 2);
  cr_assert_eq(json_reader_get(root, "paused_s")->number, 1.5);
  json_reader_free(root);
  sink_run_unload(&run);
}

PD_TEST(sink_json, the_device_is_as_it_is_known_at_the_end) {
  sink_run run;
  pd_run about = *fake_run("traces");
  pd_device_props props = *about.device;
  about.device = &props;
  cr_assert(sink_run_load(&run, SINK_PATH, NULL), "%s", run.error);
  cr_assert_eq(sink_run_open(&run, &about), PD_OK, "%s", run.host.message);
  props.versions = "with the profiling library that came later";
  cr_assert_eq(sink_run_close(&run, fake_summary()), PD_OK);
  const memory_file *file = sink_run_file(&run, PATH);
  json_node *root = json_reader_parse(file->data, file->bytes);
  cr_assert_not_null(root);
  cr_assert(json_reader_is(json_reader_get(json_reader_get(root, "device"), "versions"), props.versions));
  json_reader_free(root);
  sink_run_unload(&run);
}

PD_TEST(sink_json, every_window_has_its_tables_and_losses) {
  sink_run run;
  static const pd_analysis analysis = {.size = offsetof(pd_analysis, run_tables), .tables = fake_tables};
  start(&run, NULL);
  test_host_add(&run.host, PD_EXT_ANALYSIS, &analysis);
  for (uint32_t w = 0; w < 2; w++) {
    fake_trace *fake;
    pd_trace *trace = training(&fake, w);
    trace->losses[PD_LOSS_RANGES_FULL] = 7 + w;
    trace->corrected_ns = 900 + w;
    trace->profile_note = "because";
    if (w) trace->profile = PD_PROFILE_EVENTS; /* coverage: null */
    cr_assert_eq(sink_run_trace(&run, trace), PD_OK);
    fake_trace_close(fake);
  }
  cr_assert_eq(sink_run_close(&run, fake_summary()), PD_OK);
  const memory_file *file = sink_run_file(&run, PATH);
  json_node *root = json_reader_parse(file->data, file->bytes);
  cr_assert_not_null(root);
  for (size_t w = 0; w < 2; w++) {
    const json_node *window = json_reader_at(json_reader_get(root, "windows"), w);
    cr_assert_eq(json_reader_get(window, "window")->number, (double)w);
    cr_assert_eq(json_reader_get(json_reader_get(window, "lost"), "RANGES_FULL")->number, 7.0 + (double)w);
    cr_assert_eq(json_reader_get(window, "corrected_ns")->number, 900.0 + (double)w);
    cr_assert(json_reader_is(json_reader_get(window, "profile_note"), "because"));
    const json_node *coverage = json_reader_get(window, "coverage");
    if (w)
      cr_assert_eq(coverage->kind, JSON_NULL);
    else
      cr_assert_eq(coverage->number, 1);
    cr_assert_eq(json_reader_get(window, "steps")->count, 2);
    const json_node *table = json_reader_get(json_reader_get(window, "tables"), "operators");
    const json_node *row = json_reader_at(json_reader_get(table, "rows"), 0);
    cr_assert(json_reader_is(json_reader_get(row, "name"), "a \"b\""));
    cr_assert_eq(json_reader_get(row, "cpu_time_total")->number, 1500);
    row = json_reader_at(json_reader_get(table, "rows"), 1);
    cr_assert_eq(json_reader_get(row, "cpu_time_total")->kind, JSON_NULL);
    cr_assert_eq(json_reader_get(row, "cpu_percent")->kind, JSON_NULL);
    cr_assert_eq(json_reader_get(row, "level")->number, 1);
  }
  json_reader_free(root);
  sink_run_unload(&run);
}

PD_TEST(sink_json, an_interrupted_run_says_so) {
  sink_run run;
  pd_summary summary = *fake_summary();
  summary.outcome = PD_RUN_INTERRUPTED;
  summary.reason = "SIGINT";
  start(&run, (const char *[]){"output_json=out/x.json", NULL});
  cr_assert_eq(sink_run_close(&run, &summary), PD_OK);
  const memory_file *file = sink_run_file(&run, "out/x.json");
  cr_assert_not_null(file);
  json_node *root = json_reader_parse(file->data, file->bytes);
  cr_assert(json_reader_is(json_reader_get(root, "outcome"), "interrupted"));
  cr_assert(json_reader_is(json_reader_get(root, "reason"), "SIGINT"));
  json_reader_free(root);
  sink_run_unload(&run);
}

PD_TEST(sink_json, hostile_texts_stay_json) {
  sink_run run;
  static char long_text[65537];
  memset(long_text, 'x', sizeof long_text - 1);
  const pd_setting settings[] = {{"a\"", "b\\", "\x01\xff\xc3\xa4", "x\n", 0, 0}, {"s", "long", long_text, "o", 1, 0}};
  pd_run header = *fake_run("traces");
  header.settings = (pd_array){settings, 2, sizeof *settings};
  cr_assert(sink_run_load(&run, SINK_PATH, NULL));
  cr_assert_eq(sink_run_open(&run, &header), PD_OK);
  cr_assert_eq(sink_run_close(&run, fake_summary()), PD_OK);
  const memory_file *file = sink_run_file(&run, PATH);
  json_node *root = json_reader_parse(file->data, file->bytes);
  cr_assert_not_null(root);
  const json_node *row = json_reader_at(json_reader_get(root, "configuration"), 0);
  cr_assert(json_reader_is(json_reader_get(row, "value"), "\x01\xef\xbf\xbd\xc3\xa4"));
  cr_assert(
      json_reader_is(json_reader_get(json_reader_at(json_reader_get(root, "configuration"), 1), "value"), long_text));
  json_reader_free(root);
  sink_run_unload(&run);
}

PD_TEST(sink_json, a_full_disk_fails_the_close_and_leaves_nothing) {
  sink_run run;
  start(&run, NULL);
  run.fail_after_bytes = 100;
  cr_assert_eq(sink_run_close(&run, fake_summary()), PD_IO);
  cr_assert_str_eq(run.host.message, PATH ": cannot be written: disk full");
  cr_assert_eq(run.count, 1);
  cr_assert(run.all[0]->discarded && !run.all[0]->committed && !run.all[0]->announced);
  sink_run_unload(&run);
}

PD_TEST(sink_json, a_dropped_sink_leaves_nothing) {
  sink_run run;
  start(&run, NULL);
  cr_assert_eq(sink_run_close(&run, NULL), PD_OK);
  cr_assert(run.all[0]->discarded && !run.all[0]->committed);
  sink_run_unload(&run);
}

PD_TEST(sink_json, tables_that_cannot_be_computed_are_an_error) {
  sink_run run;
  fake_trace *fake;
  const pd_trace *trace = training(&fake, 3);
  const pd_analysis analysis = {
      .size = sizeof analysis, .impl = &run, .tables = fake_tables, .run_tables = fake_run_tables};
  start(&run, NULL);
  test_host_add(&run.host, PD_EXT_ANALYSIS, &analysis);
  cr_assert_eq(sink_run_trace(&run, trace), PD_NO_MEMORY);
  cr_assert_str_eq(run.host.message, "window 3: tables could not be computed: out of memory");
  cr_assert_eq(sink_run_close(&run, NULL), PD_OK);
  cr_assert_eq(sink_run_open(&run, fake_run("traces")), PD_OK);
  cr_assert_eq(sink_run_close(&run, fake_summary()), PD_NO_MEMORY);
  cr_assert_null(sink_run_file(&run, PATH));
  sink_run_unload(&run);
  fake_trace_close(fake);
}
