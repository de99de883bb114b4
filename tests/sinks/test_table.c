/* The table sink, loaded as the host loads it, over the real analysis: the report and its tables. */
#include "table_rig.h"
#include "golden.h"

#include <math.h>
#include <stdlib.h>

PD_TEST(table, a_run_as_it_is_in_the_tree) {
  table_test test = {0};
  setenv("LC_ALL", "C.UTF-8", 1);
  const char *text = text_of(&test, NULL);
  cr_assert(golden_equal(GOLDEN_DIR "/table_default.txt", text, strlen(text)));
  end(&test);
}

PD_TEST(table, all_tables_as_they_are_in_the_tree) {
  table_test test = {0};
  const char *text = text_of(&test, SETTINGS("views=all", "wide=true", "time_unit=us"));
  cr_assert(golden_equal(GOLDEN_DIR "/table_all_wide.txt", text, strlen(text)));
  end(&test);
}

PD_TEST(table, quick_stats_have_the_names_of_the_script_and_say_what_they_are_of) {
  static const char *const names[] = {"scenario", "batch_size",      "num_workers",           "pin_memory",
                                      "amp",      "avg_step_time_s", "avg_dataloader_wait_s", "trace_dir"};
  table_test test = {0};
  const char *text = text_of(&test, SETTINGS("views=verdict run operators")), *at = text;
  cr_assert_eq(strncmp(text, "Verdict  withheld: 3 active steps are too few", 45), 0);
  cr_assert_not_null(at = strstr(text, "\n\nQuick stats\n"));
  for (size_t i = 0; i < sizeof names / sizeof *names; i++) {
    char line[64];
    snprintf(line, sizeof line, "\n  %s ", names[i]);
    at = strstr(at, line);
    cr_assert_not_null(at, "%s is missing or out of order", names[i]);
  }
  cr_assert_not_null(strstr(text, "0.0075000 (7.50 ms; mean of all 5 steps of the loop)"));
  cr_assert_lt(at, strstr(text, "Operator table"));
  cr_assert_not_null(strstr(text, "3 of steps 2..4"));
  cr_assert_not_null(strstr(text, "Fake H200"));
  cr_assert_not_null(strstr(text, "\n  pdhost                  1.0.0, sources 0123456789ab\n"));
  cr_assert_not_null(strstr(text, "\n  command                 pdhost -c conf/x.ini"));
  end(&test);
}

/* What `--full` shows of the joules; there is no line of what nobody counted. */
PD_TEST(table, quick_stats_have_the_energy_per_step_and_sample) {
  pd_summary summary = *fake_summary();
  table_test test = {0};
  cr_assert_null(strstr(text_of(&test, SETTINGS("views=run")), "energy"));
  end(&test);
  summary.energy_j = 250;
  summary.energy_j_per_step = 50;
  summary.energy_j_per_sample = 12.5;
  summary.processor_energy_j = 100;
  summary.processor_energy_j_per_step = 20;
  summary.processor_energy_j_per_sample = 5.25;
  test = (table_test){0};
  start(&test, SETTINGS("views=run", "width=100"), false);
  cr_assert_eq(sink_run_steps(&test.run), PD_OK);
  send_window(&test, 0, 2);
  cr_assert_eq(sink_run_close(&test.run, &summary), PD_OK, "%s", test.run.host.message);
  const char *text = sink_run_file(&test.run, "-")->data;
  static const char *const lines[] = {
      "\n  energy                  50 J per step, 12.5 J per sample, of the whole GPU, by NVML's counter,\n"
      "                          which moves only some times a second: take a longer loop\n",
      "\n  processors' energy      20 J per step, 5.25 J per sample, of the processors, by powercap\n"};
  for (size_t i = 0; i < sizeof lines / sizeof *lines; i++) cr_assert_not_null(strstr(text, lines[i]), "%s", text);
  end(&test);
}

/* ---- the short report -------------------------------------------------------------------------------------- */

static size_t lines_of(const char *text) {
  size_t lines = 0;
  for (; *text; text++) lines += *text == '\n';
  return lines;
}

