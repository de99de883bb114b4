/* Host events of a trace: those that end before they begin, and children that outlast their parents. */
#ifndef CORE_CHECK_CHECK_HOST_ROWS_H
#define CORE_CHECK_CHECK_HOST_ROWS_H

#include "check_clock.h"

pd_status check_host(const check_rows *rows, check_clock clock, check_findings *findings);

#endif
