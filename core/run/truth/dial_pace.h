/* How a dial follows the machine, whose pace other work changes within seconds. Where the control steps take longer, a
 * share of them is a longer time. A count that stands for a time gets smaller then, since each of what it counts takes
 * longer. A time that stands for a time stays as it was set. The control steps alone say what the pace is.
 *
 * The search has few trials. From them it knows what one of a count costs, and for which pace it found a share's time.
 * So the rounds trim both by their own effect. On a machine of two speeds such times were up to 32 % off without that.
 * The error that is shown comes from the same rounds: it tends to be too small, and its interval holds. Pure. [loop
 * thread] */
#ifndef CORE_RUN_TRUTH_DIAL_PACE_H
#define CORE_RUN_TRUTH_DIAL_PACE_H

#include "truth_effect.h"
#include "config/config_dial.h"

/* The pace is the median of the latest control steps: of as many as are kept for the search and for the steps after the
 * rounds, of DIAL_PACE_LEAST from round to round. The amount follows it to DIAL_PACE_MOST times what was found, and
 * down to as small a part. */
enum { DIAL_PACE_KEPT = 64, DIAL_PACE_LEAST = 8, DIAL_PACE_MOST = 2 };
/* A change that is smaller is none. */
#define DIAL_PACE_SAME 0.02
/* Rounds whose effect is further off say that the search went wrong, and trim nothing. */
#define DIAL_PACE_TRIMMED 0.5

typedef struct dial_pace {
  config_dial asked;
  double set, set_ns;            /* the amount that was found, and the control step at that time, 0: not known */
  double recent[DIAL_PACE_KEPT]; /* control steps, the latest at (seen - 1) % DIAL_PACE_KEPT */
  uint64_t seen;                 /* of all there were */
  double pace;                   /* the amount at the latest pace */
  double trim;                   /* what the rounds multiply it by */
  double sum, pace_sum;          /* over all pairs since: of their amounts, and of the amounts at their pace */
  uint64_t pairs;
} dial_pace;

/* Control steps of the search. */
void dial_pace_see(dial_pace *self, const truth_block_pair *pairs, uint64_t count);
/* The search is over: it found `amount`. */
void dial_pace_set(dial_pace *self, const config_dial *asked, double amount);
/* The pairs of a round with `amount`. */
void dial_pace_round(dial_pace *self, double amount, const truth_block_pair *pairs, uint64_t count);
/* The amount of the next round; `amount` is the last one. `off`: the effect of all rounds so far over what was asked
 * for, less 1; `unsure`: its standard error, INFINITY: it is not known. */
double dial_pace_next(dial_pace *self, double amount, double off, double unsure);
/* The rounds are over: the amount of the steps that follow; `amount` is the last one. */
double dial_pace_end(const dial_pace *self, double amount);
/* The mean over all pairs since the search. */
double dial_pace_mean(const dial_pace *self);

#endif