/* The last line, without its end. */
static const char *last_line(const char *text, char *room, size_t bytes) {
  size_t length = strlen(text), from;
  cr_assert(length && text[length - 1] == '\n');
  for (from = length - 1; from && text[from - 1] != '\n'; from--) continue;
  snprintf(room, bytes, "%.*s", (int)(length - 1 - from), text + from);
  return room;
}

PD_TEST(table, the_short_report_keeps_its_budget_of_lines_and_columns) {
  for (uint32_t windows = 0; windows < 4; windows++) {
    for (int notes = 0; notes < 2; notes++) {
      for (size_t width = 60; width <= 120; width += 20) {
        table_test test = {0};
        char setting[32], last[256];
        snprintf(setting, sizeof setting, "width=%zu", width);
        const char *text = report_of(&test, SETTINGS(setting), windows, notes);
        const size_t most = width < 80 ? 40 * 80 / width : 40;
        cr_assert_leq(lines_of(text), most, "%zu lines:\n%s", lines_of(text), text);
        cr_assert_leq(longest_line(text), width, "%zu columns of %zu:\n%s", longest_line(text), width, text);
        cr_assert_eq(strncmp(text, "Verdict  ", 9), 0);
        cr_assert_eq(strncmp(last_line(text, last, sizeof last), "Verdict  ", 9), 0, "%s", last);
        cr_assert_null(strstr(text, "nan"));
        cr_assert_null(strstr(text, "inf"));
        end(&test);
      }
    }
  }
}

/* Every share is of a whole: none is above 100, and those of one table do not add up to more. */
PD_TEST(table, no_column_of_shares_adds_up_to_more_than_its_whole) {
  table_test test = {0};
  double sum = 0;
  for (const char *line = report_of(&test, SETTINGS("width=200"), 1, false); *line; line = strchr(line, '\n') + 1) {
    const size_t bytes = strcspn(line, "\n");
    const char *sign = bytes ? memchr(line, '%', bytes) : NULL;
    if (*line != ' ') sum = 0; /* a heading: another table */
    if (!sign) continue;
    const char *figure = sign - 1;
    while (figure > line && strchr("0123456789. ", figure[-1])) figure--;
    const double percent = strtod(figure, NULL);
    cr_assert_leq(percent, 100.05, "%.*s", (int)bytes, line);
    if (strncmp(line, "  ", 2) == 0 && sign - line > 20) sum += percent;
    cr_assert_leq(sum, 100.5, "%.*s", (int)bytes, line);
  }
  end(&test);
}

/* Sentences that take more lines leave the tables their room. */
PD_TEST(table, a_narrow_report_has_the_tables_of_a_wide_one) {
  static const char *const tables[] = {"Steps, ", "\nWhere the step goes ", "\nOperators, on the device ",
                                       "\nKernels "};
  table_test test = {0};
  const char *text = report_of(&test, SETTINGS("width=60"), 1, true);
  for (size_t i = 0; i < sizeof tables / sizeof *tables; i++)
    cr_assert_not_null(strstr(text, tables[i]), "no \"%s\":\n%s", tables[i], text);
  end(&test);
}

PD_TEST(table, times_of_a_column_have_one_unit) {
  table_test test = {0};
  const char *text = text_of(&test, SETTINGS("views=operators", "width=200"));
  cr_assert_not_null(strstr(text, "ms"));
  for (const char *at = strstr(text, "us"); at; at = strstr(at + 1, "us"))
    cr_assert(!(at[-1] >= '0' && at[-1] <= '9'), "microseconds beside milliseconds: %.40s", at - 20);
  end(&test);
}

