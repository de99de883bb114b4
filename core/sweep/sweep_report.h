/* What a sweep found: a table, the best cell, curves; files of the same. [loop thread] */
#ifndef CORE_SWEEP_SWEEP_REPORT_H
#define CORE_SWEEP_SWEEP_REPORT_H

#include "sweep_found.h"

#include "config/args.h"

/* On standard output: as text a table, the best cell, what draws say and curves; else what the file of that format has.
 * False: `err` says why. */
bool sweep_report_print(const sweep_found *self, const pd_measurements *rows, args_format format, error *err);
/* sweep.json, sweep.csv, sweep.md, sweep.html, where there are curves curves.svg and where there are draws draws.csv,
 * in the plan's folder; they are named on standard error unless `quiet`. The exit code; the line of a failure is
 * printed. */
int sweep_report_files(const sweep_found *self, const pd_measurements *rows, bool quiet);

#endif
