/* What changed from one side to the other, per step, the largest change first. [loop thread] */
#ifndef CORE_COMPARE_DIFF_ROWS_H
#define CORE_COMPARE_DIFF_ROWS_H

#include "diff_side.h"

#include "base/resample.h"
#include "compare/comparison.h"

/* With fewer steps on a side there is no direction. */
enum { DIFF_STEPS_LEAST = 5 };

typedef struct diff_row {
  const char *name;
  const char *shapes[2]; /* NULL: not on that side. "...": it has several shapes, and the sides share none */
  double ns[2];          /* mean of a step */
  double count[2];       /* events of a step */
  resample_change change;
  bool is_sure; /* the interval leaves 0 out */
} diff_row;

/* The rows of one kind. */
typedef struct diff_list {
  diff_row *rows;                       /* those that changed most; their intervals are known */
  uint32_t count, changed, added, gone; /* changed: of all rows, those that are on both sides and differ */
} diff_list;

typedef struct diff_cause {
  uint32_t cause;
  diff_gain gains[2];
  bool is_sure;           /* as of a row */
  resample_change change; /* interval by Zou and Donner, Stat. Med. 27 (2008), of the two sides' own */
} diff_cause;

typedef struct difference {
  const diff_side *sides[2];
  double median_ns[2], mean_ns[2]; /* of the steps; of a side without a loop, of its whole recordings */
  /* From COMPARISON_DIRECTION_LEAST steps a side on, as compare has it: of the medians. Traces are mostly shorter: then
   * of the means with `change` as the interval, which alone decides, and p is NaN. */
  resample_ratio step;
  resample_change change; /* of the means: the ledger's changes add up to it */
  outcome verdict;
  double margin;   /* as it was given */
  bool has_device; /* both sides have device records */
  bool has_spread; /* both sides have a loop, and two steps or more; else each `low` and `high` is NaN */
  diff_list lists[DIFF_KIND_COUNT];
  diff_cause causes[VERDICT_COUNT]; /* those that bring anything on a side, the largest change first */
  uint32_t cause_count;
} difference;

/* At most `rows` of each kind; `margin` as in comparison.h. Both sides have steps, and outlive it. False on no memory;
 * close it in any case. */
bool difference_make(const diff_side *a, const diff_side *b, double margin, uint32_t rows, difference *out);
void difference_close(difference *self);

#endif