PD_TEST(table, every_heading_of_the_short_report_names_one_unit) {
  static const char *const tables[] = {"Steps, ", "Where the step goes ", "Operators, on the device ", "Kernels "};
  static const char *const units[] = {"ns", "us", "ms", "s"};
  table_test test = {0};
  const char *text = report_of(&test, NULL, 1, false);
  for (size_t t = 0; t < sizeof tables / sizeof *tables; t++) {
    char line[64];
    snprintf(line, sizeof line, "\n%s", tables[t]);
    const char *at = strstr(text, line);
    uint32_t found = 0;
    cr_assert_not_null(at, "no %s in:\n%s", tables[t], text);
    const char *heading = at + 1, *end_of_line = strchr(heading, '\n');
    for (size_t u = 0; u < sizeof units / sizeof *units; u++) {
      char per_step[16], alone[16];
      snprintf(per_step, sizeof per_step, " %s/step ", units[u]);
      snprintf(alone, sizeof alone, ", %s ", units[u]);
      const char *one = strstr(heading, per_step), *other = strstr(heading, alone);
      if ((one && one < end_of_line) || (other && other < end_of_line)) found++;
    }
    cr_assert_eq(found, 1, "%.*s", (int)(end_of_line - heading), heading);
  }
  end(&test);
}

PD_TEST(table, notes_are_one_line_each_and_losses_come_first) {
  table_test test = {0};
  const char *text = report_of(&test, NULL, 1, true);
  cr_assert_not_null(strstr(text, "\nNotes\n  7 launches without a device record\n"
                                  "  other programs kept 1.5 of 2 cores busy while the steps ran ...\n"));
  cr_assert_not_null(strstr(text, "\n  a second one\n  and 2 more, on standard error\n"), "%s", text);
  end(&test);
  cr_assert_null(strstr(report_of(&test, NULL, 1, false), "Notes"));
  end(&test);
}

PD_TEST(table, notes_of_a_file_are_whole_behind_its_name) {
  static const char *const warnings[] = {
      "/a/folder/that/fills/most/of/the/line/of/eighty/columns/trace.pt.trace.json.gz: no loop found",
      ("/a/folder/rank-34.pt.trace.json.gz: no loop found: launches and device records are both needed for it; the "
       "figures are of the whole file, shown as one step"),
      "folder/a.json: it is short"};
  table_test test = {0};
  const char *text = report_with(&test, NULL, 1, warnings, 3);
  cr_assert_not_null(strstr(text, "\nNotes\n"
                                  "  trace.pt.trace.json.gz: no loop found\n"
                                  "  rank-34.pt.trace.json.gz:\n"
                                  "    no loop found: launches and device records are both needed for it; the\n"
                                  "    figures are of the whole file, shown as one step\n"
                                  "  folder/a.json: it is short\n"),
                     "%s", text);
  end(&test);
}

PD_TEST(table, several_windows_are_counted) {
  table_test test = {0};
  cr_assert_not_null(strstr(report_of(&test, NULL, 3, false), "\n  Windows      3, and 3 of them give this verdict\n"));
  end(&test);
}

PD_TEST(table, a_quiet_run_has_the_verdict_alone) {
  table_test test = {0};
  test.quiet = true;
  const char *text = text_of(&test, SETTINGS("views=all"));
  cr_assert_str_eq(text, "Verdict  withheld: 3 active steps are too few, 5 are needed\n");
  end(&test);
  test.quiet = true;
  start(&test, NULL, false);
  pd_summary summary = *fake_summary();
  summary.profile_note = "the run ended before a window of active steps did";
  cr_assert_eq(sink_run_close(&test.run, &summary), PD_OK);
  cr_assert_str_eq(sink_run_file(&test.run, "-")->data,
                   "Verdict  withheld: the run ended before a window of active steps did\n");
  end(&test);
}

PD_TEST(table, views_pick_tables) {
  table_test test = {0};
  const char *text = text_of(&test, SETTINGS("views=kernels, model"));
  cr_assert_not_null(strstr(text, "Kernel Summary"));
  cr_assert_not_null(strstr(text, "Model Summary"));
  cr_assert_null(strstr(text, "Operator table"));
  end(&test);
}

PD_TEST(table, row_limit_counts_outermost_rows) {
  table_test test = {0};
  const char *text = text_of(&test, SETTINGS("views=operator_summary", "row_limit=2"));
  cr_assert_not_null(strstr(text, "\naten::item"));
  cr_assert_not_null(strstr(text, "\n    implicit_convolve"));
  cr_assert_null(strstr(text, "ConvolutionBackward0"));
  cr_assert_not_null(strstr(text, "2 more rows: row_limit = -1 shows all"));
  end(&test);
  text = text_of(&test, SETTINGS("views=operator_summary", "row_limit=-1", "op_detail=false"));
  cr_assert_not_null(strstr(text, "\nConvolutionBackward0"));
  cr_assert_null(strstr(text, "implicit_convolve"));
  cr_assert_null(strstr(text, "more rows"));
  end(&test);
}

