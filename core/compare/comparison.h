/* Which of two is faster, and how sure that is. [any thread] */
#ifndef CORE_COMPARE_COMPARISON_H
#define CORE_COMPARE_COMPARISON_H

#include "base/resample.h"

typedef enum outcome { OUTCOME_UNCLEAR = 0, OUTCOME_SAME, OUTCOME_FASTER, OUTCOME_SLOWER } outcome;

/* Differences below this share do not matter to anybody, unless --margin says so. */
#define COMPARISON_MARGIN 0.01
/* A direction needs a p below this. */
#define COMPARISON_P 0.01

/* Fewer restarts give no verdict on rounds in which both sides take turns. */
#define COMPARISON_RESTARTS_LEAST RESAMPLE_STUDENT_LEAST

/* With fewer values than the first on a side there is nothing to resample. With fewer than the second, measured one
 * after the other, there are so few runs of neighbours to shuffle that chance alone separates them as well as
 * COMPARISON_P asks. */
#define COMPARISON_LEAST 8
#define COMPARISON_DIRECTION_LEAST 32

/* `count`: values of the shorter side. FASTER, SLOWER: the interval leaves 1 out, p is below COMPARISON_P and the ratio
 * is beyond the margin. SAME: the whole interval lies within the margin. UNCLEAR: neither, or fewer than
 * COMPARISON_LEAST values. */
outcome comparison_outcome(const resample_ratio *of, uint64_t count, double margin);

/* The same, however many values there are: the caller knows that they are enough. */
outcome comparison_of(const resample_ratio *of, double margin);

/* The ratio over rounds in which both sides take turns. */
typedef struct paired_ratio {
  resample_ratio of;         /* of the restarts */
  double spread;             /* interquartile range of the rounds' logarithms: how far they disagree */
  uint64_t rounds, restarts; /* what it is from */
} paired_ratio;

/* The same verdict on rounds of COMPARISON_RESTARTS_LEAST or more, except where they disagree by
 * COMPARISON_WIDE_SPREAD. There the machine's other work is a part of what was measured, and may have hit one side
 * more. The interval does not cover that: it says how far chance moves the ratio, not how far a bias does. But the
 * spread bounds the bias. Work that comes and goes and hits one side alone separates the rounds that it hits from those
 * that it spares by some distance; the mean of the rounds moves by a share of that distance, and the interquartile
 * range is about that distance when it hits more than a quarter of them and spares more than a quarter. (When it hits
 * fewer, the trimmed means leave most of them out. Work that hits one side in nearly every round shows in no spread,
 * and any statistic takes it for a slower side; taking turns is the protection against that.) So a bias that the spread
 * shows is no larger than it, and twice the spread leaves room for hits that are too short to fill a round. The verdict
 * is that of the interval widened by this much at either end: nine times as long is SLOWER on a busy machine, too; 30 %
 * more is not when rounds disagree by 30 %. */
#define COMPARISON_WIDE_SPREAD 0.25
#define COMPARISON_BIAS_SPREADS 2
outcome comparison_paired(const paired_ratio *of, double margin);
/* "FASTER" */
const char *comparison_word(outcome of);
/* The escape sequence of its colour on a terminal. */
const char *comparison_color(outcome of);

/* "B takes 2.4058 times as long as A (95 %: 2.2227 to 2.6235, p = 0.0010)" */
void comparison_sentence(const resample_ratio *of, const char *a, const char *b, char *text, unsigned long room);

#endif
