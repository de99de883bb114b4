/* See whatif_report.h. */
#include "whatif_report.h"

#include "base/json_text.h"
#include "base/wrap.h"

#include <pdhost/quantity.h>

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#define WHATIF_FORMAT "pdhost.whatif/1"

typedef struct share {
  double value, low, high; /* of the step, 0..1 */
} share;

/* What the cure saves of the step, of the ratio of both times. */
static share measured_of(const ab_trial *got) {
  const resample_ratio *of = &got->of.of;
  return (share){1 - of->ratio, 1 - of->high, 1 - of->low};
}

static share predicted_of(const whatif_trial *trial) {
  const prediction *of = trial->of;
  const cure *tried = &of->cures[trial->cure];
  return (share){cure_saves(tried, of->gain), cure_saves(tried, of->low), cure_saves(tried, of->high)};
}

/* Both err by themselves: their intervals add as squares. */
static share error_of(const share *predicted, const share *measured) {
  const double off = predicted->value - measured->value;
  return (share){off, off - hypot(predicted->value - predicted->low, measured->high - measured->value),
                 off + hypot(predicted->high - predicted->value, measured->value - measured->low)};
}

static bool is_predicted(const whatif_trial *trial) { return !trial->of->cures[trial->cure].unpredicted; }

/* ---- text ---- */

enum { NAME_WIDTH = 23, SHARE_WIDTH = 17, ERROR_WIDTH = 19 };

/* "37.2 (33.3..42.3)" */
static const char *plain(const share *of, char *text, size_t room) {
  snprintf(text, room, "%.1f (%.1f..%.1f)", 100 * of->value, 100 * of->low, 100 * of->high);
  return text;
}

static const char *with_sign(const share *of, char *text, size_t room) {
  snprintf(text, room, "%+.1f (%+.1f..%+.1f)", 100 * of->value, 100 * of->low, 100 * of->high);
  return text;
}

/* The cure that saves most, by what was measured; `clear`: of those that surely save something. */
static const whatif_trial *best_of(const whatif_report *self, bool clear) {
  const whatif_trial *best = NULL;
  for (uint32_t i = 0; i < self->trial_count; i++) {
    const whatif_trial *at = &self->trials[i];
    const double ratio = at->got.of.of.ratio;
    if (!at->got.is_measured || !(ratio <= 1 - WHATIF_LEAST) || (clear && at->got.verdict != OUTCOME_FASTER)) continue;
    if (!best || ratio < best->got.of.of.ratio) best = at;
  }
  return best;
}

static void print_sentence(const whatif_report *self) {
  const whatif_trial *best = best_of(self, true), *maybe = best_of(self, false);
  if (!best && maybe) {
    printf("Not sure: %s seems to save %.1f %% of the step.\n", maybe->of->cures[maybe->cure].settings,
           100 * (1 - maybe->got.of.of.ratio));
    return;
  }
  if (!best) {
    printf("No cure saves %.0f %% of the step: the device is busy %.0f %% of it.\n", 100 * WHATIF_LEAST,
           100 * self->of->busy);
    return;
  }
  printf("%s saves %.1f %% of the step", best->of->cures[best->cure].settings, 100 * (1 - best->got.of.of.ratio));
  if (is_predicted(best))
    printf("; %.1f %% was predicted.\n", 100 * predicted_of(best).value);
  else
    printf(", which no replay predicts.\n");
}

static void print_trial(const whatif_trial *trial, const char *name) {
  char text[64];
  const share predicted = predicted_of(trial), measured = measured_of(&trial->got),
              off = error_of(&predicted, &measured);
  const cure *by = &trial->of->cures[trial->cure];
  printf("%-*s %*s", NAME_WIDTH, name, SHARE_WIDTH,
         by->unpredicted ? "not predicted" : plain(&predicted, text, sizeof text));
  printf(" %*s", SHARE_WIDTH, trial->got.is_measured ? plain(&measured, text, sizeof text) : "does not run");
  if (!by->unpredicted && trial->got.is_measured) printf(" %*s", ERROR_WIDTH, with_sign(&off, text, sizeof text));
  printf("\n  by %s\n", by->settings);
  if (by->unpredicted) wrap_print(by->unpredicted, printf("  "), 2);
  if (!trial->got.is_measured && trial->got.why[0]) wrap_print(trial->got.why, printf("  "), 2);
  if (trial->got.is_measured && trial->got.verdict == OUTCOME_UNCLEAR)
    printf("  not sure: give it a longer --max-time, on a quiet machine\n");
}

/* A cause of some gain that no key takes away. */
static void print_incurable(const prediction *of, const char *name) {
  char text[64];
  const share predicted = {of->gain, of->low, of->high};
  printf("%-*s %*s %*s\n", NAME_WIDTH, name, SHARE_WIDTH, plain(&predicted, text, sizeof text), SHARE_WIDTH,
         "no key cures it");
}

