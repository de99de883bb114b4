/* Puts what each run says beside what it injected. */
#ifndef CORE_SCORE_JUDGE_H
#define CORE_SCORE_JUDGE_H

#include "corpus.h"
#include "figures.h"
#include "reading.h"

/* Causes by name; the first is "none". The last one stands for all that find no room. */
typedef struct cause_names {
  const char *all[FIGURES_CAUSES];
  uint32_t count;
} cause_names;

/* The fix of each cell that was tried: the step measured with it, 0 for none. */
typedef struct fix_trial {
  double step_ns;
} fix_trial;

enum { PART_ALL, PART_CALIBRATION, PART_HELD_OUT, PART_COUNT };

/* One part of the cells, as our verdict and as each rival judges it. */
typedef struct score_part {
  const char *key, *title;
  figures ours, rivals[RIVAL_COUNT];
} score_part;

typedef struct score {
  const corpus *corpus;
  const reading *readings; /* by cell */
  const fix_trial *fixes;  /* by cell */
  cause_names causes;
  judged *judged; /* by cell: our verdict */
  score_part parts[PART_COUNT];
  uint32_t part_count; /* 1 where nothing is held out */
} score;

/* Fills `judged` and `parts` from the rest. False on no memory. */
bool score_judge(score *self);

#endif
