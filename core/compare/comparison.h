/* Which of two is faster, and how sure that is. [any thread] */
#ifndef CORE_COMPARE_COMPARISON_H
#define CORE_COMPARE_COMPARISON_H

#include "measure/resample.h"

typedef enum outcome { OUTCOME_UNCLEAR = 0, OUTCOME_SAME, OUTCOME_FASTER, OUTCOME_SLOWER } outcome;

/* Differences below this share do not matter to anybody, unless --margin says so. */
#define COMPARISON_MARGIN 0.01
/* A direction needs a permutation test that gives less. */
#define COMPARISON_P 0.01

/* With fewer values on a side there is nothing to resample; with fewer than the second, one after the other, there are
 * so few runs of neighbours to shuffle that chance alone parts them as well as COMPARISON_P wants. */
#define COMPARISON_LEAST 8
#define COMPARISON_DIRECTION_LEAST 32

/* `count`: values of the shorter side. FASTER, SLOWER: the interval leaves 1 out, p is below COMPARISON_P and the ratio
 * is beyond the margin. SAME: the whole interval lies within the margin. UNCLEAR: neither, or fewer than
 * COMPARISON_LEAST values. */
outcome comparison_outcome(const resample_ratio *of, uint64_t count, double margin);
/* "FASTER" */
const char *comparison_word(outcome of);
/* The escape sequence of its colour on a terminal. */
const char *comparison_color(outcome of);

/* "B takes 1.031 times as long as A (95 %: 1.027 to 1.036, p = 0.0005)" */
void comparison_sentence(const resample_ratio *of, const char *a, const char *b, char *text, unsigned long room);

#endif
