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
  bool kept, dropped; /* dropped: it was kept, but all that was kept is no gain together */
  bool again;         /* a second, longer trial was made */
  uint32_t after;     /* how many had been kept before */
} tune_step;

typedef struct tune_path {
  tune_step steps[TUNE_STEPS];
  uint32_t count, kept;
  char settings[TUNE_SETTINGS]; /* of all that is kept, "" at first; a later one wins */
} tune_path;

/* The next cure of `of` to try: one that is predicted to save TUNE_LEAST, the largest prediction first, then those that
 * no replay predicts, then what is predicted to save less: recording may hide a gain, as when it makes the steps so
 * slow that the loader keeps up. What was refused is tried again only after another was kept. False: there is none. */
bool tune_path_next(const tune_path *self, const predictions *of, tune_step *out);

/* All that is kept, with `settings` on top. False: there is no room for more. */
bool tune_path_with(const tune_path *self, const char *settings, char text[TUNE_SETTINGS]);

/* Notes what came of a step, and keeps it if it is surely faster. */
void tune_path_add(tune_path *self, const tune_step *step);

/* The step whose trial says that it may well save TUNE_LEAST, but not surely, and that had no second one: of several
 * that which looks best. NULL: there is none. tune_path_settle keeps it if `got`, its second trial, says so. */
tune_step *tune_path_unsure(tune_path *self);
void tune_path_settle(tune_path *self, tune_step *step, const ab_trial *got);

/* Drops all that is kept but the first, which was measured against the run as it began. Returns it. */
const tune_step *tune_path_keep_first(tune_path *self);

#endif
