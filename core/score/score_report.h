/* The figures of a corpus as a table, as JSON and as CSV. */
#ifndef CORE_SCORE_SCORE_REPORT_H
#define CORE_SCORE_SCORE_REPORT_H

#include "judge.h"

/* A figure of all causes together, for whoever prints it. */
typedef struct report_figure {
  const char *key, *title, *unit; /* unit: "", "%" or "points"; values are 0..1 for the first two */
  size_t offset;                  /* into figures_values */
} report_figure;

enum { REPORT_MACRO_F1, REPORT_ACCURACY, REPORT_FALSE_ALARMS, REPORT_FIGURES = 14 };
extern const report_figure report_figures[REPORT_FIGURES];

static inline double report_value(const figures_values *values, const report_figure *figure) {
  return *(const double *)(const void *)((const char *)values + figure->offset);
}

void report_table(const score *self);
/* `folder`/score.json, and as CSV figures.csv, score.csv (causes), confusion.csv, calibration.csv, rivals.csv and
 * cells.csv; as a page score.html. */
bool report_files(const score *self, const char *folder, error *err);

#endif
