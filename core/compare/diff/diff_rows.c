/* See diff_rows.h. */
#include "diff_rows.h"

#include "diff_match.h"

#include "base/statistics.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

enum { SEED = 1 };

static bool is_sure(const resample_change *of) { return of->low > 0 || of->high < 0; }

/* False on no memory. */
static bool find_change(const difference *self, const double *a, const double *b, resample_change *out) {
  const uint32_t count_a = self->sides[0]->step_count, count_b = self->sides[1]->step_count;
  if (!resample_means(a, count_a, b, count_b, SEED, out)) return false;
  if (!self->has_spread) out->low = out->high = (double)NAN;
  return true;
}

static bool compare_steps(difference *self) {
  const diff_side *a = self->sides[0], *b = self->sides[1];
  const uint32_t least = a->step_count < b->step_count ? a->step_count : b->step_count;
  for (int side = 0; side < 2; side++) {
    statistics of;
    if (!statistics_make(self->sides[side]->step_ns, self->sides[side]->step_count, &of)) return false;
    self->median_ns[side] = of.median;
    self->mean_ns[side] = of.mean;
  }
  if (!find_change(self, a->step_ns, b->step_ns, &self->change)) return false;
  self->verdict = OUTCOME_UNCLEAR;
  if (self->median_ns[0] <= 0 || self->median_ns[1] <= 0 || a->cut || b->cut) return true;
  if (self->has_spread && least >= COMPARISON_DIRECTION_LEAST) {
    const bool ok = resample_unpaired(a->step_ns, a->step_count, b->step_ns, b->step_count, SEED, &self->step);
    if (ok) self->verdict = comparison_of(&self->step, self->margin);
    return ok;
  }
  resample_ratio decides = {.ratio = self->mean_ns[1] / self->mean_ns[0],
                            .low = 1 + self->change.low / self->mean_ns[0],
                            .high = 1 + self->change.high / self->mean_ns[0],
                            .p = 0};
  if (self->has_spread && least >= DIFF_STEPS_LEAST) self->verdict = comparison_of(&decides, self->margin);
  self->step = decides;
  self->step.p = (double)NAN;
  return true;
}

/* ---- causes ---- */

static int by_cause_change(const void *a, const void *b) {
  const double x = fabs(((const diff_cause *)a)->change.change), y = fabs(((const diff_cause *)b)->change.change);
  return (x < y) - (x > y);
}

static void compare_causes(difference *self) {
  const diff_side *a = self->sides[0], *b = self->sides[1];
  if (!a->gain_steps || !b->gain_steps) return;
  for (uint32_t c = 0; c < VERDICT_none; c++) {
    const diff_gain *from = &a->gains[c], *to = &b->gains[c];
    if (from->ns <= 0 && to->ns <= 0) continue;
    const double change = to->ns - from->ns;
    diff_cause *made = &self->causes[self->cause_count++];
    *made = (diff_cause){.cause = c,
                         .gains = {*from, *to},
                         .change = {.change = change,
                                    .low = change - hypot(to->ns - to->low, from->high - from->ns),
                                    .high = change + hypot(to->high - to->ns, from->ns - from->low)}};
    made->is_sure = is_sure(&made->change);
  }
  qsort(self->causes, self->cause_count, sizeof *self->causes, by_cause_change);
}

/* ---- rows ---- */

typedef struct ranked {
  double amount;
  uint32_t match;
} ranked;

static int by_amount(const void *a, const void *b) {
  const ranked *x = a, *y = b;
  if (x->amount < y->amount || x->amount > y->amount) return (x->amount < y->amount) - (x->amount > y->amount);
  return (x->match > y->match) - (x->match < y->match);
}

