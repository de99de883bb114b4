/* See causal_report.h. */
#include "causal_report.h"

#include "base/json_text.h"
#include "base/wrap.h"

#include <pdhost/quantity.h>

#include <stdio.h>
#include <string.h>

#define CAUSAL_FORMAT "pdhost.causal/1"
/* A gain that names a cause on a GPU, and the least that is said of one. */
#define GAIN_NAMED 0.05
#define GAIN_TOLD 0.01

enum { NAME_WIDTH = 13, CHANGE_WIDTH = 8, SLOPE_WIDTH = 21, PATH_WIDTH = 14, CAUSES_MOST = 2 };

/* The causes whose cost lies in what the part's calls take. */
static const uint32_t causes[DELAYS_COUNT][CAUSES_MOST] = {
    [DELAYS_host] = {VERDICT_launch_bound, VERDICT_host_compute},
    [DELAYS_input] = {VERDICT_input_bound, VERDICT_input_bound},
    [DELAYS_kernels] = {VERDICT_none, VERDICT_none},
    [DELAYS_copies] = {VERDICT_pageable_copy, VERDICT_pinned_copy},
    [DELAYS_reads] = {VERDICT_forced_sync, VERDICT_forced_sync},
    [DELAYS_syncs] = {VERDICT_forced_sync, VERDICT_forced_sync},
    [DELAYS_allocations] = {VERDICT_allocator, VERDICT_allocator},
};

const prediction *causal_report_prediction(const predictions *of, delays_part part) {
  const prediction *best = NULL;
  for (uint32_t i = 0; i < of->count; i++) {
    const prediction *at = &of->all[i];
    if (at->cause == VERDICT_none || (at->cause != causes[part][0] && at->cause != causes[part][1])) continue;
    if (!best || at->gain > best->gain) best = at;
  }
  return best;
}

/* Launching costs the device too: between kernels, and in kernels too short for any work. */
static bool may_lie_in_kernels(const prediction *gain, const causal_parts *parts) {
  const causal_part *kernels = &parts->all[DELAYS_kernels];
  return gain->cause == VERDICT_launch_bound && !kernels->why && kernels->path != CAUSAL_OFF;
}

bool causal_report_contradicts(const prediction *gain, const causal_parts *parts, delays_part which) {
  const causal_part *part = &parts->all[which];
  if (!gain || part->why || part->path != CAUSAL_OFF || may_lie_in_kernels(gain, parts)) return false;
  return gain->gain >= GAIN_NAMED && gain->low > GAIN_NAMED / 2;
}

/* ---- text ---- */

static void print_sentence(const causal_report *self) {
  const causal_parts *parts = self->parts;
  uint32_t most = DELAYS_COUNT;
  for (uint32_t i = 0; i < DELAYS_COUNT; i++) {
    const causal_part *at = &parts->all[i];
    if (at->why || at->path != CAUSAL_ON) continue;
    if (most == DELAYS_COUNT || at->slope.low > parts->all[most].slope.low) most = i;
  }
  if (most == DELAYS_COUNT)
    printf("No part is surely on the critical path of the step.\n");
  else
    printf("The step waits for %s: 1 us of delay there makes it %.2f us longer.\n", delays_name(most),
           parts->all[most].slope.value);
}

static bool print_changes(const causal_part *part) {
  for (uint32_t level = 1; level < part->of.levels; level++) {
    causal_figure change;
    if (!causal_curve_change(&part->of, level, &change)) return false;
    printf(" %+*.1f", CHANGE_WIDTH, 100 * change.value);
  }
  return true;
}

static bool print_part(const causal_report *self, delays_part which) {
  const causal_part *part = &self->parts->all[which];
  char name[64], text[512];
  printf("%-*s", NAME_WIDTH, delays_name(which));
  if (part->why) {
    wrap_print(part->why, NAME_WIDTH, NAME_WIDTH);
    return true;
  }
  if (!print_changes(part)) return false;
  snprintf(text, sizeof text, "%.2f (%.2f..%.2f)", part->slope.value, part->slope.low, part->slope.high);
  printf(" %*s %*s\n", SLOPE_WIDTH, text, PATH_WIDTH, causal_path_text(part->path));
  const prediction *gain = causal_report_prediction(self->of, which);
  if (!gain || gain->gain < GAIN_TOLD) return true;
  const bool against = causal_report_contradicts(gain, self->parts, which);
  const bool apart = part->path == CAUSAL_OFF && may_lie_in_kernels(gain, self->parts);
  snprintf(text, sizeof text, "the verdict predicts %.1f %% (%.1f..%.1f) without %s%s", 100 * gain->gain,
           100 * gain->low, 100 * gain->high, predictions_name(gain->cause, name, sizeof name),
           against ? "; the slope contradicts it: the step does not wait for this part"
           : apart ? "; the step does not wait for the host, so this would lie in what each launch costs the device"
                   : "");
  wrap_print(text, printf("  "), 2);
  return true;
}

