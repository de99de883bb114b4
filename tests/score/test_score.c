/* The score's arithmetic on cells worked out by hand, corpus files, and the verdict read back from CSV. */
#include "score/cell.h"
#include "score/corpus.h"
#include "score/figures.h"

#include "pd_test.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

PD_TEST(score, figures_are_those_of_the_confusion_matrix) {
  /* 3 of none, 2 of cause 1, 2 of cause 2; one false alarm, one cause 2 taken for 1, one small effect. */
  const judged cells[] = {{0, 0, true, 0, 0},       {0, 0, true, 0, 0},       {0, 1, true, 0, 0.2},
                          {1, 1, true, 0.30, 0.32}, {1, 1, true, 0.50, 0.44}, {2, 1, true, 0.40, 0.40},
                          {2, 2, true, 0.60, 0.59}, {2, 0, false, 0.05, 0}};
  figures got;
  cr_assert(figures_make(cells, 8, 3, &got));
  cr_assert_eq(got.counted, 7);
  cr_assert_eq(got.left_out, 1);
  cr_assert_eq(got.matrix[0][1], 1);
  cr_assert_eq(got.matrix[2][1], 1);
  cr_assert_eq(got.baselines, 3);
  cr_assert_eq(got.false_alarms, 1);
  cr_assert_float_eq(got.of[0].precision, 1.0, 1e-12);
  cr_assert_float_eq(got.of[0].recall, 2.0 / 3, 1e-12);
  cr_assert_float_eq(got.of[0].f1, 0.8, 1e-12);
  cr_assert_float_eq(got.of[1].precision, 0.5, 1e-12);
  cr_assert_float_eq(got.of[1].recall, 1.0, 1e-12);
  cr_assert_float_eq(got.of[1].f1, 2.0 / 3, 1e-12);
  cr_assert_float_eq(got.of[2].f1, 2.0 / 3, 1e-12);
  cr_assert_float_eq(got.macro_f1, (0.8 + 2.0 / 3 + 2.0 / 3) / 3, 1e-12);
  cr_assert_float_eq(got.error_median, 2.0, 1e-9); /* of 1, 2 and 6 points */
  cr_assert(got.macro_low < got.macro_f1 && got.macro_f1 < got.macro_high);
}

PD_TEST(score, a_verdict_that_no_cause_expects_counts_against_recall_alone) {
  const judged cells[] = {{0, 0, true, 0, 0}, {1, 2, true, 0.5, 0}};
  figures got;
  cr_assert(figures_make(cells, 2, 3, &got));
  cr_assert_float_eq(got.macro_f1, 0.5, 1e-12); /* of none and cause 1 */
  cr_assert_eq(got.of[2].named, 1);
}

PD_TEST(score, all_right_is_one_without_a_spread) {
  const judged cells[] = {{0, 0, true, 0, 0}, {0, 0, true, 0, 0}};
  figures got;
  cr_assert(figures_make(cells, 2, 1, &got));
  cr_assert(got.macro_f1 == 1 && got.macro_low == 1 && got.macro_high == 1);
  cr_assert(figures_make(cells, 0, 1, &got));
  cr_assert(got.macro_f1 == 0 && got.counted == 0);
}

/* `text` in a file of its own. */
static const char *file_of(const char *text) {
  static char path[64];
  strcpy(path, "/tmp/pdhost_score_XXXXXX");
  const int fd = mkstemp(path);
  cr_assert_geq(fd, 0);
  cr_assert_eq(write(fd, text, strlen(text)), (ssize_t)strlen(text));
  close(fd);
  return path;
}

static corpus *read_corpus(const char *text, error *err) {
  const char *path = file_of(text);
  error_clear(err);
  corpus *got = corpus_read(path, err);
  unlink(path);
  return got;
}

PD_TEST(score, each_run_has_its_baseline) {
  static error err;
  corpus *got = read_corpus("[corpus]\nseeds = 2\nset = a.b=1 c.d=2\n[base]\nscenario = control\nexpect = none\n"
                            "[slow]\nscenario = s\nexpect = x\ndial = data.d\nvalues = 1, 2\n"
                            "[sized]\nscenario = t\nexpect = y\ndial = data.e\nvalues = 3\npaired = true\n",
                            &err);
  cr_assert_not_null(got, "%s", err.text);
  static const char *const names[] = {"base_seed0", "slow_data.d=1_seed0", "slow_data.d=2_seed0", "base_data.e=3_seed0",
                                      "sized_data.e=3_seed0"};
  static const uint32_t baselines[] = {0, 0, 0, 3, 3};
  cr_assert_eq(got->cell_count, 10);
  for (uint32_t i = 0; i < 5; i++) {
    char name[256];
    corpus_cell_name(got, &got->cells[i], name, sizeof name);
    cr_assert_str_eq(name, names[i]);
    cr_assert_eq(got->cells[i].baseline, baselines[i]);
    cr_assert_eq(got->cells[5 + i].baseline, 5 + baselines[i]);
  }
  corpus_free(got);
}

PD_TEST(score, mistakes_of_a_corpus_are_all_told_with_their_lines) {
  static error err;
  cr_assert_null(read_corpus("[corpus]\nseeds = 0\ncolour = red\n[slow]\nscenario = s\nexpekt = x\n", &err));
  cr_assert_eq(err.exit_code, CODE_CONFIG);
  cr_assert_not_null(strstr(err.text, ":2: 0: seeds: a number from 1 to 100"), "%s", err.text);
  cr_assert_not_null(strstr(err.text, ":3: colour: no such key of [corpus]"), "%s", err.text);
  cr_assert_not_null(strstr(err.text, ":6: expekt: no such key"), "%s", err.text);
  cr_assert_not_null(strstr(err.text, ":4: slow: needs scenario and expect"), "%s", err.text);
  cr_assert_not_null(strstr(err.text, "there is no baseline"), "%s", err.text);
  cr_assert_null(read_corpus("[a]\nscenario = s\nexpect = none\n[b]\nscenario = s\nexpect = none\n", &err));
  cr_assert_not_null(strstr(err.text, ":4: b: the baseline"), "%s", err.text);
  cr_assert_null(corpus_read("/nowhere/corpus.ini", &err));
}

PD_TEST(score, the_verdict_is_read_by_column_name) {
  cell_result got;
  const char *path = file_of("verdict,verdict_cause,verdict_share,verdict_evidence,verdict_confidence,verdict_step\n"
                             "\"made, \"\"filled\"\"\",allocator,12.5,\"a, b\",75,1000\n");
  cr_assert(cell_read_verdict(path, &got));
  unlink(path);
  cr_assert_str_eq(got.cause, "allocator");
  cr_assert(got.share == 12.5 && got.confidence == 75 && got.step_ns == 1000);
  path = file_of("verdict\n");
  cr_assert_not(cell_read_verdict(path, &got));
  unlink(path);
  cr_assert_not(cell_read_verdict("/nowhere/verdict.csv", &got));
}
