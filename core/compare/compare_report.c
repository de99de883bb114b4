/* See compare_report.h. */
#include "compare_report.h"

#include "instruction_change.h"
#include "render.h"
#include "run_changes.h"

#include "base/json_text.h"

#include <math.h>
#include <stdio.h>

enum { NAME_BYTES = 512, SENTENCE_BYTES = 2 * NAME_BYTES + 256, DIFFERENCES_SHOWN = 12 };
#define COMPARISON_FORMAT "pdhost.comparison/1"

static const char *sentence(const compare_report *self, const sample_pair *at, char text[SENTENCE_BYTES]) {
  char a[NAME_BYTES], b[NAME_BYTES];
  sample_pair_side(self->from, at->a, at->b, a, sizeof a);
  sample_pair_side(self->from, at->b, at->a, b, sizeof b);
  if (at->timeless)
    snprintf(text, SENTENCE_BYTES, "a time of %s or %s is zero: there is no ratio", a, b);
  else
    comparison_sentence(&at->of, a, b, text, SENTENCE_BYTES);
  return text;
}

/* Whether more blocks might tell what these cannot. */
static bool is_short(const sample_pair *at) {
  const uint64_t a = at->a->figures.count, b = at->b->figures.count;
  return at->verdict == OUTCOME_UNCLEAR && !at->timeless && !at->rounds.rounds &&
         (a < COMPARISON_DIRECTION_LEAST || b < COMPARISON_DIRECTION_LEAST);
}

/* What the two runs of a pair said of themselves; NULL: they are no runs. */
static const run_account *account_of(const compare_report *self, const sample *at) {
  const run_account *said = self->from->runs ? &self->from->runs[at->file] : NULL;
  return said && (said->verdict || said->part_count) ? said : NULL;
}

/* ---- text ---- */

typedef struct listing {
  const char *before; /* of a line */
  uint32_t count;
} listing;

static void print_difference(void *user, const char *key, const char *a, const char *b) {
  listing *self = user;
  if (self->count++ < DIFFERENCES_SHOWN)
    printf("%s%s: %s -> %s\n", self->before, key, a ? a : "(none)", b ? b : "(none)");
}

static bool change_of(const sample_pair *at, instruction_change *out) {
  return at->a->instructions && at->b->instructions &&
         instruction_change_of(at->a->instructions, at->b->instructions, out);
}

static void print_instructions(const sample_pair *at, const char *before) {
  instruction_change change;
  char text[NAME_BYTES];
  if (!change_of(at, &change)) return;
  printf("%s%s\n", before, instruction_change_text(&change, text, sizeof text));
  for (uint32_t i = 0; i < change.function_count; i++)
    printf("%s  %s\n", before, function_change_text(&change.functions[i], text, sizeof text));
}

/* What a reader of the verdict has to know, in lines of their own. */
static void print_notes(const compare_report *self, const sample_pair *at, const char *before) {
  listing differences = {.before = before};
  const uint64_t longer =
      at->a->of->number_per_run > at->b->of->number_per_run ? at->a->of->number_per_run : at->b->of->number_per_run;
  if (is_short(at) && account_of(self, at->a))
    printf("%sa side has fewer than %d blocks of iterations; record more in both: --profile_steps %llu\n", before,
           COMPARISON_DIRECTION_LEAST, (unsigned long long)(COMPARISON_DIRECTION_LEAST * longer));
  else if (is_short(at))
    printf("%sa side has fewer than %d blocks; measure both with -o benchmark.min_run_time=2 -o "
           "benchmark.min_blocks=40\n",
           before, COMPARISON_DIRECTION_LEAST);
  if (at->rounds.rounds)
    printf("%staken in turns: %llu round%s in %llu restart%s; the rounds disagree by %.1f %%\n", before,
           (unsigned long long)at->rounds.rounds, at->rounds.rounds == 1 ? "" : "s",
           (unsigned long long)at->rounds.restarts, at->rounds.restarts == 1 ? "" : "s", 100 * at->rounds.spread);
  print_instructions(at, before);
  sample_pair_differences(at, print_difference, &differences);
  if (differences.count > DIFFERENCES_SHOWN)
    printf("%sand %u more differences\n", before, differences.count - DIFFERENCES_SHOWN);
}

