/*
 * How often a block of runs is timed: the rules of torch.utils.benchmark's Timer, over a callback that runs one block
 * and tells its times. Whatever the clock says, every rule ends.
 */
#ifndef CORE_MEASURE_TIMER_H
#define CORE_MEASURE_TIMER_H

#include "measurement.h"

typedef enum timer_method { TIMER_TIMEIT = 0, TIMER_BLOCKED_AUTORANGE = 1, TIMER_ADAPTIVE_AUTORANGE = 2 } timer_method;

/* Seconds since some moment; `user` is that of the blocks. */
typedef double (*timer_clock)(void *user);

typedef struct timer_rules {
  timer_method method;
  /* Runs in a block. 0: found by growing a block tenfold, from one run, until an empty block takes at most 1e-4 of it;
   * timeit needs a number. */
  uint64_t number;
  double min_run_time_s; /* blocked and adaptive: of all blocks together */
  /* blocked and adaptive: the smallest number, so that a block grows no longer than its share of min_run_time_s. 0: as
   * torch has it. */
  uint64_t min_blocks;
  double max_run_time_s; /* adaptive, and blocked for min_blocks: it gives up then; 0: never */
  double threshold;      /* adaptive: it ends below this ratio of interquartile range to median */
  /* Where emptying the cache outside a block's time may take far longer than the block: blocked and adaptive end, with
   * a warning, when so much time has passed by this clock as min_run_time_s and max_run_time_s allow. NULL: what the
   * blocks themselves took is all that counts. */
  timer_clock clock;
} timer_rules;

/* No rule takes more blocks than this, nor a block more runs. */
enum { TIMER_MAX_BLOCKS = 100000, TIMER_MAX_NUMBER = 1000000000 };

/* Does `number` runs between two looks at the clock; 0: an empty block. Times are in seconds; device_s NaN: not
 * measured. PD_STOP: asked to end, the block does not count. */
typedef pd_status (*timer_block)(void *user, uint64_t number, double *host_s, double *device_s);

/* Fills method, number_per_run and timer_overhead_s of an empty measurement, from empty blocks and those that grow,
 * which are its warm-up. */
pd_status timer_prepare(const timer_rules *rules, timer_block block, void *user, pd_measurement *out);

/* Takes the blocks of a prepared measurement, and sets `partial`. A block whose time is negative or not finite does not
 * count, and a warning says how many there were. PD_STOP and failures of `block` end the measurement with what there
 * is, partial; PD_INVALID: no block had a time. */
pd_status timer_take(const timer_rules *rules, timer_block block, void *user, pd_measurement *out);

const char *timer_method_name(timer_method method);

#endif
