/* What `pdhost ab` says. [loop thread] */
#ifndef CORE_COMPARE_AB_REPORT_H
#define CORE_COMPARE_AB_REPORT_H

#include "ab_sides.h"
#include "comparison.h"

#include <stdio.h>

typedef struct ab_report {
  const ab_sides *sides; /* measured */
  const ab_result *of;
  double margin;
  outcome verdict;
  bool partial;
} ab_report;

/* False: `err` says why. JSON goes to standard output. */
bool ab_report_text(const ab_report *self, bool color, FILE *out, error *err);
/* A row for each side, as pdhost compare prints it, on standard output. False: `err` says why. */
bool ab_report_csv(const ab_report *self, error *err);
bool ab_report_json(const ab_report *self, error *err);

/* Tells the progress line how far it is. */
void ab_report_progress(const ab_result *so_far, double max_time_s);

#endif
