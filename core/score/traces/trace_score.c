/* See trace_score.h. */
#include "trace_score.h"

#include "trace_answers.h"

#include "base/files.h"
#include "ledger/gains.h"
#include "score/score_figures.h"

#include <jansson.h>
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

enum { WRONG_SHOWN = 20, NAME_COLUMNS = 30 };

/* Causes by name; the first is "none". */
typedef struct names {
  const char *all[FIGURES_CAUSES];
  uint32_t count;
  bool full;
} names;

static uint32_t index_of(names *self, const char *name) {
  for (uint32_t i = 0; i < self->count; i++)
    if (strcmp(self->all[i], name) == 0) return i;
  if (self->count == FIGURES_CAUSES) {
    self->full = true;
    return 0;
  }
  self->all[self->count] = name;
  return self->count++;
}

static const label_gain *gain_of(const label *of, const char *cause) {
  for (uint32_t i = 0; i < of->gain_count; i++)
    if (strcmp(of->gains[i].cause, cause) == 0) return &of->gains[i];
  return NULL;
}

/* For each cause that both give a figure of. */
static void compare_gains(const label *truth, const label *said, judged *out) {
  for (uint32_t i = 0; said && i < truth->gain_count && out->gain_count < FIGURES_GAINS; i++) {
    const label_gain *from = &truth->gains[i], *own = gain_of(said, from->cause);
    const double share = from->share > 0 ? from->share : 0;
    const bool graph = truth->by_graph && !isnan(said->graph) && strcmp(from->cause, "launch_bound") == 0;
    if (own) out->gain_errors[out->gain_count++] = 100 * ((graph ? said->graph : own->share) - share);
  }
}

static judged judge(names *causes, const label *truth, const label *said, const char *verdict) {
  const label_gain *from = gain_of(truth, truth->cause), *own = said ? gain_of(said, truth->cause) : NULL;
  judged out = {.truth = index_of(causes, truth->cause),
                .verdict = index_of(causes, verdict),
                .counts = true,
                .effect = from ? from->share : 0,
                .share = own ? own->share : 0,
                .mixed_error = (double)NAN,
                .fix_error = (double)NAN};
  compare_gains(truth, said, &out);
  return out;
}

typedef struct scoring {
  const trace_score_request *request;
  labels truth, answers;
  trace_answers given;
  names causes;
  judged *cells;
  figures *of;
} scoring;

/* What is said of label `i`; NULL: nothing. */
static const label *said_of(const scoring *self, uint32_t i) {
  return self->request->answers ? labels_find(&self->answers, self->truth.all[i].trace) : &self->given.all[i].said;
}

/* ---- what is printed ---- */

static void print_rate(const char *title, double value, double low, double high, double scale, const char *unit) {
  if (isnan(value))
    printf("  %-*s n/a\n", NAME_COLUMNS, title);
  else if (isnan(low) || isnan(high))
    printf("  %-*s %.3g%s\n", NAME_COLUMNS, title, scale * value, unit);
  else
    printf("  %-*s %.3g%s (95 %%: %.3g to %.3g)\n", NAME_COLUMNS, title, scale * value, unit, scale * low,
           scale * high);
}

static void print_figures(const char *who, const figures *of, uint32_t right) {
  const figures_values *v = &of->value, *low = &of->low, *high = &of->high;
  printf("%s: %u of %u right\n", who, right, of->counted);
  print_rate("accuracy", v->accuracy, low->accuracy, high->accuracy, 100, " %");
  print_rate("macro-F1", v->macro_f1, low->macro_f1, high->macro_f1, 1, "");
  print_rate("false alarms", v->false_alarms, low->false_alarms, high->false_alarms, 100, " %");
  print_rate("error of gains, median", v->gain_error_median, low->gain_error_median, high->gain_error_median, 1,
             " points");
  print_rate("error of gains, p95", v->gain_error_p95, low->gain_error_p95, high->gain_error_p95, 1, " points");
}

