/* What a guard saw, for the reader of a measurement. [loop thread] */
#ifndef CORE_MEASURE_GUARD_REPORT_H
#define CORE_MEASURE_GUARD_REPORT_H

#include "measurement.h"
#include "run/guard.h"

/* Puts the facts into `conditions` and a warning for each disturbance; *trusted becomes false where heat or the power
 * supply slowed the GPU down, and stays as it is otherwise. */
pd_status guard_report(const guard_facts *facts, pd_measurement *out, bool *trusted);

#endif
