/* The steps of `pdhost tune`: what is tried next, what came of it, what is kept. [main thread] */
#ifndef CORE_ADVISE_TUNE_PATH_H
#define CORE_ADVISE_TUNE_PATH_H

#include "predictions.h"
#include "compare/ab_trial.h"

enum { TUNE_STEPS = 64, TUNE_SETTINGS = 2048, TUNE_TEXT = 256 };

/* A cure is tried if it is expected to save this much, and kept if it surely does. */
#define TUNE_LEAST COMPARISON_MARGIN

typedef struct tune_step {
  char settings[TUNE_TEXT];
  uint32_t cause;
  double predicted; /* share of the step; NaN: no replay tells */
  ab_trial got;
  bool kept;
  uint32_t after; /* how many had been kept before */
} tune_step;

typedef struct tune_path {
  tune_step steps[TUNE_STEPS];
  uint32_t count, kept;
  char settings[TUNE_SETTINGS]; /* of all that is kept, "" at first; a later one wins */
} tune_path;

/* The next cure of `of` to try: one of a cause that gains TUNE_LEAST, the largest prediction first, then those that no
 * replay predicts, also of a cause that a kept cure has taken away. What was refused is tried again only after another
 * was kept. False: there is none. */
bool tune_path_next(const tune_path *self, const predictions *of, tune_step *out);

/* All that is kept, with `settings` on top. False: there is no room for more. */
bool tune_path_with(const tune_path *self, const char *settings, char text[TUNE_SETTINGS]);

/* Notes what came of a step, and keeps it if it is surely faster. */
void tune_path_add(tune_path *self, const tune_step *step);

/* Drops the kept settings: they turned out to be no gain together. */
void tune_path_undo(tune_path *self);

#endif
