/* How much a scenario has to inject for a step to take the time that was asked for: a search over steps with it and
 * without. It knows no clock: whoever calls it measures. */
#ifndef CORE_RUN_TRUTH_DIAL_H
#define CORE_RUN_TRUTH_DIAL_H

#include "config/config_dial.h"

#include <pdhost/plugin.h>

enum { DIAL_TRIALS = 10, DIAL_REFINEMENTS = 4 }; /* at most */

typedef struct dial_trial {
  double amount;
  double close;               /* the standard error of the effect that is good enough, over what is wanted */
  double with_ns, without_ns; /* measured: a step with the amount and without the injection */
  bool last;                  /* measured: there is no time for another */
} dial_trial;

/* Not PD_OK: the search ends. */
typedef pd_status (*dial_measure)(void *user, dial_trial *trial);

/* What is asked for, where a step without the injection takes `without_ns`. */
double dial_wanted_ns(double us, double share, double without_ns);

/* Finds an amount that is near by rough trials, then moves it by exact ones. It stays within the bounds of the key.
 * What `measure` returns if it is not PD_OK. */
pd_status dial_find(const config_dial *asked, dial_measure measure, void *user, double *amount);

#endif
