/* What a run says of itself: to the sinks, before and after, and to the user on stderr. [loop thread] */
#ifndef CORE_RUN_RUN_REPORT_H
#define CORE_RUN_RUN_REPORT_H

#include "run_state.h"
#include "config/config.h"

/* What sinks get before the first step; strings point into `run` and `settings`. */
void run_report_about(run_state *run, const config *settings, pd_run *about);

/* One line: scenario, device, versions, schedule. */
void run_report_header(const run_state *run, const config *settings);

/* Says that a signal ended the run; warns where the data ended before the planned steps were done. */
void run_report_shortfall(const run_state *run, const config *settings);

/* What sinks get at the end. Fails on no memory alone; `summary` can be used all the same. */
pd_status run_report_summary(run_state *run, const config *settings, pd_summary *summary);

/* The files written, a line each. */
void run_report_files(const run_state *run);

#endif
