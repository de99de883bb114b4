/* See tune_path.h. */
#include "tune_path.h"

#include <math.h>
#include <stdio.h>
#include <string.h>

static bool was_tried(const tune_path *self, const char *settings) {
  for (uint32_t i = 0; i < self->count; i++)
    if (!strcmp(self->steps[i].settings, settings) && (self->steps[i].kept || self->steps[i].after == self->kept))
      return true;
  return false;
}

/* The cures of one kind are tried after those of the kinds before it. */
typedef enum kind { PREDICTED, UNPREDICTED, HIDDEN, KINDS } kind;

static kind kind_of(const prediction *of, uint32_t which) {
  if (of->cures[which].unpredicted) return UNPREDICTED;
  return cure_saves(&of->cures[which], of->gain) >= TUNE_LEAST ? PREDICTED : HIDDEN;
}

static bool may_try(const tune_path *self, const prediction *of, uint32_t which) {
  char whole[TUNE_SETTINGS];
  const char *settings = of->cures[which].settings;
  return strlen(settings) < TUNE_TEXT && !was_tried(self, settings) && tune_path_with(self, settings, whole);
}

static tune_step step_of(const tune_path *self, const prediction *of, uint32_t which) {
  const cure *from = &of->cures[which];
  tune_step out = {.cause = of->cause,
                   .predicted = from->unpredicted ? (double)NAN : fmax(0, cure_saves(from, of->gain)),
                   .after = self->kept};
  snprintf(out.settings, sizeof out.settings, "%s", from->settings);
  return out;
}

bool tune_path_next(const tune_path *self, const predictions *of, tune_step *out) {
  if (self->count == TUNE_STEPS) return false;
  for (kind wanted = PREDICTED; wanted < KINDS; wanted++)
    for (uint32_t i = 0; i < of->count; i++)
      for (uint32_t c = 0; c < of->all[i].cure_count; c++) {
        if (kind_of(&of->all[i], c) != wanted || !may_try(self, &of->all[i], c)) continue;
        *out = step_of(self, &of->all[i], c);
        return true;
      }
  return false;
}

bool tune_path_with(const tune_path *self, const char *settings, char text[TUNE_SETTINGS]) {
  const char *space = self->settings[0] && settings[0] ? " " : "";
  const int length = snprintf(text, TUNE_SETTINGS, "%s%s%s", self->settings, space, settings);
  return length >= 0 && length < TUNE_SETTINGS;
}

static bool is_surely_faster(const ab_trial *got) {
  return got->is_measured && got->verdict == OUTCOME_FASTER && got->of.of.ratio <= 1 - TUNE_LEAST;
}

void tune_path_settle(tune_path *self, tune_step *step, const ab_trial *got) {
  char text[TUNE_SETTINGS];
  step->got = *got;
  step->kept = is_surely_faster(got) && tune_path_with(self, step->settings, text);
  if (!step->kept) return;
  memcpy(self->settings, text, sizeof text);
  self->kept++;
}

void tune_path_add(tune_path *self, const tune_step *step) {
  tune_step *to = &self->steps[self->count++];
  *to = *step;
  tune_path_settle(self, to, &step->got);
}

tune_step *tune_path_unsure(tune_path *self) {
  tune_step *best = NULL;
  for (uint32_t i = 0; i < self->count; i++) {
    tune_step *at = &self->steps[i];
    const resample_ratio *of = &at->got.of.of;
    if (!at->got.is_measured || at->got.verdict != OUTCOME_UNCLEAR || at->again || at->after != self->kept ||
        of->ratio > 1 - TUNE_LEAST)
      continue;
    if (!best || of->ratio < best->got.of.of.ratio) best = at;
  }
  return best;
}

const tune_step *tune_path_keep_first(tune_path *self) {
  const tune_step *first = NULL;
  for (uint32_t i = 0; i < self->count; i++) {
    tune_step *at = &self->steps[i];
    if (!at->kept) continue;
    if (!first) {
      first = at;
      continue;
    }
    at->kept = false;
    at->dropped = true;
  }
  if (first) snprintf(self->settings, sizeof self->settings, "%s", first->settings);
  self->kept = first != NULL;
  return first;
}
