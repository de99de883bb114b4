/* The table sink: the lines of a run that is only timed, files of stacks, and writes that fail. */
#include "table_rig.h"

#include <math.h>

/* ---- timer_only -------------------------------------------------------------------------------------------- */

static void timed_run(table_test *test, const pd_step_stats *steps, uint64_t count, const char *every) {
  static pd_setting settings[1];
  pd_summary summary = {.size = sizeof summary, .steps = count};
  settings[0] = (pd_setting){.section = "profile", .key = "step_info_every", .value = every};
  summary.steps_all = (pd_array){steps, count, sizeof *steps};
  start(test, NULL, true);
  test->header.settings = (pd_array){settings, 1, sizeof *settings};
  /* Settings are read at open: open again with them. */
  cr_assert_eq(sink_run_close(&test->run, NULL), PD_OK);
  cr_assert_eq(sink_run_open(&test->run, &test->header), PD_OK);
  for (uint64_t i = 0; i < count; i++)
    cr_assert_eq(test->run.plugin->ops.sink->on_step(test->run.state, &steps[i]), PD_OK);
  cr_assert_eq(sink_run_close(&test->run, &summary), PD_OK);
}

PD_TEST(table, timer_only_prints_a_line_every_few_steps_and_the_perf_summary) {
  pd_step_stats steps[5];
  table_test test = {0};
  for (uint64_t i = 0; i < 5; i++)
    steps[i] = (pd_step_stats){.size = sizeof *steps,
                               .phase = i ? PD_PHASE_ACTIVE : PD_PHASE_WARMUP,
                               .index = i,
                               .data_wait_ns = i ? 10000000 * (int64_t)i : 900000000,
                               .batch_cost_ns = i ? 100000000 * (int64_t)i : 990000000};
  timed_run(&test, steps, 5, "2");
  const char *text = sink_run_file(&test.run, "-")->data;
  /* Averages since the last line: (900 + 10) / 2 ms, (990 + 100) / 2 ms, 8 samples in 1.09 s. */
  static const char lines[] = "step 1 reader_cost: 0.455 s batch_cost: 0.545 s ips: 7.34 samples/s\n"
                              "step 3 reader_cost: 0.0250 s batch_cost: 0.250 s ips: 16.0 samples/s\n"
                              "Perf Summary\n";
  cr_assert_eq(strncmp(text, lines, sizeof lines - 1), 0, "%s", text);
  /* Active steps alone, in every figure: waits 10..40 ms of 100..400 ms; rates 40, 20, 13.3, 10; 16 samples in 1 s. */
  cr_assert_not_null(strstr(text, "Over 4 active steps, 1..4."));
  /* The share never varies: five digits. The rest vary by more than half: three. */
  static const char rows[] = "Name          Unit          avg     max     min     p50     p95\n"
                             "------------  ---------  ------  ------  ------  ------  ------\n"
                             "Reader Ratio  %          10.000  10.000  10.000  10.000  10.000\n"
                             "reader_cost   s          0.0250  0.0400  0.0100  0.0250  0.0385\n"
                             "batch_cost    s           0.250   0.400   0.100   0.250   0.385\n"
                             "ips           samples/s    16.0    40.0    10.0    16.7    37.0\n";
  cr_assert_not_null(strstr(text, rows), "%s", text);
  end(&test);
}

PD_TEST(table, the_lines_of_timer_only_come_as_often_as_asked_for) {
  static const struct {
    const char *every;
    int lines;
  } cases[] = {{"1", 3}, {"0_3", 1}, {"1_000", 0}, {"0", 0}};
  pd_step_stats steps[3];
  for (uint64_t i = 0; i < 3; i++)
    steps[i] = (pd_step_stats){.size = sizeof *steps, .phase = PD_PHASE_ACTIVE, .index = i, .batch_cost_ns = 1000000};
  for (size_t c = 0; c < sizeof cases / sizeof *cases; c++) {
    table_test test = {0};
    int lines = 0;
    timed_run(&test, steps, 3, cases[c].every);
    for (const char *at = sink_run_file(&test.run, "-")->data; (at = strstr(at, " reader_cost: ")); at++) lines++;
    cr_assert_eq(lines, cases[c].lines, "every %s: %d lines", cases[c].every, lines);
    end(&test);
  }
}