PD_TEST(table, time_units) {
  static const struct {
    const char *setting, *cell;
  } cases[] = {{"time_unit=s", " 0.015300"},
               {"time_unit=ms", " 15.300"},
               {"time_unit=us", " 15300.000"},
               {"time_unit=ns", " 15300000"},
               {"time_unit=auto", " 15.300ms"}};
  for (size_t i = 0; i < sizeof cases / sizeof *cases; i++) {
    table_test test = {0};
    const char *text = text_of(&test, SETTINGS("views=operators", cases[i].setting));
    const char *row = strstr(text, "\naten::item");
    cr_assert_not_null(row);
    const char *cell = strstr(row, cases[i].cell);
    cr_assert(cell && cell < strchr(row + 1, '\n'), "%s: no %s", cases[i].setting, cases[i].cell);
    end(&test);
  }
}

/* A table of one trace with awkward names; every line of its body is as wide as its rule. */
static void check_alignment(const char *const *settings) {
  static const char *const names[] = {
      "plain",       "汉字算子",    "データ読込み", "combining e\xCC\x81\xCC\x81",
      "line\nbreak", "\033[31mred", "😀 emoji",      "한국어 연산자 이름이 아주 길어서 잘려야 합니다 정말로"};
  table_test test = {0};
  start(&test, settings, false);
  fake_trace *fake = fake_trace_open();
  fake_step(fake, 0, 0, 1000000);
  for (int i = 0; i < 8; i++) fake_range(fake, PD_RANGE_OP, names[i], 0, i * 1000, i * 1000 + 500 + i);
  pd_trace *trace = fake_trace_finish(fake);
  cr_assert_eq(sink_run_trace(&test.run, trace), PD_OK);
  cr_assert_eq(sink_run_close(&test.run, fake_summary()), PD_OK);
  const char *at = strstr(sink_run_file(&test.run, "-")->data, "\nOperator table\n");
  cr_assert_not_null(at);
  at = strchr(at + 1, '\n') + 1;
  size_t rule = pd_text_columns(at, strcspn(at, "\n"));
  int rows = 0;
  for (; strncmp(at, "Self CPU time total", 19) != 0; rows++) {
    size_t bytes = strcspn(at, "\n");
    cr_assert_eq(pd_text_columns(at, bytes), rule, "\"%.*s\" is not as wide as the rule", (int)bytes, at);
    cr_assert_null(memchr(at, 033, bytes), "an escape of a name reached the terminal");
    at += bytes + 1;
  }
  cr_assert_geq(rows, 8 + 4);
  fake_trace_close(fake);
  end(&test);
}

PD_TEST(table, columns_align_with_wide_and_combining_characters) {
  check_alignment(SETTINGS("views=operators"));
  check_alignment(SETTINGS("views=operators", "wide=true", "max_name_column_width=20"));
}

PD_TEST(table, colour_is_for_terminals_only) {
  table_test test = {0};
  cr_assert_null(strchr(text_of(&test, NULL), 033), "not a terminal here");
  end(&test);
  cr_assert_not_null(strstr(text_of(&test, SETTINGS("color=always")),
                            "\033[1mVerdict  withheld: 3 active steps are too few, 5 are needed\033[0m\n"));
  end(&test);
  cr_assert_null(strchr(text_of(&test, SETTINGS("color=never")), 033));
  end(&test);
}

PD_TEST(table, two_windows_follow_each_other) {
  table_test test = {0};
  start(&test, SETTINGS("views=operators"), false);
  send_window(&test, 0, 2);
  send_window(&test, 1, 7);
  cr_assert_eq(sink_run_close(&test.run, fake_summary()), PD_OK);
  const char *text = sink_run_file(&test.run, "-")->data;
  const char *first = strstr(text, "Window 0: steps 2..4"), *second = strstr(text, "Window 1: steps 7..9");
  cr_assert(first && second && first < second);
  cr_assert_not_null(strstr(second, "Operator table"));
  end(&test);
}

