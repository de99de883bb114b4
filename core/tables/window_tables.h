/* The analysis: all tables of a pd_trace, each computed once. */
#ifndef CORE_TABLES_WINDOW_TABLES_H
#define CORE_TABLES_WINDOW_TABLES_H

#include "facts/processor_use.h"

#include <pdhost/analysis.h>
#include <pdhost/scenario.h>

typedef struct analysis analysis;

/* Another program's window: what to type next. Texts that are NULL: nothing. */
typedef struct analysis_follow_up {
  const char *again; /* once the program was changed: shows what that did */
  const char *steps; /* tells which of the window's ranges are the steps */
} analysis_follow_up;

/* What the tables need beside the trace. */
typedef struct analysis_context {
  const pd_device_props *device;
  int64_t batch_size;
  bool with_flops, with_modules, profile_memory;
  bool tf32;                           /* float32 products may use it, where the device has it */
  uint32_t cores;                      /* that the process may use */
  const char *command_line;            /* of the run, for the verdict's next command; NULL: "pdhost" */
  bool of_ranks;                       /* a run of several: the command of one is none that says more of all */
  const pd_cure *cures;                /* what the scenario says takes a cause out; NULL: nothing */
  int64_t num_workers;                 /* of the loader; 0: none, or not known */
  const analysis_follow_up *follow_up; /* of another program; NULL: none */
  const char *disturbance;             /* analysis_disturbed's; NULL: none */
  pd_offers offers; /* what the verdict may suggest; not known: all that this kind of device may have */
} analysis_context;

pd_status analysis_open(const analysis_context *context, analysis **out);
void analysis_close(analysis *self);

/* The table behind PD_EXT_ANALYSIS. */
const pd_analysis *analysis_table(const analysis *self);

/* What the metric of this key is headed on a CUDA device; NULL: no such metric. [any thread] */
const char *analysis_cuda_heading(const char *key);

/* Tables that the run itself made, after those of pd_analysis.run_tables for every summary that is asked for from now
 * on. Borrowed until the analysis is closed. [loop thread] */
void analysis_add_run_tables(analysis *self, const pd_table_set *more);

/* Borrowed by the windows from now on, until the next call. NULL: none. [loop thread] */
void analysis_follow(analysis *self, const analysis_follow_up *next);

/* The trace is about to go: forgets the sets computed from it. [loop thread] */
void analysis_forget(analysis *self, const pd_trace *trace);

/* CPU use of this process and of the system between begin and end of a window, from /proc, for Device Summary. Where
 * /proc cannot be read it is not known, and the table has no row of it. */
void analysis_window_begin(analysis *self);
void analysis_window_end(analysis *self);
/* What lies between the two does not count. */
void analysis_window_pause(analysis *self);
void analysis_window_resume(analysis *self);

/* The same as measured; NULL: it was not. For captures: of a window that ended, and for one that is read back. */
const proc_usage *analysis_usage(const analysis *self);
void analysis_set_usage(analysis *self, const proc_usage *usage);

/* What disturbed the window that ended, a sentence each without a full stop, for the verdict's note; NULL: nothing did.
 * Both are copied, and hold until the next call. [loop thread] */
void analysis_disturbed(analysis *self, const char *machine, const char *process);
/* Both as one text; NULL: nothing did. */
const char *analysis_disturbance(const analysis *self);

#endif