PD_TEST(table, a_schedule_without_an_end_is_told) {
  table_test test = {0};
  start(&test, SETTINGS("views=run operators"), false);
  test.header.active = UINT64_MAX;
  cr_assert_eq(sink_run_close(&test.run, fake_summary()), PD_OK);
  const char *text = sink_run_file(&test.run, "-")->data;
  cr_assert_not_null(strstr(text, "active all, repeat"));
  cr_assert_null(strstr(text, "18446744073709551615"));
  end(&test);
}

/* The rows of quick stats show one digit more than the confidence interval of the middle half leaves certain. */
PD_TEST(table, digits_follow_the_spread) {
  static const struct {
    int64_t noise_ns;
    const char *row;
  } cases[] = {{0, "whole step            10.000    10.000    10.000    10.000    10.000    10.000\n"},
               {20000, "whole step             10.00     10.01     10.00     10.00     10.02     10.02\n"},
               {2000000, "whole step              10.0      11.0      10.0      10.0      12.0      12.0\n"}};
  pd_step_stats steps[9];
  for (size_t c = 0; c < sizeof cases / sizeof *cases; c++) {
    table_test test = {0};
    pd_summary summary = *fake_summary();
    for (uint64_t i = 0; i < 9; i++)
      steps[i] = (pd_step_stats){.size = sizeof *steps,
                                 .phase = PD_PHASE_ACTIVE,
                                 .index = i,
                                 .batch_cost_ns = 10000000 + (i % 2 ? cases[c].noise_ns : 0)};
    summary.steps_all = (pd_array){steps, 9, sizeof *steps};
    const double low = 0.01, high = 0.01 + (double)cases[c].noise_ns * 1e-9;
    summary.batch_cost_s = (pd_spread){
        .count = 9, .median = low, .mean = (low + high) / 2, .min = low, .p10 = low, .p90 = high, .max = high};
    start(&test, SETTINGS("views=run operators"), false);
    cr_assert_eq(sink_run_close(&test.run, &summary), PD_OK);
    const char *text = sink_run_file(&test.run, "-")->data;
    cr_assert_not_null(strstr(text, cases[c].row), "%s", strstr(text, "Active steps"));
    end(&test);
  }
}

PD_TEST(table, timer_only_knows_no_infinity) {
  pd_step_stats steps[3];
  table_test test = {0};
  for (uint64_t i = 0; i < 3; i++)
    steps[i] = (pd_step_stats){.size = sizeof *steps, .phase = PD_PHASE_SKIP, .index = i, .loss = (double)NAN};
  timed_run(&test, steps, 3, "1");
  const char *text = sink_run_file(&test.run, "-")->data;
  cr_assert_null(strstr(text, "inf"));
  cr_assert_null(strstr(text, "nan"));
  cr_assert_not_null(strstr(text, "step 2 reader_cost: 0.000 s batch_cost: 0.000 s\n"));
  cr_assert_not_null(strstr(text, "Over 3 steps, 0..2."));
  cr_assert_not_null(strstr(text, "\nips           samples/s                              \n"), "%s", text);
  end(&test);
}

PD_TEST(table, the_perf_summary_is_there_for_the_asking) {
  table_test test = {0};
  const char *text = text_of(&test, SETTINGS("views=perf_summary"));
  cr_assert_not_null(strstr(text, "Perf Summary\n"));
  end(&test);
  cr_assert_null(strstr(text_of(&test, SETTINGS("views=verdict")), "Perf Summary"));
  end(&test);
}

