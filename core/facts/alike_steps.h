/* Steps that do not launch the same each time. Part of step_finder.h; pure, as launch_period.h is. */
#ifndef CORE_FACTS_ALIKE_STEPS_H
#define CORE_FACTS_ALIKE_STEPS_H

#include "launch_period.h"

/* Two steps are alike when this share of the kernels of the longer one is among the other's, in any order. */
#define ALIKE_STEPS_SHARE 0.9

/* Where only several steps together repeat, since a mask picks other rows in each, the period that was found holds
 * several of them: each ends with an optimizer, and they are alike. Then *found is divided into these steps, and those
 * around it that are alike join them. Otherwise it stays: networks that take turns are one step. The only failure is
 * PD_NO_MEMORY. */
pd_status alike_steps_divide(const launch_sequence *all, launch_period *found);

/* Where nothing repeats at all: STEP_FINDER_BLOCK steps and more in a row that end with an optimizer and are alike,
 * with at least half of the launches. *found stays as it is where there are none. */
pd_status alike_steps_find(const launch_sequence *all, launch_period *found);

#endif