/* What the shown rows took in each step of a side: `count` rows of step_count values. NULL on no memory. */
static double *steps_of_rows(const diff_side *side, const uint32_t *match_of, const uint32_t *shown_of,
                             uint32_t count) {
  double *values = calloc((size_t)count * side->step_count + 1, sizeof *values);
  for (uint32_t i = 0; values && i < side->cell_count; i++) {
    const diff_cell *cell = &side->cells[i];
    const uint32_t match = match_of[cell->key];
    if (match != PD_NONE && shown_of[match] != PD_NONE)
      values[(size_t)shown_of[match] * side->step_count + cell->step] += (double)cell->ns;
  }
  return values;
}

static bool fill_list(const difference *self, const diff_matches *matches, const ranked *order, uint32_t *shown_of,
                      diff_list *out) {
  const diff_side *a = self->sides[0], *b = self->sides[1];
  for (uint32_t i = 0; i < out->count; i++) shown_of[order[i].match] = i;
  double *of_a = steps_of_rows(a, matches->of_key[0], shown_of, out->count);
  double *of_b = steps_of_rows(b, matches->of_key[1], shown_of, out->count);
  bool ok = of_a && of_b;
  for (uint32_t i = 0; i < out->count && ok; i++) {
    const diff_match *from = &matches->all[order[i].match];
    diff_row *row = &out->rows[i];
    *row = (diff_row){.name = from->name, .shapes = {from->shapes[0], from->shapes[1]}};
    for (int side = 0; side < 2; side++) {
      row->ns[side] = from->ns[side] / self->sides[side]->step_count;
      row->count[side] = (double)from->count[side] / self->sides[side]->step_count;
    }
    ok = find_change(self, of_a + (size_t)i * a->step_count, of_b + (size_t)i * b->step_count, &row->change);
    row->is_sure = is_sure(&row->change);
  }
  free(of_a);
  free(of_b);
  return ok;
}

static bool make_list(difference *self, diff_kind kind, uint32_t rows) {
  diff_list *out = &self->lists[kind];
  diff_matches matches;
  bool ok = diff_matches_make(self->sides[0], self->sides[1], kind, &matches);
  ranked *order = ok ? calloc((size_t)matches.count + 1, sizeof *order) : NULL;
  uint32_t *shown_of = ok ? malloc(((size_t)matches.count + 1) * sizeof *shown_of) : NULL;
  for (uint32_t i = 0; order && shown_of && i < matches.count; i++) {
    const diff_match *at = &matches.all[i];
    const double a = at->ns[0] / self->sides[0]->step_count, b = at->ns[1] / self->sides[1]->step_count;
    order[i] = (ranked){fabs(b - a), i};
    shown_of[i] = PD_NONE;
    out->gone += !at->shapes[1];
    out->added += !at->shapes[0];
    out->changed += at->shapes[0] && at->shapes[1] && order[i].amount > 0;
  }
  ok = order && shown_of;
  if (ok) {
    qsort(order, matches.count, sizeof *order, by_amount);
    out->count = matches.count < rows ? matches.count : rows;
    while (out->count && order[out->count - 1].amount <= 0) out->count--;
    out->rows = calloc((size_t)out->count + 1, sizeof *out->rows);
    ok = out->rows && fill_list(self, &matches, order, shown_of, out);
  }
  free(order);
  free(shown_of);
  diff_matches_free(&matches);
  return ok;
}

bool difference_make(const diff_side *a, const diff_side *b, double margin, uint32_t rows, difference *out) {
  *out = (difference){.sides = {a, b},
                      .margin = margin,
                      .has_device = a->has_device && b->has_device,
                      .has_spread = a->has_loop && b->has_loop && a->step_count > 1 && b->step_count > 1};
  bool ok = compare_steps(out);
  compare_causes(out);
  /* Where one side alone has device records, host time would be compared with device time. */
  if (a->has_device != b->has_device || a->cut || b->cut) return ok;
  for (diff_kind kind = 0; kind < DIFF_KIND_COUNT && ok; kind++) ok = make_list(out, kind, rows);
  return ok;
}

void difference_close(difference *self) {
  for (diff_kind kind = 0; kind < DIFF_KIND_COUNT; kind++) free(self->lists[kind].rows);
}
