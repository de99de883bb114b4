/* The keys of two sides, matched: by name and shape, and what is left by name alone. [loop thread] */
#ifndef CORE_COMPARE_DIFF_MATCH_H
#define CORE_COMPARE_DIFF_MATCH_H

#include "diff_side.h"

typedef struct diff_match {
  const char *name;
  const char *shapes[2]; /* NULL: not on that side; "...": several */
  double ns[2];          /* over all steps */
  uint64_t count[2];
} diff_match;

typedef struct diff_matches {
  diff_match *all;
  uint32_t *of_key[2]; /* by key of a side: its match; PD_NONE: of another kind */
  uint32_t count;
} diff_matches;

/* False on no memory. Free it in any case. */
bool diff_matches_make(const diff_side *a, const diff_side *b, diff_kind kind, diff_matches *out);
void diff_matches_free(diff_matches *self);

#endif