bool causal_report_text(const causal_report *self) {
  char step[32], level[32];
  const causal_rules *rules = self->rules;
  print_sentence(self);
  pd_text_time(step, sizeof step, self->parts->step_ns);
  printf("%.24s on %.32s: a step takes %s.\n\n", self->of->scenario, self->of->device, step);
  printf("%-*s", NAME_WIDTH, "Delayed");
  for (uint32_t i = 1; i < rules->level_count; i++) {
    snprintf(level, sizeof level, "%g %%", 100 * rules->levels[i]);
    printf(" %*s", CHANGE_WIDTH, level);
  }
  printf(" %*s\n", SLOPE_WIDTH, "Slope");
  for (delays_part part = 0; part < DELAYS_COUNT; part++)
    if (!print_part(self, part)) return false;
  printf("\nDelays are shares of the step. Under each: by how many per cent the step grows.\n");
  if (self->of->withheld) printf("The verdict on the window is %s.\n", self->of->withheld);
  return true;
}

/* ---- JSON ---- */

static json_t *figure_value(const causal_figure *of, const char *name) {
  return json_pack("{s:f, s:f, s:f}", name, of->value, "low", of->low, "high", of->high);
}

/* NULL on no memory. */
static json_t *points_value(const causal_part *part) {
  json_t *points = json_array();
  for (uint32_t level = 0; level < part->of.levels; level++) {
    causal_figure change;
    double put_ns, step_ns;
    const bool ok =
        causal_curve_change(&part->of, level, &change) && causal_curve_median(&part->of, level, &put_ns, &step_ns) &&
        json_array_append_new(points, json_pack("{s:f, s:f, s:o}", "delay_us", 1e-3 * put_ns, "step_us", 1e-3 * step_ns,
                                                "change", figure_value(&change, "share"))) == 0;
    if (ok) continue;
    json_decref(points);
    return NULL;
  }
  return points;
}

static json_t *predicted_value(const causal_report *self, delays_part part) {
  const prediction *gain = causal_report_prediction(self->of, part);
  if (!gain) return json_null();
  return json_pack("{s:s, s:f, s:f, s:f}", "cause", verdict_key(gain->cause), "gain", gain->gain, "low", gain->low,
                   "high", gain->high);
}

static json_t *part_value(const causal_report *self, delays_part which) {
  const causal_part *part = &self->parts->all[which];
  json_t *value =
      json_pack("{s:s, s:s, s:f, s:s?, s:o}", "part", delays_name(which), "how", delays_how(which), "calls_per_step",
                part->calls, "why_not", part->why, "predicted", predicted_value(self, which));
  if (!value || part->why) return value;
  json_t *more =
      json_pack("{s:I, s:o, s:s, s:b, s:o}", "rounds", (json_int_t)part->of.rounds, "slope",
                figure_value(&part->slope, "value"), "path", causal_path_text(part->path), "contradicts",
                (int)causal_report_contradicts(causal_report_prediction(self->of, which), self->parts, which), "points",
                points_value(part));
  if (json_object_update_new(value, more) == 0) return value;
  json_decref(value);
  return NULL;
}

bool causal_report_json(const causal_report *self) {
  const predictions *of = self->of;
  json_t *parts = json_array();
  int failed = 0;
  for (delays_part part = 0; part < DELAYS_COUNT; part++)
    failed |= json_array_append_new(parts, part_value(self, part));
  json_t *document = json_pack("{s:s, s:s, s:s, s:f, s:f, s:s?, s:o}", "format", CAUSAL_FORMAT, "scenario",
                               of->scenario, "device", of->device, "step_us", 1e-3 * self->parts->step_ns, "busy",
                               of->busy, "withheld", of->withheld, "parts", parts);
  const bool printed = !failed && json_text_print(json_incref(document), JSON_COMPACT | JSON_REAL_PRECISION(9));
  json_decref(document);
  return printed;
}
