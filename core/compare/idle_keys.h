/* Keys that a configuration takes, but that cannot change what is timed. [any thread] */
#ifndef CORE_COMPARE_IDLE_KEYS_H
#define CORE_COMPARE_IDLE_KEYS_H

#include "config/config.h"

/* How a configuration is timed: TIMED_LOOP, or one bit of the first four, with TIMED_RECORDED or
 * TIMED_BARE one of the two after them. */
enum {
  TIMED_AB = 1 << 0,        /* pdhost ab */
  TIMED_STEP = 1 << 1,      /* a sweep's cell with [run] mode = benchmark */
  TIMED_BARE = 1 << 2,      /* a sweep's cell with profile.timer_only */
  TIMED_RECORDED = 1 << 3,  /* a sweep's cell with a trace */
  TIMED_LOADED = 1 << 4,    /* its batches are loaded as it goes */
  TIMED_RESIDENT = 1 << 5,  /* its batches are made once, before */
  TIMED_CELL_ENDS = 1 << 6, /* above all of a sweep's together: a set of them fits into 64 bits */
  TIMED_LOOP = 1 << 6       /* pdhost ab --loop, whatif, tune: whole iterations, loaded as they go */
};

/* For whom a key is given. */
typedef enum idle_scope {
  IDLE_ONE, /* one side or one axis, which the key is to make different */
  IDLE_ALL  /* all that is timed: only what the command itself, unasked, leaves without effect counts */
} idle_scope;

/* Why the key can do nothing there, and what to do; NULL: it may do something, or there is no such key. */
const char *idle_keys_why(const config_assignment *at, unsigned timed, idle_scope scope);

#endif
