/* How much a scenario has to inject for a step to take the time that was asked for: a search over steps with it and
 * without. It knows no clock: whoever calls it measures. */
#ifndef CORE_RUN_TRUTH_DIAL_H
#define CORE_RUN_TRUTH_DIAL_H

#include "truth_effect.h"
#include "config/config_dial.h"

#include <pdhost/plugin.h>

#include <stdint.h>

enum { DIAL_PAIRS_ONCE = 64 }; /* at most */

/* Where the search gets its steps from. */
typedef struct dial_source {
  /* Steps with `amount` that no trial has in its figures; NULL: none are needed. Called before each trial, and last for
   * the amount that was found. Not PD_OK: the search ends. */
  pd_status (*prepare)(void *user, double amount);
  /* A few pairs of steps with `amount` and without the injection, one at least. Not PD_OK: the search ends. */
  pd_status (*pairs)(void *user, double amount, truth_block_pair *out, uint64_t *count);
  int64_t (*now_ns)(void *user);
  void *user;
} dial_source;

/* What is asked for, where a step without the injection takes `without_ns`. */
double dial_wanted_ns(double us, double share, double without_ns);

/* Finds an amount that is near by rough trials, then a better one by exact trials, until their spread says that it is
 * right or `limit_ns` are over, not counting up to twice as long for `prepare`. It stays within the bounds of the key.
 * What `prepare` or `pairs` returns if it is not PD_OK. */
pd_status dial_find(const config_dial *asked, const dial_source *source, int64_t limit_ns, double *amount);

#endif