/* Who hedges its answers well is seldom wrong where it does not. */
static void print_sure(const scoring *self) {
  uint32_t all[2] = {0}, right[2] = {0};
  for (uint32_t i = 0; i < self->truth.count; i++) {
    const label *said = said_of(self, i);
    if (!said || strcmp(said->cause, "withheld") == 0) continue;
    all[said->is_unsure]++;
    right[said->is_unsure] += self->cells[i].truth == self->cells[i].verdict;
  }
  if (!all[1]) return;
  printf("  %-*s %u of %u right\n", NAME_COLUMNS, "sure answers", right[0], all[0]);
  printf("  %-*s %u of %u right\n", NAME_COLUMNS, "hedged answers", right[1], all[1]);
}

/* Where the label itself may be another, a wrong answer says little. */
static void print_sure_labels(const scoring *self) {
  uint32_t known = 0, sure = 0, right = 0;
  for (uint32_t i = 0; i < self->truth.count; i++) {
    const double agreeing = self->truth.all[i].agreeing;
    if (isnan(agreeing)) continue;
    known++;
    if (agreeing < LABEL_SURE) continue;
    sure++;
    right += self->cells[i].truth == self->cells[i].verdict;
  }
  if (known) printf("  %-*s %u of %u right\n", NAME_COLUMNS, "where the label is sure", right, sure);
}

static void print_causes(const names *causes, const figures *of) {
  printf("\n%-*s %7s %7s %7s %10s %8s %6s\n", NAME_COLUMNS, "cause", "traces", "named", "right", "precision", "recall",
         "F1");
  for (uint32_t c = 0; c < causes->count; c++) {
    const cause_counts *at = &of->counts[c];
    if (!at->runs && !at->named) continue;
    printf("%-*s %7u %7u %7u", NAME_COLUMNS, causes->all[c], at->runs, at->named, at->right);
    const cause_figures *value = &of->value.of[c];
    const double all[] = {value->precision, value->recall, value->f1};
    static const int widths[] = {10, 8, 6};
    for (int i = 0; i < 3; i++) {
      if (isnan(all[i]))
        printf(" %*s", widths[i], "-");
      else
        printf(" %*.2f", widths[i], all[i]);
    }
    putchar('\n');
  }
}

static void print_wrong(const labels *truth, const judged *cells, const names *causes) {
  uint32_t count = 0;
  for (uint32_t i = 0; i < truth->count; i++) {
    if (cells[i].truth == cells[i].verdict) continue;
    if (!count++) printf("\nwrong:\n");
    if (count <= WRONG_SHOWN)
      printf("  %s: %s, and is %s (%.1f %%)\n", truth->all[i].trace, causes->all[cells[i].verdict],
             causes->all[cells[i].truth], 100 * cells[i].effect);
  }
  if (count > WRONG_SHOWN) printf("  and %u more\n", count - WRONG_SHOWN);
}

static uint32_t right_of(const judged *cells, uint32_t count) {
  uint32_t right = 0;
  for (uint32_t i = 0; i < count; i++) right += cells[i].truth == cells[i].verdict;
  return right;
}

/* Rivals come without gains. */
static bool print_rivals(const labels *truth, const trace_answers *given, names *causes, judged *cells, figures *room) {
  printf("\n%-*s %7s %10s %10s\n", NAME_COLUMNS, "rules of other tools", "right", "accuracy", "macro-F1");
  for (uint32_t r = 0; r < RIVAL_COUNT; r++) {
    for (uint32_t i = 0; i < truth->count; i++) {
      const char *said = given->all[i].rivals[r];
      cells[i] = judge(causes, &truth->all[i], NULL, said ? said : "failed");
    }
    if (!figures_make(cells, truth->count, causes->count, room)) return false;
    printf("%-*s %7u %8.1f %% %10.3f\n", NAME_COLUMNS, rival_all[r]->title, right_of(cells, truth->count),
           100 * room->value.accuracy, room->value.macro_f1);
  }
  return true;
}

/* ---- the answers as a file ---- */

