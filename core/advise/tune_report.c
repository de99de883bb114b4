/* See tune_report.h. */
#include "tune_report.h"

#include "base/json_text.h"

#include <pdhost/quantity.h>

#include <math.h>
#include <stdio.h>

#define TUNE_FORMAT "pdhost.tune/1"

static const char *outcome_of(const tune_step *step) {
  if (step->kept) return "kept";
  if (step->dropped) return "dropped";
  if (!step->got.is_measured) return "does not run";
  switch (step->got.verdict) {
  case OUTCOME_FASTER: return "below 1 %";
  case OUTCOME_SLOWER: return "slower";
  case OUTCOME_SAME: return "no change";
  default: return "not sure";
  }
}

/* ---- text ---- */

static void print_sentence(const tune_report *self) {
  char before[32], after[32];
  if (!self->path->kept) {
    printf("Nothing makes it surely faster: %s.\n", self->end);
    return;
  }
  pd_text_time(before, sizeof before, self->whole->step_ns[0]);
  pd_text_time(after, sizeof after, self->whole->step_ns[1]);
  printf("%.2f times as fast: a step takes %s instead of %s.\n", 1 / self->whole->of.of.ratio, after, before);
}

static void print_step(const tune_step *step, uint32_t number) {
  char name[64], predicted[16] = "-", measured[40] = "";
  const resample_ratio *of = &step->got.of.of;
  if (!isnan(step->predicted)) snprintf(predicted, sizeof predicted, "%.1f", 100 * step->predicted);
  if (step->got.is_measured)
    snprintf(measured, sizeof measured, "%.1f (%.1f..%.1f)", 100 * (1 - of->ratio), 100 * (1 - of->high),
             100 * (1 - of->low));
  printf("%2u %-26.26s%12s%24s  %s\n   by %.74s\n", number, predictions_name(step->cause, name, sizeof name), predicted,
         measured, outcome_of(step), step->settings);
}

static bool has_unsure(const tune_path *of) {
  for (uint32_t i = 0; i < of->count; i++)
    if (of->steps[i].got.is_measured && of->steps[i].got.verdict == OUTCOME_UNCLEAR) return true;
  return false;
}

void tune_report_text(const tune_report *self) {
  print_sentence(self);
  printf("%.24s on %.32s\n\n", self->of->scenario, self->of->device);
  if (self->path->count) printf("   %-26s%12s%24s\n", "Against", "Predicted, %", "Saves, %");
  for (uint32_t i = 0; i < self->path->count; i++) print_step(&self->path->steps[i], i + 1);
  if (self->path->kept) printf("It ended because %s.\n", self->end);
  if (has_unsure(self->path)) printf("Not sure: give it a longer --budget, on a quiet machine.\n");
  printf("%.0f of %.0f s used.\n", self->spent_s, self->budget_s);
  if (self->file) printf("%s: written; run it with pdhost -c %s\n", self->file, self->file);
}

/* ---- JSON ---- */

static json_t *ratio_value(const ab_trial *got) {
  if (!got || !got->is_measured) return json_null();
  const resample_ratio *of = &got->of.of;
  return json_pack("{s:f, s:f, s:f, s:f, s:s, s:f, s:f, s:f}", "ratio", of->ratio, "low", of->low, "high", of->high,
                   "p", of->p, "verdict", comparison_word(got->verdict), "step_us", 1e-3 * got->step_ns[0], "with_us",
                   1e-3 * got->step_ns[1], "spent_s", got->spent_s);
}

static json_t *step_value(const tune_step *step) {
  return json_pack("{s:s, s:s, s:o, s:o, s:b, s:s}", "cause", verdict_key(step->cause), "settings", step->settings,
                   "predicted", isnan(step->predicted) ? json_null() : json_real(step->predicted), "measured",
                   ratio_value(&step->got), "kept", (int)step->kept, "outcome", outcome_of(step));
}

bool tune_report_json(const tune_report *self) {
  json_t *steps = json_array();
  int failed = 0;
  for (uint32_t i = 0; i < self->path->count; i++)
    failed |= json_array_append_new(steps, step_value(&self->path->steps[i]));
  json_t *document = json_pack("{s:s, s:s, s:s, s:o, s:s, s:o, s:s, s:s?, s:f, s:f}", "format", TUNE_FORMAT, "scenario",
                               self->of->scenario, "device", self->of->device, "steps", steps, "settings",
                               self->path->settings, "whole", ratio_value(self->whole), "end", self->end, "file",
                               self->file, "spent_s", self->spent_s, "budget_s", self->budget_s);
  const bool printed = !failed && json_text_print(json_incref(document), JSON_COMPACT | JSON_REAL_PRECISION(9));
  json_decref(document);
  return printed;
}
