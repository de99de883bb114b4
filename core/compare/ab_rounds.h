/* Times two things in turns, A B B A then B A A B, so that whatever changes slowly changes both. Both are started
 * again many times, so that a lucky place in memory or on the cores does not count as speed. These are pure rules over
 * a callback that runs one block. They end, whatever the clock says. [loop thread] */
#ifndef CORE_COMPARE_AB_ROUNDS_H
#define CORE_COMPARE_AB_ROUNDS_H

#include "comparison.h"

#include "measure/timer.h"

typedef struct ab_rules {
  double width;      /* the interval of the ratio is narrow enough when it reaches no further than this share */
  uint64_t number;   /* runs in a block; 0: enough that the clock's own cost does not count */
  double max_time_s; /* of all blocks together; then it ends, narrow or not */
  /* As timer_rules has it: what is done before a block, the emptying of a cache, counts as the block's for max_time_s
   * and the length of a restart. */
  timer_clock clock;
} ab_rules;

/* Restarts before the first look at the interval, the rounds in one (fewer where they take so long that the time would
 * not be enough for that many restarts), and those of all at most. */
enum { AB_LEAST_RESTARTS = 10, AB_RESTART_ROUNDS = 6, AB_MOST_ROUNDS = 25000 };

typedef struct ab_result {
  uint64_t number;          /* runs in a block */
  uint64_t rounds;          /* whole ones, of two blocks a side */
  double *times_s[2];       /* of A's and B's blocks, two a round, in order */
  double *device_s[2];      /* the same blocks by the device's clock; NaN where it has none */
  uint64_t *restart_rounds; /* rounds of each restart */
  uint64_t restart_count;
  double overhead_s; /* of an empty block */
  double spent_s;    /* in all blocks, by the rules' clock where there is one */
  uint64_t dropped;  /* rounds with a time that is none */
  paired_ratio of;   /* as of the last look */
  bool narrow;       /* it ended since the interval is narrow enough */
} ab_result;

/* `block` is called with users[0] for A and users[1] for B. `renew` (or NULL) brings both up anew for restart `index`,
 * from 1, and may change users. `tell` (or NULL) hears after every round, with the last
 * interval looked at; its ratio is 0 before that. PD_STOP and failures of `block` end the rounds and are returned,
 * with what there is in `out`; PD_INVALID: no round has times. Call ab_free in any case. */
typedef struct ab_callbacks {
  timer_block block;
  pd_status (*renew)(void *user, uint64_t index);
  void (*tell)(void *user, const ab_result *so_far);
  void *user; /* of renew and tell */
} ab_callbacks;
pd_status ab_measure(const ab_rules *rules, const ab_callbacks *calls, void *const *users, ab_result *out);
void ab_free(ab_result *self);

#endif