PD_TEST(table, rising_samples_have_a_minimum) { /* Paddle prints inf here: docs/paddle-figures.md */
  pd_step_stats steps[4];
  table_test test = {0};
  for (uint64_t i = 0; i < 4; i++)
    steps[i] = (pd_step_stats){.size = sizeof *steps,
                               .phase = PD_PHASE_ACTIVE,
                               .index = i,
                               .data_wait_ns = 1000000 * ((int64_t)i + 1),
                               .batch_cost_ns = 10000000 * ((int64_t)i + 1)};
  timed_run(&test, steps, 4, "100");
  cr_assert_not_null(strstr(sink_run_file(&test.run, "-")->data,
                            "batch_cost    s           0.0250   0.0400   0.0100   0.0250   0.0385\n"));
  end(&test);
}

/* ---- stacks ------------------------------------------------------------------------------------------------ */

PD_TEST(table, collapsed_stacks_are_files_of_their_own) {
  table_test test = {0};
  text_of(&test, SETTINGS("stacks=always"));
  const memory_file *host = sink_run_file(&test.run, "results/traces/dataloader/stacks_self_cpu_time_total.txt");
  const memory_file *device = sink_run_file(&test.run, "results/traces/dataloader/stacks_self_device_time_total.txt");
  cr_assert(host && device && host->announced && device->announced);
  cr_assert_not_null(strstr(host->data, "\ntrain_step;aten::conv2d;cudnn::convolution_forward 840\n"));
  cr_assert_eq(strncmp(device->data, "train_step;ConvolutionBackward0;convolve_backward<float>(float*) 4500\n", 70), 0);
  /* flamegraph.pl: a stack without blanks, one blank, a whole number. */
  for (const char *line = host->data; *line; line = strchr(line, '\n') + 1) {
    size_t stack = strcspn(line, " \n"), digits = strspn(line + stack + 1, "0123456789");
    cr_assert(stack > 0 && line[stack] == ' ' && digits > 0 && line[stack + 1 + digits] == '\n', "%.80s", line);
  }
  end(&test);
}

PD_TEST(table, stacks_follow_with_stack_and_windows_keep_apart) {
  table_test test = {0};
  text_of(&test, NULL);
  cr_assert_null(sink_run_file(&test.run, "results/traces/dataloader/stacks_self_cpu_time_total.txt"));
  end(&test);
  start(&test, NULL, false);
  test.header.with_stack = 1;
  test.header.repeat = 2;
  send_window(&test, 0, 2);
  send_window(&test, 1, 7);
  cr_assert_eq(sink_run_close(&test.run, fake_summary()), PD_OK);
  cr_assert_not_null(sink_run_file(&test.run, "results/traces/dataloader/stacks_self_cpu_time_total.0.txt"));
  cr_assert_not_null(sink_run_file(&test.run, "results/traces/dataloader/stacks_self_cpu_time_total.1.txt"));
  end(&test);
}

/* ---- faults ------------------------------------------------------------------------------------------------ */

PD_TEST(table, a_failed_write_is_told_and_leaves_nothing) {
  table_test test = {0};
  start(&test, SETTINGS("path=out.txt"), false);
  test.run.fail_after_bytes = 10;
  send_window(&test, 0, 2);
  cr_assert_eq(sink_run_close(&test.run, fake_summary()), PD_IO);
  cr_assert_null(sink_run_file(&test.run, "out.txt"));
  cr_assert(test.run.all[0]->discarded);
  end(&test);
}

PD_TEST(table, a_file_is_announced_and_standard_output_is_not) {
  table_test test = {0};
  text_of(&test, NULL);
  cr_assert(!sink_run_file(&test.run, "-")->announced);
  end(&test);
  start(&test, SETTINGS("path=out.txt"), false);
  cr_assert_eq(sink_run_close(&test.run, fake_summary()), PD_OK);
  cr_assert(sink_run_file(&test.run, "out.txt")->announced);
  end(&test);
}

PD_TEST(table, a_dropped_sink_throws_its_file_away) {
  table_test test = {0};
  start(&test, SETTINGS("path=out.txt"), false);
  send_window(&test, 0, 2);
  cr_assert_eq(sink_run_close(&test.run, NULL), PD_OK);
  cr_assert_null(sink_run_file(&test.run, "out.txt"));
  cr_assert(test.run.all[0]->discarded);
  end(&test);
}
