/*
 * Analysis extension: every table a run can show, computed once from a pd_trace and read by all sinks.
 *
 * A table is rows of typed cells under metrics. Text, CSV, JSON and markdown are renderings of the same cells.
 */
#ifndef PDHOST_ANALYSIS_H
#define PDHOST_ANALYSIS_H

#include "trace.h"

#ifdef __cplusplus
extern "C" {
#endif

#define PD_EXT_ANALYSIS "pdhost.analysis/1"

typedef uint32_t pd_unit;
enum {
  PD_UNIT_NONE = 0,
  PD_UNIT_COUNT = 1,
  PD_UNIT_NS = 2, /* shown in the reader's unit of time */
  PD_UNIT_BYTES = 3,
  PD_UNIT_PERCENT = 4, /* 0..100 */
  PD_UNIT_RATIO = 5,   /* 0..1 */
  PD_UNIT_FLOPS = 6,
  PD_UNIT_PER_S = 7,
  PD_UNIT_GB_PER_S = 8,
  PD_UNIT_TEXT = 9
};

/* One entry of the registry: headings, CSV columns, JSON keys, the glossary and --explain come from it. */
typedef struct pd_metric {
  const char *key;        /* "self_cpu_time_total": JSON key and CSV column */
  const char *heading;    /* "Self CPU": as the reader of torch's or Paddle's table knows it */
  const char *definition; /* one sentence */
  const char *formula;    /* exact, in terms of the trace; NULL: the definition says it all */
  const char *source;     /* "torch key_averages().table()", ... */
  pd_unit unit;
  uint32_t flags; /* PD_METRIC_* */
} pd_metric;
enum {
  PD_METRIC_WIDE = 1 /* shown by --wide, else where room is left */,
  PD_METRIC_DETAIL = 2 /* never in text: csv and json only */
};

typedef struct pd_cell {
  union {
    int64_t i;        /* COUNT, NS, BYTES, FLOPS */
    double d;         /* PERCENT, RATIO, PER_S, GB_PER_S */
    const char *text; /* TEXT: the table's */
  } v;
  uint32_t missing; /* 1: no value here: blank in text, empty in CSV, null in JSON */
  uint32_t is_double;
} pd_cell;

typedef struct pd_table_row {
  const pd_cell *cells; /* column_count */
  uint32_t level;       /* indentation of the first column: 0 operator, 1 inner range, 2 kernel */
  uint32_t flags;       /* PD_ROW_* */
} pd_table_row;
enum { PD_ROW_RECORD = 1 /* the only row of its table: reads as a list of headings and values */ };

typedef struct pd_table {
  uint32_t size;
  uint32_t column_count;
  const char *id;    /* "operators": file name, JSON key, name in [sink.table] views */
  const char *title; /* "Operator Summary" */
  const char *note;  /* what the reader must know ("ratios may add up to more than 100: ..."), or NULL */
  const pd_metric *const *columns;
  pd_array rows;              /* of pd_table_row */
  const pd_table_row *footer; /* or NULL: totals, under the same columns; first cell is their label */
  /* For every cell the significant digits that its spread supports, 0: no spread is known.
   * Row by row, column_count each, the footer's after the last row; NULL: all 0. Only text shows them. */
  const uint8_t *digits;
} pd_table;

/* The digits that the spread supports in `column` of row `row`; the footer is row number rows.count. 0: no spread is
 * known. */
static inline uint32_t pd_table_digits(const pd_table *table, uint64_t row, uint32_t column) {
  return PD_HAS(pd_table, table, digits) && table->digits ? table->digits[row * table->column_count + column] : 0;
}

typedef struct pd_table_set {
  uint32_t size;
  uint32_t count;
  const pd_table *const *tables; /* in the order a reader wants them */
} pd_table_set;

/* What to compute. Zero it, set `size`, and every table comes with its defaults. */
typedef struct pd_table_request {
  uint32_t size;
  uint32_t group_by_input_shape;
  uint32_t group_by_stack_n;
  uint32_t top_level_events_only;
  uint32_t thread_sep;
  uint32_t hide_op_detail;
  uint32_t corrected; /* the table `corrected` too: steps without what recording adds */
  uint32_t reserved;
  const char *sort_by;   /* operators: torch's keys; NULL: self_cuda_time_total */
  const char *sorted_by; /* Paddle's tables: CPUTotal ...; NULL: CPUTotal */
} pd_table_request;

struct pd_run;
struct pd_summary;
typedef struct pd_analysis {
  uint32_t size;
  uint32_t reserved;
  void *impl;
  /* All tables of the trace. The same request gives the same set without computing again. Owned by the host until
   * on_trace_ready of the last sink has returned. NULL on no memory. [loop thread] */
  const pd_table_set *(*tables)(const struct pd_analysis *analysis, const pd_trace *trace,
                                const pd_table_request *request);
  /* The registry, `*count` metrics. [any thread] */
  const pd_metric *const *(*metrics)(const struct pd_analysis *analysis, uint64_t *count);
  /* The tables of the whole run, from the steps of `summary` alone, so that they are there without a trace
   * too; a summary without steps gives them without figures. At the end of a run of several ranks, rank 0 has tables of
   * what all ranks did together after them. Owned by the host until close of the last sink has
   * returned. NULL on no memory. [loop thread] */
  const pd_table_set *(*run_tables)(const struct pd_analysis *analysis, const struct pd_run *run,
                                    const struct pd_summary *summary);
  /* The significant digits, 3 to 5, with which to show figures made of these `count` values: one more than their
   * spread leaves certain. Times are in seconds. Sorts the values. [any thread] */
  uint32_t (*digits)(const struct pd_analysis *analysis, double *values, uint64_t count);
  /* Begins to make the tables of a request that leaves all out, on other threads. For a sink that writes something else
   * of the trace first, and asks for the tables after it: set PD_SINK_TRACE_FIRST then. Optional. [loop thread] */
  void (*prepare)(const struct pd_analysis *analysis, const pd_trace *trace);
} pd_analysis;

#ifdef __cplusplus
}
#endif
#endif
