/* What the blocks of a measurement themselves say against it: spread, drift, and the timer's own cost. */
#ifndef CORE_MEASURE_MEASUREMENT_JUDGE_H
#define CORE_MEASURE_MEASUREMENT_JUDGE_H

#include "measurement.h"

/* Adds a warning for each doubt, in the words of torch.utils.benchmark where it has them. *trusted becomes false where
 * the spread says that something other than the step was measured: an interquartile range of a quarter of the
 * median. */
pd_status measurement_judge(pd_measurement *self, bool *trusted);

#endif
