/* truth.json of a run, and corpus files. */
#include "score/judge.h"

#include "pd_test.h"

#include <glob.h>
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

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

PD_TEST(score, the_effect_is_read_from_truth_json) {
  static const struct {
    const char *text;
    double effect;
    bool is_off_path;
    double also;
  } files[] = {
      {"{\"effect\": {\"share\": 0.25}, \"also\": [{\"cause\": \"input_bound\", \"effect\": {\"share\": 0.5}}]}", 0.25,
       false, 0.5},
      {"{\"effect\": {\"share\": 0.25}, \"path\": \"on the path\"}", 0.25, false, 0},
      {"{\"effect\": {\"share\": 0}, \"path\": \"present, off the path\"}", 0, true, 0},
      {"{\"effect\": null, \"path\": null}", NAN, false, 0},
      {"[1]", NAN, false, 0},
      {"{\"effect\"", NAN, false, 0}};
  for (size_t i = 0; i < sizeof files / sizeof files[0]; i++) {
    const char *path = file_of(files[i].text);
    const truth_label got = truth_label_read(path);
    unlink(path);
    cr_assert(isnan(files[i].effect) ? isnan(got.effect) : got.effect == files[i].effect, "%zu", i);
    cr_assert_eq(got.is_off_path, files[i].is_off_path);
    cr_assert(files[i].also > 0 ? got.also == files[i].also : isnan(got.also), "%zu", i);
  }
  cr_assert(isnan(truth_label_read("/nowhere/truth.json").effect));
}

PD_TEST(score, cures_without_figures_or_of_no_cause_are_left_out) {
  static const struct {
    const char *cause, *share;
    uint32_t count;
  } cures[] = {{"allocator", "0.2", 1}, {"uneven_work", "0.2", 1}, {"allocator", "null", 0},
               {"allocator", "1.5", 0}, {"allocator", "-1e9", 0},  {"of, none", "0.2", 0}};
  for (size_t i = 0; i < sizeof cures / sizeof cures[0]; i++) {
    char text[256];
    snprintf(text, sizeof text,
             "{\"effect\": {\"step_us\": 13.5, \"share\": %s}, \"cures\": [{\"cause\": \"%s\", \"effect\": "
             "{\"step_us\": 12.5, \"share\": %s, "
             "\"share_low\": 0.1, \"share_high\": 0.3}}, {\"cause\": \"allocator\", \"effect\": null}]}",
             cures[i].share, cures[i].cause, cures[i].share);
    const char *path = file_of(text);
    const truth_label got = truth_label_read(path);
    unlink(path);
    cr_assert_eq(got.cure_count, cures[i].count, "%zu", i);
    cr_assert_eq(isnan(got.effect), strcmp(cures[i].share, "0.2") != 0, "%zu", i);
    cr_assert_eq(got.step_ns, 13500);
    if (!got.cure_count) continue;
    cr_assert_str_eq(got.cures[0].cause, cures[i].cause);
    cr_assert_eq(got.cures[0].step_ns, 12500);
  }
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
                            "[slow]\nscenario = s\nexpect = allocator\ndial = data.d\nvalues = 1, 2\n"
                            "[sized]\nscenario = t\nexpect = small_batch\ndial = data.e\nvalues = 3\npaired = true\n",
                            &err);
  cr_assert_not_null(got, "%s", err.text);
  static const char *const names[] = {"base_seed0", "slow_data.d=1_seed0", "slow_data.d=2_seed0", "base_data.e=3_seed0",
                                      "sized_data.e=3_seed0"};
  static const uint32_t baselines[] = {0, 0, 0, 1, 1};
  cr_assert_eq(got->cell_count, 10);
  for (uint32_t i = 0; i < 5; i++) {
    char name[256];
    corpus_cell_name(got, &got->cells[i], name, sizeof name);
    cr_assert_str_eq(name, names[i]);
    cr_assert_eq(got->cells[i].baseline, baselines[i]);
    cr_assert_eq(got->cells[5 + i].baseline, 2 + baselines[i]);
    cr_assert_eq(got->cells[i].is_baseline, i == 0 || i == 3);
    cr_assert_not(got->cells[i].held_out);
  }
  corpus_free(got);
}

