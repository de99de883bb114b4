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

/* Another cure of a cause may save more than the one that took it away: batches that are made before the run also take
 * no core. */
static bool was_cured(const tune_path *self, uint32_t cause) {
  for (uint32_t i = 0; i < self->count; i++)
    if (self->steps[i].kept && self->steps[i].cause == cause) return true;
  return false;
}

static bool may_try(const tune_path *self, const prediction *of, uint32_t which) {
  char whole[TUNE_SETTINGS];
  const char *settings = of->cures[which].settings;
  /* What keeps the device busy has no gain to report. */
  const bool is_worth = of->cause == VERDICT_none || of->gain >= TUNE_LEAST || was_cured(self, of->cause);
  return is_worth && strlen(settings) < TUNE_TEXT && !was_tried(self, settings) &&
         tune_path_with(self, settings, whole);
}

bool tune_path_next(const tune_path *self, const predictions *of, tune_step *out) {
  if (self->count == TUNE_STEPS) return false;
  for (int predicted = 1; predicted >= 0; predicted--)
    for (uint32_t i = 0; i < of->count; i++)
      for (uint32_t c = 0; c < of->all[i].cure_count; c++) {
        const prediction *at = &of->all[i];
        if (predicted != !at->cures[c].unpredicted || !may_try(self, at, c)) continue;
        *out = (tune_step){.cause = at->cause,
                           .predicted = predicted ? at->cures[c].part * at->gain : (double)NAN,
                           .after = self->kept};
        snprintf(out->settings, sizeof out->settings, "%s", at->cures[c].settings);
        return true;
      }
  return false;
}

bool tune_path_with(const tune_path *self, const char *settings, char text[TUNE_SETTINGS]) {
  const char *space = self->settings[0] && settings[0] ? " " : "";
  const int length = snprintf(text, TUNE_SETTINGS, "%s%s%s", self->settings, space, settings);
  return length >= 0 && length < TUNE_SETTINGS;
}

void tune_path_add(tune_path *self, const tune_step *step) {
  tune_step *to = &self->steps[self->count++];
  char text[TUNE_SETTINGS];
  *to = *step;
  to->kept = step->got.is_measured && step->got.verdict == OUTCOME_FASTER && step->got.of.of.ratio <= 1 - TUNE_LEAST &&
             tune_path_with(self, step->settings, text);
  if (!to->kept) return;
  memcpy(self->settings, text, sizeof text);
  self->kept++;
}

void tune_path_undo(tune_path *self) {
  for (uint32_t i = 0; i < self->count; i++) self->steps[i].kept = false;
  self->settings[0] = '\0';
  self->kept = 0;
}