static bool is_tried(const whatif_report *self, const prediction *of) {
  for (uint32_t t = 0; t < self->trial_count; t++)
    if (self->trials[t].of == of) return true;
  return false;
}

static void print_rest(const whatif_report *self) {
  char name[64], text[80 * VERDICT_COUNT] = "";
  for (uint32_t i = 0; i < self->of->count; i++) {
    const prediction *at = &self->of->all[i];
    if (is_tried(self, at) || at->gain >= WHATIF_LEAST || at->cause == VERDICT_none) continue;
    const size_t used = strlen(text);
    snprintf(text + used, sizeof text - used, "%s%s", used ? ", " : "", predictions_name(at->cause, name, sizeof name));
  }
  const int used = text[0] ? printf("Below %.0f %%: ", 100 * WHATIF_LEAST) : 0;
  if (used) wrap_print(text, used, used);
}

void whatif_report_text(const whatif_report *self) {
  char name[64], step[32];
  print_sentence(self);
  pd_text_time(step, sizeof step, self->of->step_ns);
  printf("%.24s on %.32s: a step takes %s.\n\n", self->of->scenario, self->of->device, step);
  printf("%-*s %*s %*s %*s\n", NAME_WIDTH, "Without", SHARE_WIDTH, "Predicted (%)", SHARE_WIDTH, "Measured (%)",
         ERROR_WIDTH, "Error (points)");
  uint32_t t = 0;
  for (uint32_t i = 0; i < self->of->count; i++) {
    const prediction *at = &self->of->all[i];
    predictions_name(at->cause, name, sizeof name);
    if (at->gain >= WHATIF_LEAST && !at->cure_count) print_incurable(at, name);
    for (bool first = true; t < self->trial_count && self->trials[t].of == at; t++, first = false)
      print_trial(&self->trials[t], first ? name : "");
  }
  print_rest(self);
  if (self->of->withheld) printf("The verdict on the window is %s.\n", self->of->withheld);
}

/* ---- JSON ---- */

static json_t *share_value(const share *of) {
  return json_pack("{s:f, s:f, s:f}", "share", of->value, "low", of->low, "high", of->high);
}

static json_t *trial_value(const whatif_trial *trial) {
  const share predicted = predicted_of(trial), measured = measured_of(&trial->got),
              off = error_of(&predicted, &measured);
  const cure *by = &trial->of->cures[trial->cure];
  const ab_trial *got = &trial->got;
  json_t *value = json_pack("{s:s, s:s?}", "settings", by->settings, "unpredicted", by->unpredicted);
  int failed = json_object_set_new(value, "predicted", by->unpredicted ? json_null() : share_value(&predicted));
  if (!got->is_measured) return failed || json_object_set_new(value, "why", json_string(got->why)) ? NULL : value;
  failed |= json_object_set_new(value, "measured", share_value(&measured));
  failed |= json_object_set_new(value, "error", by->unpredicted ? json_null() : share_value(&off));
  json_t *more = json_pack("{s:s, s:f, s:f, s:f, s:I, s:I}", "verdict", comparison_word(got->verdict), "p",
                           got->of.of.p, "step_us", 1e-3 * got->step_ns[0], "with_us", 1e-3 * got->step_ns[1], "rounds",
                           (json_int_t)got->of.rounds, "restarts", (json_int_t)got->of.restarts);
  failed |= json_object_update_new(value, more);
  if (!failed) return value;
  json_decref(value);
  return NULL;
}

static json_t *cause_value(const whatif_report *self, const prediction *of) {
  json_t *tried = json_array();
  int failed = 0;
  for (uint32_t t = 0; t < self->trial_count; t++)
    if (self->trials[t].of == of) failed |= json_array_append_new(tried, trial_value(&self->trials[t]));
  json_t *value = json_pack("{s:s, s:f, s:f, s:f, s:b, s:o}", "cause", verdict_key(of->cause), "gain", of->gain, "low",
                            of->low, "high", of->high, "has_cure", (int)(of->cure_count > 0), "cures", tried);
  if (!failed) return value;
  json_decref(value);
  return NULL;
}

bool whatif_report_json(const whatif_report *self) {
  const predictions *of = self->of;
  json_t *causes = json_array();
  int failed = 0;
  for (uint32_t i = 0; i < of->count; i++)
    if (of->all[i].cause != VERDICT_none) failed |= json_array_append_new(causes, cause_value(self, &of->all[i]));
  json_t *document = json_pack("{s:s, s:s, s:s, s:f, s:f, s:s?, s:o}", "format", WHATIF_FORMAT, "scenario",
                               of->scenario, "device", of->device, "step_us", 1e-3 * of->step_ns, "busy", of->busy,
                               "withheld", of->withheld, "causes", causes);
  const bool printed = !failed && json_text_print(json_incref(document), JSON_COMPACT | JSON_REAL_PRECISION(9));
  json_decref(document);
  return printed;
}
