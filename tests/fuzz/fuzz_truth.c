/* A run's truth.json, whatever its bytes: what is taken of it are shares of a step and causes that the verdict names,
 * and a corpus that is judged by them has its reports. Those take long: they are made where the bytes have a sum that
 * few have. */
#include "fuzz.h"

#include "fuzz_printed.h"

#include "run/ranks/rank_summary.h"
#include "score/score_report.h"
#include "score/truth_file.h"

#include <math.h>

static const char corpus_text[] = "[corpus]\n[base]\nscenario = control\nexpect = none\n[slow]\nscenario = sync\n"
                                  "expect = forced_sync\nalso = input_bound\n";

enum { ONE_IN = 251 };

static bool is_judged(const uint8_t *data, size_t bytes) {
  size_t sum = 0;
  for (size_t i = 0; i < bytes; i++) sum += data[i];
  return sum % ONE_IN == 0;
}

static bool is_share(double value) { return isfinite(value) && value <= 1; }

static bool is_cause(const char *name) {
  for (uint32_t i = 0; i < VERDICT_COUNT; i++)
    if (strcmp(verdict_key(i), name) == 0) return true;
  return ranks_verdict_is_cause(name);
}

static void check_label(const truth_label *of) {
  check((isnan(of->effect) || is_share(of->effect)) && (isnan(of->also) || is_share(of->also)));
  check(of->cure_count <= TRUTH_LABEL_CURES);
  for (uint32_t i = 0; i < of->cure_count; i++) {
    const truth_label_cure *at = &of->cures[i];
    check(is_cause(at->cause) && is_share(at->share) && is_share(at->low) && is_share(at->high));
  }
}

static void check_file(const char *folder, const char *name) {
  char path[128], text[1 << 16];
  snprintf(path, sizeof path, "%s/%s", folder, name);
  FILE *file = fopen(path, "r");
  check(file != NULL);
  const size_t bytes = fread(text, 1, sizeof text - 1, file);
  text[bytes] = '\0';
  fclose(file);
  if (strcmp(name, "score.json") == 0) {
    json_t *document = json_loads(text, JSON_REJECT_DUPLICATES, NULL);
    check(json_integer_value(json_object_get(document, "runs")) == 2);
    json_decref(document);
  } else if (strcmp(name, "score.html") != 0) {
    check_visible(text, bytes);
  }
  (void)unlink(path);
}

static void check_reports(const score *self) {
  static const char *const names[] = {"score.json",      "figures.csv", "score.csv", "confusion.csv",
                                      "calibration.csv", "rivals.csv",  "cells.csv", "score.html"};
  static error err;
  char folder[] = "/dev/shm/pdhost_fuzz_XXXXXX";
  fuzz_printed shown;
  check(mkdtemp(folder) != NULL);
  error_clear(&err);
  fuzz_printed_begin(&shown);
  const bool whole = report_files(self, folder, &err);
  report_table(self);
  fuzz_printed_end(&shown);
  check(whole);
  for (size_t i = 0; i < sizeof names / sizeof names[0]; i++) check_file(folder, names[i]);
  check(rmdir(folder) == 0);
  check_visible(shown.text, shown.bytes);
  fuzz_printed_free(&shown);
}

static void judge(const corpus *all, const truth_label *label) {
  static error err;
  static score self; /* large */
  fix_trial fixes[2] = {{.settings = NULL}};
  judged cells[2];
  reading readings[2];
  for (int i = 0; i < 2; i++) {
    readings[i] = (reading){.cause = "forced_sync", .step_ns = 2e6, .share = 0.5, .repeatable = 1, .least = 0.04};
    readings[i].label = *label;
    check(judge_truth(&all->groups[all->cells[i].group], &readings[i])[0]);
  }
  self = (score){.corpus = all, .readings = readings, .fixes = fixes, .judged = cells};
  error_clear(&err);
  check(score_judge(&self, &err));
  check_reports(&self);
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t bytes) {
  static error err;
  char path[64];
  if (!fuzz_file(data, bytes, path)) return 0;
  const truth_label label = truth_label_read(path);
  (void)unlink(path);
  check_label(&label);
  if (!is_judged(data, bytes)) return 0;
  error_clear(&err);
  corpus *all = corpus_take("c.ini", corpus_text, strlen(corpus_text), &err);
  check(all && all->cell_count == 2);
  judge(all, &label);
  corpus_free(all);
  return 0;
}
