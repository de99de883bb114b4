/* Two things timed in turns, A B B A then B A A B, so that whatever changes slowly changes both: pure rules over a
 * callback that runs one block. Whatever the clock says, they end. [loop thread] */
#ifndef CORE_COMPARE_AB_ROUNDS_H
#define CORE_COMPARE_AB_ROUNDS_H

#include "comparison.h"

#include "measure/timer.h"

typedef struct ab_rules {
  double width;      /* the interval of the ratio is narrow enough when it reaches no further than this share */
  uint64_t number;   /* runs in a block; 0: so many that the clock's own cost does not count */
  double max_time_s; /* of all blocks together; then it ends, narrow or not */
} ab_rules;

/* Rounds before the first look at the interval, and the most there are. */
enum { AB_LEAST_ROUNDS = 32, AB_MOST_ROUNDS = 25000 };

typedef struct ab_result {
  uint64_t number;    /* runs in a block */
  uint64_t rounds;    /* whole ones, of two blocks a side */
  double *times_s[2]; /* of A's and B's blocks, two a round, in order */
  double *logs;       /* a round: logarithm of B's time over A's */
  double overhead_s;  /* of an empty block */
  double spent_s;     /* in all blocks */
  uint64_t dropped;   /* rounds with a time that is none */
  resample_ratio of;  /* of all rounds */
  double spread;      /* interquartile range of the logs: how far the rounds disagree */
  bool narrow;        /* it ended since the interval is narrow enough */
} ab_result;

/* `block` is called with users[0] for A and users[1] for B. `tell` (or NULL) hears after every round, with the last
 * interval looked at; its ratio is 0 before that. PD_STOP and failures of `block` end the rounds and are returned, with
 * what there is in `out`; PD_INVALID: no round has times. ab_free is due whatever comes. */
pd_status ab_measure(const ab_rules *rules, timer_block block, void *const users[2],
                     void (*tell)(void *teller, const ab_result *so_far), void *teller, ab_result *out);
/* The verdict; UNCLEAR too where the rounds disagree by AB_WIDE_SPREAD: on a machine so busy the two sides are not
 * served alike, however often they take turns. */
#define AB_WIDE_SPREAD 0.25
outcome ab_outcome(const ab_result *of, double margin);
void ab_free(ab_result *self);

#endif
