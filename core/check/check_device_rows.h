/* Device records of a trace: each by itself, and those of a stream one after the other. */
#ifndef CORE_CHECK_CHECK_DEVICE_ROWS_H
#define CORE_CHECK_CHECK_DEVICE_ROWS_H

#include "check_clock.h"

/* Sets check_work.call where the rows do not have it yet; first. */
pd_status check_launches(check_rows *rows, check_clock clock, check_findings *findings);
pd_status check_device(const check_rows *rows, check_clock clock, check_findings *findings);

#endif
