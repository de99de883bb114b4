/* The short report's section of the active steps: spreads of their times, each in order, and their rate. [loop thread]
 */
#ifndef SINKS_TABLE_REPORT_STEPS_H
#define SINKS_TABLE_REPORT_STEPS_H

#include "text.h"

#include <pdhost/sink.h>

/* A run without active steps has one line that says so. */
void report_steps(text *out, const pd_run *run, const pd_summary *summary, size_t columns);

#endif