static json_t *answer_value(const trace_answer *of) {
  json_t *shares = json_object();
  for (uint32_t i = 0; i < of->said.gain_count && shares; i++)
    (void)json_object_set_new(shares, of->said.gains[i].cause, json_real(of->said.gains[i].share));
  json_t *graph = isnan(of->said.graph) ? NULL : json_real(of->said.graph);
  return json_pack("{s:s, s:s, s:b, s:o, s:o*, s:s*}", "trace", of->said.trace, "cause", of->said.cause, "sure",
                   (int)(!of->said.is_unsure && !of->why), "gains", shares, "graph_gain", graph, "why", of->why);
}

static bool write_answers(const trace_answers *given, uint32_t count, const char *folder, error *err) {
  char path[4096], fault[512], *temporary = NULL;
  (void)snprintf(path, sizeof path, "%s/answers.jsonl", folder);
  if (files_make_folder(folder, fault, sizeof fault) != PD_OK) {
    error_set(err, PD_IO, CODE_OUTPUT, "score: %s", fault);
    return false;
  }
  FILE *out = files_open_stream(path, &temporary);
  bool whole = out != NULL;
  for (uint32_t i = 0; i < count && whole; i++) {
    json_t *value = answer_value(&given->all[i]);
    whole = value && json_dumpf(value, out, JSON_REAL_PRECISION(4)) == 0 && fputc('\n', out) != EOF;
    json_decref(value);
  }
  if (out && files_end_stream(out, whole, path, temporary)) return true;
  error_set(err, PD_IO, CODE_OUTPUT, "score: %s: cannot be written", path);
  return false;
}

/* ---- both together ---- */

static bool report(scoring *self) {
  const uint32_t count = self->truth.count;
  for (uint32_t i = 0; i < count; i++) {
    const label *said = said_of(self, i);
    self->cells[i] = judge(&self->causes, &self->truth.all[i], said, said ? said->cause : "no answer");
  }
  const trace_answer *given = self->given.all; /* NULL: another tool answers */
  for (uint32_t i = 0; i < count && given; i++)
    for (uint32_t r = 0; r < RIVAL_COUNT; r++)
      (void)index_of(&self->causes, given[i].rivals[r] ? given[i].rivals[r] : "failed");
  if (self->causes.full || !figures_make(self->cells, count, self->causes.count, self->of)) return false;
  print_figures(self->request->answers ? self->request->answers : "pdhost", self->of, right_of(self->cells, count));
  print_sure(self);
  print_sure_labels(self);
  print_causes(&self->causes, self->of);
  print_wrong(&self->truth, self->cells, &self->causes);
  return !given || print_rivals(&self->truth, &self->given, &self->causes, self->cells, self->of);
}

static bool score_all(scoring *self, error *err) {
  const trace_score_request *request = self->request;
  if (!labels_read(request->labels, GAINS_LEAST_CUDA, &self->truth, err)) return false;
  if (request->answers ? !labels_read(request->answers, (double)NAN, &self->answers, err)
                       : !trace_answers_make(&self->truth, request->folder, request->no_python, &self->given, err))
    return false;
  self->cells = calloc((size_t)self->truth.count + 1, sizeof *self->cells);
  self->of = calloc(1, sizeof *self->of);
  if (!self->cells || !self->of || !report(self)) {
    error_set(err, self->causes.full ? PD_INVALID : PD_NO_MEMORY, self->causes.full ? CODE_CONFIG : CODE_INTERNAL,
              self->causes.full ? "score: more than %d causes are named" : "out of memory", FIGURES_CAUSES);
    return false;
  }
  return !request->out || request->answers || write_answers(&self->given, self->truth.count, request->out, err);
}

int trace_score(const trace_score_request *request, error *err) {
  scoring self = {.request = request, .causes = {.all = {"none"}, .count = 1}};
  const bool ok = score_all(&self, err);
  labels_free(&self.truth);
  labels_free(&self.answers);
  trace_answers_free(&self.given);
  free(self.cells);
  free(self.of);
  return ok ? CODE_DONE : err->exit_code;
}
