/* See diff_report.h: for programs. Times are nanoseconds of a step. */
#include "diff_report.h"

#include "base/json_text.h"

#include <math.h>

#define DIFF_FORMAT "pdhost.diff/1"

static json_t *number_value(double value) { return isfinite(value) ? json_real(value) : json_null(); }

static json_t *change_value(const resample_change *of) {
  return json_pack("{s:f, s:o, s:o}", "change_ns", of->change, "low_ns", number_value(of->low), "high_ns",
                   number_value(of->high));
}

static json_t *side_value(const difference *self, int side) {
  const diff_side *of = self->sides[side];
  return json_pack("{s:s, s:s, s:b, s:I, s:b, s:f, s:f, s:s?, s:s?}", "file", of->path, "device", of->device,
                   "has_loop", (int)of->has_loop, "steps", (json_int_t)(of->has_loop ? of->step_count : 0),
                   "steps_marked", (int)of->marked, "median_ns", self->median_ns[side], "mean_ns", self->mean_ns[side],
                   "cause", of->cause < VERDICT_COUNT ? verdict_key(of->cause) : (const char *)NULL, "withheld",
                   of->gain_steps ? (const char *)NULL : of->withheld);
}

static json_t *row_value(const diff_row *row) {
  return json_pack("{s:s, s:s?, s:s?, s:f, s:f, s:f, s:f, s:b, s:o}", "name", row->name, "shape_a", row->shapes[0],
                   "shape_b", row->shapes[1], "a_ns", row->ns[0], "b_ns", row->ns[1], "a_count", row->count[0],
                   "b_count", row->count[1], "sure", (int)row->is_sure, "change", change_value(&row->change));
}

static json_t *list_value(const diff_list *of) {
  json_t *rows = json_array();
  for (uint32_t i = 0; i < of->count && rows; i++)
    if (json_array_append_new(rows, row_value(&of->rows[i])) != 0) {
      json_decref(rows);
      rows = NULL;
    }
  return json_pack("{s:I, s:I, s:I, s:o}", "new", (json_int_t)of->added, "gone", (json_int_t)of->gone, "changed",
                   (json_int_t)of->changed, "rows", rows);
}

static json_t *causes_value(const difference *self) {
  json_t *all = json_array();
  for (uint32_t i = 0; i < self->cause_count && all; i++) {
    const diff_cause *at = &self->causes[i];
    if (json_array_append_new(all, json_pack("{s:s, s:f, s:f, s:o}", "cause", verdict_key(at->cause), "a_ns",
                                             at->gains[0].ns, "b_ns", at->gains[1].ns, "change",
                                             change_value(&at->change))) != 0) {
      json_decref(all);
      all = NULL;
    }
  }
  return all;
}

static json_t *step_value(const difference *self) {
  const bool has_ratio =
      self->sides[0]->has_loop == self->sides[1]->has_loop && self->median_ns[0] > 0 && self->median_ns[1] > 0;
  const resample_ratio *of = &self->step;
  return json_pack("{s:o, s:o, s:o, s:o, s:o}", "ratio", has_ratio ? number_value(of->ratio) : json_null(), "low",
                   has_ratio ? number_value(of->low) : json_null(), "high",
                   has_ratio ? number_value(of->high) : json_null(), "p", has_ratio ? number_value(of->p) : json_null(),
                   "mean", change_value(&self->change));
}

bool diff_report_json(const difference *self) {
  json_t *document =
      json_pack("{s:s, s:o, s:o, s:s, s:o, s:o, s:o, s:o, s:o}", "format", DIFF_FORMAT, "a", side_value(self, 0), "b",
                side_value(self, 1), "verdict", comparison_word(self->verdict), "step", step_value(self), "ledger",
                list_value(&self->lists[DIFF_LEDGER]), "gains", causes_value(self), "kernels",
                list_value(&self->lists[DIFF_KERNEL]), "operators", list_value(&self->lists[DIFF_OPERATOR]));
  return json_text_print(document, JSON_INDENT(1) | JSON_REAL_PRECISION(12));
}
