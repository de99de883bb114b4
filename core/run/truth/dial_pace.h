/* How a dial follows the machine, whose pace other work changes within seconds. Where the control steps take longer, a
 * share of them is a longer time. A count that stands for a time gets smaller then, since each of what it counts takes
 * longer. A time that stands for a time stays as it was set, and so does a count that stands for a share. Pure. [loop
 * thread]
 *
 * The search knows what one of a count costs no better than its few trials do, and that changes, too. So a count also
 * follows what the pairs since say of it: the less, the more they scatter. */
#ifndef CORE_RUN_TRUTH_DIAL_PACE_H
#define CORE_RUN_TRUTH_DIAL_PACE_H

#include "truth_effect.h"
#include "config/config_dial.h"

/* The pace is the median of the latest control steps: of as many as are kept for the search and for the steps after the
 * rounds, of DIAL_PACE_LEAST from round to round. The amount follows it to DIAL_PACE_MOST times what was found, and
 * down to as small a part. */
enum { DIAL_PACE_KEPT = 64, DIAL_PACE_LEAST = 8, DIAL_PACE_MOST = 2 };
/* Pairs whose effect is followed: the latest. What one of a count costs may be so many times what the search found, or
 * so small a part of it: a search on a busy machine was off by three times. */
enum { DIAL_PACE_COSTS = 256, DIAL_COST_MOST = 8 };
/* A change that is smaller is none. */
#define DIAL_PACE_SAME 0.02

typedef struct dial_pace {
  config_dial asked;
  double set, set_ns;            /* the amount that was found, and the control step at that time, 0: not known */
  double recent[DIAL_PACE_KEPT]; /* control steps, the latest at (seen - 1) % DIAL_PACE_KEPT */
  uint64_t seen;                 /* of all there were */
  double costs[DIAL_PACE_COSTS]; /* what one of a count adds to a control step, as a part of it: of the pairs since */
  uint64_t cost_count;           /* of all there were; the latest as in `recent` */
  double sum;                    /* of the amounts of all pairs since */
  uint64_t pairs;
} dial_pace;

/* Control steps of the search. */
void dial_pace_see(dial_pace *self, const truth_block_pair *pairs, uint64_t count);
/* The search is over: it found `amount`. Pairs of before say nothing of the effect. */
void dial_pace_set(dial_pace *self, const config_dial *asked, double amount);
/* The pairs of a round with `amount`; the amount of the next round. */
double dial_pace_follow(dial_pace *self, double amount, const truth_block_pair *pairs, uint64_t count);
/* The rounds are over: the amount of the steps that follow; `amount` is the last one. */
double dial_pace_end(const dial_pace *self, double amount);
/* The mean over all pairs since the search. */
double dial_pace_mean(const dial_pace *self);

#endif