PD_TEST(table, losses_and_an_interrupted_run_are_told) {
  table_test test = {0};
  pd_summary summary = *fake_summary();
  summary.outcome = PD_RUN_INTERRUPTED;
  summary.reason = "SIGINT";
  summary.coverage = 0.5;
  summary.lost[PD_LOSS_RECORDS_DROPPED] = 3;
  summary.lost[PD_LOSS_UNMATCHED_LAUNCH] = 7;
  summary.lost[PD_LOSS_TIME_CORRECTED] = 4;
  summary.corrected_ns = 5700;
  summary.profile = PD_PROFILE_EVENTS;
  summary.profile_note = "CUPTI is in use by another profiler";
  start(&test, SETTINGS("views=run operators"), false);
  cr_assert_eq(sink_run_close(&test.run, &summary), PD_OK);
  const char *text = sink_run_file(&test.run, "-")->data;
  cr_assert_not_null(strstr(text, "The run was interrupted: SIGINT: the figures cover the 5 steps done."));
  cr_assert_not_null(strstr(text, "50.00 % of launches"));
  cr_assert_not_null(strstr(text, "3 device records dropped by the profiling library"));
  cr_assert_not_null(strstr(text, "7 launches without a device record"));
  cr_assert_not_null(strstr(text, "4 device records moved behind their launches"));
  cr_assert_not_null(strstr(text, "by up to 5.70 us"));
  cr_assert_not_null(strstr(text, "CUPTI is in use by another profiler"));
  end(&test);
}

PD_TEST(table, one_step_is_a_step) {
  table_test test = {0};
  pd_summary summary = *fake_summary();
  summary.outcome = PD_RUN_INTERRUPTED;
  summary.reason = "SIGINT";
  summary.steps = 1;
  start(&test, NULL, false);
  cr_assert_eq(sink_run_close(&test.run, &summary), PD_OK);
  const char *text = sink_run_file(&test.run, "-")->data;
  cr_assert_not_null(strstr(text, "The run was interrupted: SIGINT: the figures cover the 1 step done."), "%s", text);
  end(&test);
}

PD_TEST(table, a_run_without_device_records_claims_no_coverage) {
  table_test test = {0};
  pd_summary summary = *fake_summary();
  fake_trace *fake = fake_trace_open();
  cr_assert_not_null(fake);
  summary.coverage = NAN;
  summary.profile = PD_PROFILE_EVENTS;
  start(&test, SETTINGS("views=run operators"), false);
  fake_trace_training(fake, 2, 2);
  pd_trace *trace = fake_trace_finish(fake);
  trace->profile = PD_PROFILE_EVENTS;
  cr_assert_eq(sink_run_trace(&test.run, trace), PD_OK);
  fake_trace_close(fake);
  cr_assert_eq(sink_run_close(&test.run, &summary), PD_OK);
  const char *text = sink_run_file(&test.run, "-")->data;
  cr_assert_not_null(strstr(text, ", coverage n/a\n"));
  cr_assert_not_null(strstr(text, "n/a: no device records"));
  cr_assert_null(strstr(text, "of launches have"));
  end(&test);
}

PD_TEST(table, a_run_without_active_steps_has_no_figures_of_them) {
  table_test test = {0};
  pd_summary summary = {.size = sizeof summary, .outcome = PD_RUN_FAILED, .reason = "step 0: no memory"};
  start(&test, NULL, false);
  cr_assert_eq(sink_run_close(&test.run, &summary), PD_OK);
  const char *text = sink_run_file(&test.run, "-")->data;
  cr_assert_not_null(strstr(text, "The run failed: step 0: no memory"));
  cr_assert_not_null(strstr(text, "No step was active"));
  cr_assert_null(strstr(text, "inf"));
  cr_assert_null(strstr(text, "nan"));
  end(&test);
}