PD_TEST(score, sizes_and_repeats_multiply_and_a_share_of_the_cells_is_held_out) {
  static error err;
  corpus *got =
      read_corpus("[corpus]\nsize = data.n=1\nsize2 = data.n=2\nhold_out = 3\nsinks = csv\n"
                  "[base]\nscenario = control\nexpect = none\nrepeat = 2\n"
                  "[slow]\nscenario = s\nexpect = allocator\ndial = data.d\nvalues = 1, 2, 3\nset = data.p=1\n",
                  &err);
  cr_assert_not_null(got, "%s", err.text);
  static const struct {
    const char *name;
    bool held_out;
  } want[] = {{"base_size0_seed0_run0", false},     {"slow_data.d=1_size0_seed0", false},
              {"slow_data.d=2_size0_seed0", true},  {"slow_data.d=3_size0_seed0", false},
              {"base_size0_seed0_run1", true},      {"base_size1_seed0_run0", true},
              {"slow_data.d=1_size1_seed0", true},  {"slow_data.d=2_size1_seed0", false},
              {"slow_data.d=3_size1_seed0", false}, {"base_size1_seed0_run1", false}};
  cr_assert_eq(got->cell_count, 10);
  for (uint32_t i = 0; i < 10; i++) {
    char name[256];
    corpus_cell_name(got, &got->cells[i], name, sizeof name);
    cr_assert_str_eq(name, want[i].name);
    cr_assert_eq(got->cells[i].held_out, want[i].held_out, "%s", name);
    cr_assert_eq(got->cells[i].baseline, i / 5);
  }
  cr_assert_str_eq(got->groups[1].set, "data.p=1");
  cr_assert_str_eq(got->sinks, "csv");
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
  cr_assert_not_null(strstr(err.text, "the corpus has no baseline: add a section"), "%s", err.text);
  corpus *mixed = read_corpus("[a]\nscenario = control\nexpect = none\n"
                              "[b]\nscenario = s\nexpect = allocator\nalso = input_bound\neffect = baselines\n"
                              "[c]\nscenario = s\nexpect = allocator\neffect = control\n",
                              &err);
  cr_assert_not_null(mixed, "%s", err.text);
  cr_assert_str_eq(mixed->groups[1].also, "input_bound");
  cr_assert(!mixed->groups[0].by_baselines && mixed->groups[1].by_baselines && !mixed->groups[2].by_baselines);
  corpus_free(mixed);
  cr_assert_null(corpus_read("/nowhere/corpus.ini", &err));
}

/* "; pdhost score corpus/h200_wide.ini: 140 runs." in the comment at the top of a corpus; 0: it says nothing. */
static unsigned runs_said(const char *path) {
  char line[512];
  unsigned runs = 0;
  FILE *file = fopen(path, "r");
  cr_assert_not_null(file, "%s", path);
  while (fgets(line, sizeof line, file) && line[0] == ';')
    if (sscanf(line, "; pdhost score %*[^:]: %u runs", &runs) == 1) break;
  fclose(file);
  return runs;
}

PD_TEST(score, the_corpora_of_the_repository_hold_the_runs_that_they_say) {
  static error err;
  unsigned checked = 0;
  glob_t files;
  cr_assert_eq(glob(CORPUS_FOLDER "/[ch]*.ini", 0, NULL, &files), 0);
  for (size_t i = 0; i < files.gl_pathc; i++) {
    const char *path = files.gl_pathv[i];
    error_clear(&err);
    corpus *got = corpus_read(path, &err);
    cr_assert_not_null(got, "%s", err.text);
    const unsigned said = runs_said(path);
    checked += said > 0;
    if (said) cr_expect_eq(got->cell_count, said, "%s: %u", path, got->cell_count);
    corpus_free(got);
  }
  globfree(&files);
  cr_expect_geq(checked, 7);
}

#define BASE "[base]\nscenario = control\nexpect = none\n"
#define SLOW BASE "[slow]\nscenario = s\nexpect = allocator\n" /* 6 lines */