/* Where the time of each went, below the notes. */
static void print_changes(const compare_report *self, const sample_pair *at, bool markdown) {
  char a[NAME_BYTES], b[NAME_BYTES];
  const run_account *first = account_of(self, at->a), *second = account_of(self, at->b);
  if (!first || !second) return;
  const run_changes of = {.names = {sample_pair_side(self->from, at->a, at->b, a, sizeof a),
                                    sample_pair_side(self->from, at->b, at->a, b, sizeof b)},
                          .sides = {first, second}};
  run_changes_print(&of, markdown, stdout);
}

static void print_pair(const compare_report *self, const sample_pair *at, bool color) {
  char title[NAME_BYTES], text[SENTENCE_BYTES];
  printf("\n%s%-7s%s  %s: %s\n", color ? comparison_color(at->verdict) : "", comparison_word(at->verdict),
         color ? "\033[0m" : "", sample_pair_title(at, title, sizeof title), sentence(self, at, text));
  print_notes(self, at, "         ");
  print_changes(self, at, false);
}

static void print_alone(const compare_report *self, const char *before) {
  char title[NAME_BYTES];
  if (self->pairs->alone_count) putchar('\n');
  for (uint32_t i = 0; i < self->pairs->alone_count; i++) {
    const sample *at = self->pairs->alone[i];
    printf("%sonly in %s: %s\n", before, self->from->names[at->file], sample_title(at, true, title, sizeof title));
  }
}

bool compare_report_text(const compare_report *self, bool color) {
  for (uint32_t i = 0; i < self->tables->count; i++) {
    if (i) putchar('\n');
    render_text(&self->tables->all[i], color, stdout);
    if (self->wide && !render_wide(&self->tables->all[i], false, stdout)) return false;
  }
  for (uint32_t i = 0; i < self->pairs->count; i++) print_pair(self, &self->pairs->all[i], color);
  print_alone(self, "");
  return true;
}

/* ---- Markdown ---- */

bool compare_report_markdown(const compare_report *self) {
  char title[NAME_BYTES], text[SENTENCE_BYTES];
  for (uint32_t i = 0; i < self->tables->count; i++) {
    if (i) putchar('\n');
    render_markdown(&self->tables->all[i], stdout);
    if (self->wide && !render_wide(&self->tables->all[i], true, stdout)) return false;
  }
  if (self->pairs->count) putchar('\n');
  for (uint32_t i = 0; i < self->pairs->count; i++) {
    const sample_pair *at = &self->pairs->all[i];
    printf("- **%s** %s: %s\n", comparison_word(at->verdict), sample_pair_title(at, title, sizeof title),
           sentence(self, at, text));
    print_notes(self, at, "  - ");
    print_changes(self, at, true);
  }
  print_alone(self, "- ");
  return true;
}

/* ---- CSV ---- */

void compare_report_csv(const compare_report *self) {
  render_csv_heading(stdout);
  for (uint32_t i = 0; i < self->tables->count; i++) render_csv(&self->tables->all[i], self->from, stdout);
}

/* ---- JSON ---- */

/* null where nothing was counted. */
static json_t *cell_instructions(const sample *at) {
  instruction_figures step;
  if (!at->instructions) return json_null();
  instructions_figures(at->instructions, &step);
  return json_real(step.median);
}

static json_t *cell_value(const compare_report *self, const sample *at) {
  const statistics *of = &at->figures;
  return json_pack(
      "{s:s, s:s, s:s?, s:s?, s:I, s:s, s:s, s:f, s:f, s:f, s:f, s:f, s:f, s:f, s:f, s:f, s:f, s:I, s:i, s:b, s:o}",
      "label", sample_label(at), "sub_label", sample_row_name(at), "description", at->of->description, "env",
      at->of->env, "threads", (json_int_t)at->of->threads, "file", self->from->names[at->file], "device",
      at->of->device, "median_s", of->median, "mean_s", of->mean, "iqr_s", of->iqr, "min_s", of->min, "max_s", of->max,
      "p25_s", of->p25, "p75_s", of->p75, "p90_s", of->p90, "p99_s", of->p99, "mad_s", of->mad, "blocks",
      (json_int_t)of->count, "figures", of->figures, "partial", (int)at->partial, "instructions",
      cell_instructions(at));
}

typedef struct difference_list {
  json_t *array;
  bool failed;
} difference_list;

static void add_difference(void *user, const char *key, const char *a, const char *b) {
  difference_list *self = user;
  if (json_array_append_new(self->array, json_pack("{s:s, s:s?, s:s?}", "key", key, "a", a, "b", b)) != 0)
    self->failed = true;
}

