/*
 * The folder of one run. In [run] trace_dir, <time> and <pid> are replaced by when the run began and by the process
 * that the user started, so that no two runs write to one folder unless the user wants it. [main thread]
 */
#ifndef CORE_CONFIG_RUN_FOLDER_H
#define CORE_CONFIG_RUN_FOLDER_H

#include "config.h"

enum { RUN_FOLDER_NAME = 64 };

/* What <time>-<pid> is in this run: settled by the first call. */
const char *run_folder_name(void);
/* From now on it is this, of the rank that writes the common files. */
void run_folder_share(const char *name);

/* Fills both in into settings->run.trace_dir. */
void run_folder_fill(config *settings);
/* Where that is a folder of the run's own, which is there by now: `latest` beside it leads to it. */
void run_folder_point(const config *settings);

/* The folder that holds it and those of other runs; NULL: it is not the run's own. */
const char *run_folder_above(const config *settings);

#endif
