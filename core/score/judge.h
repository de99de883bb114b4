/* Compares what each run says with what it injected. */
#ifndef CORE_SCORE_JUDGE_H
#define CORE_SCORE_JUDGE_H

#include "corpus.h"
#include "reading.h"
#include "score_figures.h"

/* Causes and what else a verdict says, by name; the first is "none". */
typedef struct cause_names {
  const char *all[FIGURES_CAUSES];
  uint32_t count;
  const char *left_over; /* the first that found no room; NULL: all did */
} cause_names;

/* The fix of a cell that was tried. */
typedef struct fix_trial {
  const char *settings; /* SECTION.KEY=VALUE ...; NULL: none was */
  double step_ns;       /* measured with it; 0: it left none */
  double without_ns;    /* measured without it, by the run that it is held against */
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

/* The cause that a run of `group` is to be named for: the larger of two at once; where the run measured its cures, that
 * of the cure that saves most, if that is enough for a cause, and more than its injection costs. The text is the
 * group's or the reading's. */
const char *judge_truth(const corpus_group *group, const reading *of);

/* Whether a step that takes `with_ns` with a fix takes longer than without: two runs of the same differ by a hundredth.
 */
bool judge_is_slower(double step_ns, double with_ns);

/* Fills `judged` and `parts` from the rest. False on no memory, or with more names than FIGURES_CAUSES: see `err`. */
bool score_judge(score *self, error *err);

#endif
