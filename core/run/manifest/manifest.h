/* The manifest of a run: all that decides what it does, and what it did, as far as another run of the same is to do it
 * again. `pdhost rerun` reads it. [loop thread] */
#ifndef CORE_RUN_MANIFEST_MANIFEST_H
#define CORE_RUN_MANIFEST_MANIFEST_H

#include "config/config.h"

#include <pdhost/sink.h>

#define MANIFEST_FORMAT "pdhost.manifest/1"
/* In the run's folder; in a folder of its own, since tools take every .json of the trace folder for a trace. */
#define MANIFEST_FILE "manifest/manifest.json"
/* Losses and times are kept for this many steps, from the first on. */
#define MANIFEST_STEPS_MOST 10000

typedef struct manifest manifest;

/* NULL on no memory. */
manifest *manifest_open(void);
void manifest_close(manifest *self);

/* Notes what a window launched. On no memory nothing is written at the end. */
void manifest_window(manifest *self, const pd_trace *trace);

/* Writes trace_dir/MANIFEST_FILE. It is not announced: the report has no line to spare for it. Call it while the sinks
 * are open, since their libraries are loaded then. */
pd_status manifest_write(const manifest *self, const config *settings, const pd_run *run, const pd_summary *summary,
                         const pd_files *files);

#endif