/* NaN and the infinities are null. */
static json_t *number(const sample_pair *at, double value) {
  return at->timeless || !isfinite(value) ? json_null() : json_real(value);
}

/* null where a side was not counted. */
static json_t *change_value(const sample_pair *at) {
  instruction_change change;
  if (!change_of(at, &change)) return json_null();
  json_t *functions = json_array();
  for (uint32_t i = 0; functions && i < change.function_count; i++) {
    const function_change *of = &change.functions[i];
    if (json_array_append_new(functions, json_pack("{s:s, s:s, s:f, s:f}", "name", of->name, "object", of->object, "a",
                                                   of->a, "b", of->b)) != 0) {
      json_decref(functions);
      functions = NULL;
    }
  }
  return json_pack("{s:f, s:f, s:o, s:b, s:o}", "a", change.a.median, "b", change.b.median, "ratio",
                   change.ratio > 0 ? json_real(change.ratio) : json_null(), "within", (int)change.within, "functions",
                   functions);
}

static json_t *pair_value(const compare_report *self, const sample_pair *at) {
  char title[NAME_BYTES], a[NAME_BYTES], b[NAME_BYTES];
  difference_list list = {.array = json_array()};
  if (list.array) sample_pair_differences(at, add_difference, &list);
  if (list.failed) {
    json_decref(list.array);
    list.array = NULL;
  }
  json_t *turns = json_null();
  if (at->rounds.rounds)
    turns = json_pack("{s:I, s:I, s:f}", "rounds", (json_int_t)at->rounds.rounds, "restarts",
                      (json_int_t)at->rounds.restarts, "spread", at->rounds.spread);
  return json_pack(
      "{s:s, s:s, s:s, s:s, s:o, s:o, s:o, s:o, s:o, s:o, s:o}", "task", sample_pair_title(at, title, sizeof title),
      "a", sample_pair_side(self->from, at->a, at->b, a, sizeof a), "b",
      sample_pair_side(self->from, at->b, at->a, b, sizeof b), "verdict", comparison_word(at->verdict), "ratio",
      number(at, at->of.ratio), "low", number(at, at->of.low), "high", number(at, at->of.high), "p",
      number(at, at->of.p), "paired", turns, "instructions", change_value(at), "differences", list.array);
}

/* One of each file that is a run's document. */
static json_t *runs_value(const compare_report *self) {
  json_t *all = json_array();
  for (uint32_t i = 0; i < self->from->file_count && self->from->runs && all; i++) {
    const run_account *said = &self->from->runs[i];
    if (!said->verdict && !said->part_count) continue;
    json_t *parts = json_array();
    for (uint32_t k = 0; k < said->part_count; k++)
      (void)json_array_append_new(
          parts, json_pack("{s:s, s:f}", "category", said->parts[k].category, "per_step_s", said->parts[k].per_step_s));
    const bool kept = json_array_size(parts) == said->part_count &&
                      json_array_append_new(all, json_pack("{s:s, s:s?, s:o}", "file", self->from->names[i], "verdict",
                                                           said->verdict, "parts", parts)) == 0;
    if (kept) continue;
    json_decref(all);
    all = NULL;
  }
  return all;
}

bool compare_report_json(const compare_report *self) {
  json_t *cells = json_array(), *verdicts = json_array(), *alone = json_array();
  bool whole = true;
  for (uint32_t i = 0; i < self->from->count; i++)
    whole = json_array_append_new(cells, cell_value(self, &self->from->all[i])) == 0 && whole;
  for (uint32_t i = 0; i < self->pairs->count; i++)
    whole = json_array_append_new(verdicts, pair_value(self, &self->pairs->all[i])) == 0 && whole;
  for (uint32_t i = 0; i < self->pairs->alone_count; i++)
    whole = json_array_append_new(alone, cell_value(self, self->pairs->alone[i])) == 0 && whole;
  json_t *document = json_pack("{s:s, s:o, s:o, s:o, s:o}", "format", COMPARISON_FORMAT, "cells", cells, "verdicts",
                               verdicts, "unmatched", alone, "runs", runs_value(self));
  const bool printed = whole && json_text_print(json_incref(document), JSON_INDENT(1) | JSON_REAL_PRECISION(17));
  json_decref(document);
  return printed;
}
