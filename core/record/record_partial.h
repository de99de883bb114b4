/* Files that a process which was ended had not completed. [main thread] */
#ifndef CORE_RECORD_RECORD_PARTIAL_H
#define CORE_RECORD_RECORD_PARTIAL_H

#include "config/config.h"

#include <sys/types.h>

/* Removes them below run.trace_dir, and where the settings of the sinks lead: base/files.h says how they are named. */
void record_partial_remove(const config *settings, pid_t pid);

#endif
