/* How much a scenario has to inject for a step to take the time that was asked for: a search over steps with it and
 * without. It knows no clock: whoever calls it measures. */
#ifndef CORE_RUN_TRUTH_DIAL_H
#define CORE_RUN_TRUTH_DIAL_H

#include "config/config_dial.h"

#include <pdhost/plugin.h>

enum { DIAL_TRIALS = 10 }; /* at most */

/* The time of a step with `amount` and without the injection. Not PD_OK: the search ends. */
typedef pd_status (*dial_measure)(void *user, double amount, double *with_ns, double *without_ns);

/* What is asked for, where a step without the injection takes `without_ns`. */
double dial_wanted_ns(double us, double share, double without_ns);

/* The amount that came closest; within the bounds of the key. What `measure` returns if it is not PD_OK. */
pd_status dial_find(const config_dial *asked, dial_measure measure, void *user, double *amount);

#endif
