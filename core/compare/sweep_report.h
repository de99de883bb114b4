/* What a sweep found: a table, the best cell, curves; files of the same. [loop thread] */
#ifndef CORE_COMPARE_SWEEP_REPORT_H
#define CORE_COMPARE_SWEEP_REPORT_H

#include "grid.h"
#include "sweep_cell.h"

typedef struct sweep_report {
  const sweep_plan *plan;
  const pd_measurement *const *cells; /* by cell; NULL: not measured */
  const samples *from;                /* of those that were, in their order */
  const char *of;                     /* what a time is of: "iteration" */
} sweep_report;

/* Table, best cell and curves on standard output. False: `err` says why. */
bool sweep_report_text(const sweep_report *self, bool color, error *err);
/* sweep.json, sweep.csv, sweep.md and curves.svg in the plan's folder. The exit code; the line of a failure is printed.
 */
int sweep_report_files(const sweep_report *self, const pd_measurements *rows);

#endif
