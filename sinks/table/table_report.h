/*
 * The short report of a run, what the view `summary` prints: the verdict, the steps, where their time goes, the largest
 * operators and kernels, notes, the files written, and the verdict's sentence once more. At most REPORT_LINES lines,
 * in proportion more below REPORT_COLUMNS columns, but for commands and paths, which are never cut. [loop thread]
 */
#ifndef SINKS_TABLE_TABLE_REPORT_H
#define SINKS_TABLE_TABLE_REPORT_H

#include "text.h"

#include <pdhost/sink.h>

enum { REPORT_LINES = 40, REPORT_COLUMNS = 80, REPORT_ROWS = 5, REPORT_CAUSES = 12 };

/* A row of a short table. */
typedef struct report_row {
  char *name;
  double per_step_ns, percent, per_step_calls;
} report_row;

typedef struct report_rows {
  report_row rows[REPORT_ROWS];
  uint32_t count;
} report_rows;

/* How many windows gave a verdict. */
typedef struct report_cause {
  char name[32];
  uint64_t windows;
} report_cause;

/* What is kept of the windows; of all but the verdicts' words the last window's. Zero it. */
typedef struct report {
  text verdict, line; /* the block; its sentence alone */
  text steps_found;   /* how the steps were found; empty: the program marks them, or there are none */
  report_rows ledger, operators, kernels;
  bool by_host;    /* operators by time on the host: there are no device records */
  bool of_file;    /* operators and kernels are those of the file: some of them lie outside all steps */
  bool by_class;   /* `ledger` holds classes of the step-time breakdown */
  double whole_ns; /* no step was found: the length of the recording, of which the figures are; else 0 */
  report_cause causes[REPORT_CAUSES];
  uint32_t cause_count, last_cause;
  uint64_t windows;
  bool failed; /* no memory */
} report;

void report_window(report *self, const pd_trace *trace, const pd_table_set *set, size_t columns, bool colour);
/* `files` may be NULL: then no files are named. */
void report_write(report *self, text *out, const pd_run *run, const pd_summary *summary, const pd_files *files,
                  size_t columns);
/* The verdict of the last window, or why there is none, in one line. */
void report_line(const report *self, text *out, const pd_summary *summary, size_t columns);
/* The files written so far, one line each, and what opens them. */
void report_files(text *out, const pd_files *files, size_t columns);
void report_free(report *self);

#endif