PD_TEST(score, a_corpus_that_would_be_taken_otherwise_than_meant_is_refused) {
  static const struct {
    const char *text, *says;
  } all[] = {
      {BASE "[slow]\nscenario = s\nexpect = host_comptue\n",
       ":6: host_comptue: expect: no cause that a verdict names; there are input_bound, forced_sync, launch_bound, "
       "small_batch, allocator, pageable_copy, pinned_copy, host_compute, serial_streams, device_side, profiler, none; "
       "did you mean host_compute?\n"},
      {BASE "[slow]\nscenario = s\nexpect = failed\n", ":6: failed: expect: no cause"}, /* nor are these verdicts */
      {BASE "[slow]\nscenario = s\nexpect = withheld\n", ":6: withheld: expect: no cause"},
      {BASE "[slow]\nscenario = s\nexpect = unnamed\n", ":6: unnamed: expect: no cause"},
      {SLOW "also = allocator\n", ":7: allocator: also: what the loader injects beside the scenario is input_bound"},
      {BASE "[in]\nscenario = s\nexpect = input_bound\nalso = input_bound\n",
       ":7: input_bound: also: a second cause, beside"},
      {"[base]\nscenario = control\nexpect = none\nalso = input_bound\n", ":4: input_bound: also: a second cause"},
      {SLOW "effect = z\n", ":7: z: effect: control or baselines"},
      {BASE "[b]\nscenario = s\nexpect = none\n", ":4: b: the baseline: one section"},
      {SLOW "dial = d.d\nvalues = 3000, 3000\n", ":8: 3000: values: there already; repeat = 2"},
      {SLOW "dial = d.d\nvalues = 1 3e3 2 3000\n", ":8: 3000: values: there already"},
      {SLOW "dial = d.d\nvalues = 1 2 3 4 5 6 7 8 9 10 11 12 13 14 15 16 17\n", ":8: 17: values: too many"},
      {SLOW "dial = d.d\nvalues = 1\nvalues = 2\n", ":9: values: set twice in this section, first in line 8"},
      {SLOW BASE, ":7: base: there is such a section already, in line 1;"},
      {"[corpus]\nseeds = 2\n" BASE "[corpus]\n", ":6: corpus: there is such a section already, in line 1;"},
      {SLOW "off_path = ja\n", ":7: ja: off_path: not a boolean; write true or false (also yes, no, on, off, 1, 0)"},
      {SLOW "paired = 2\n", ":7: 2: paired: not a boolean"},
      {BASE "[corpus]\nsettle = 3\n", ":5: settle: no such key of [corpus]"},
      {BASE "[corpus]\nset1 = a.b=1\n", ":5: set1: no such key of [corpus]"},
      {BASE "[corpus]\nset02 = a.b=1\n", ":5: set02: no such key of [corpus]"},
      {BASE "[corpus]\nsizes = a.b=1\n", ":5: sizes: no such key of [corpus]"},
      {BASE "[corpus]\nset = a.b=1\nset = a.b=2\n", ":6: set: set twice in this section, first in line 5"},
      {BASE "[corpus]\nset=1\nset2=2\nset3=3\nset4=4\nset5=5\nset6=6\nset7=7\nset8=8\nset9=9\n",
       ":13: 9: too many lines of settings"},
      {BASE "[corpus]\nmin_effect = 1\n", ":5: 1: min_effect: a share, 0 or more and less than 1"}};
  for (size_t i = 0; i < sizeof all / sizeof all[0]; i++) {
    static error err;
    cr_assert_null(read_corpus(all[i].text, &err), "%zu", i);
    cr_assert_eq(err.exit_code, CODE_CONFIG);
    cr_assert_eq(err.count, 1, "%zu: %s", i, err.text);
    cr_assert_not_null(strstr(err.text, all[i].says), "%zu: %s", i, err.text);
  }
}

PD_TEST(score, truth_values_and_numbered_keys_are_read_as_options_are) {
  static const char *const words[] = {"false", "true", "no", "Yes", "off", "on", "0", "1"};
  for (size_t i = 0; i < sizeof words / sizeof words[0]; i++) {
    static error err;
    char text[256];
    snprintf(text, sizeof text, "%soff_path = %s\npaired = %s\n", SLOW, words[i], words[i]);
    corpus *got = read_corpus(text, &err);
    cr_assert_not_null(got, "%s: %s", words[i], err.text);
    cr_assert(got->groups[1].off_path == (i % 2 == 1) && got->groups[1].paired == (i % 2 == 1), "%s", words[i]);
    corpus_free(got);
  }
  static error err;
  corpus *got = read_corpus(SLOW "[corpus]\nset12 = a.b=1\nset = a.c=1\nsize3 = a.d=1\nmin_effect = 0\n", &err);
  cr_assert_not_null(got, "%s", err.text);
  cr_assert(got->set_count == 2 && got->size_count == 1 && got->min_effect == 0);
  cr_assert_str_eq(got->sets[0], "a.b=1");
  corpus_free(got);
}

PD_TEST(score, causes_paired_at_one_value_share_their_baseline) {
  static error err;
  corpus *got = read_corpus(SLOW "dial = data.n\nvalues = 1, 2\npaired = true\n"
                                 "[late]\nscenario = t\nexpect = forced_sync\ndial = data.n\nvalues = 2.0, 3\npaired = "
                                 "true\n",
                            &err);
  cr_assert_not_null(got, "%s", err.text);
  static const char *const names[] = {"base_seed0",          "base_data.n=1_seed0", "slow_data.n=1_seed0",
                                      "base_data.n=2_seed0", "slow_data.n=2_seed0", "late_data.n=2.0_seed0",
                                      "base_data.n=3_seed0", "late_data.n=3_seed0"};
  static const uint32_t classes[] = {0, 1, 1, 2, 2, 2, 3, 3};
  cr_assert_eq(got->cell_count, 8);
  for (uint32_t i = 0; i < 8; i++) {
    char name[256];
    corpus_cell_name(got, &got->cells[i], name, sizeof name);
    cr_assert_str_eq(name, names[i]);
    cr_assert_eq(got->cells[i].baseline, classes[i], "%s", name);
  }
  corpus_free(got);
}
