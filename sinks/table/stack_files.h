/*
 * Collapsed stacks as files: "frame;frame;frame microseconds", one line per stack, for flamegraph.pl and speedscope.
 * [loop thread]
 */
#ifndef SINKS_TABLE_STACK_FILES_H
#define SINKS_TABLE_STACK_FILES_H

#include <pdhost/sink.h>

/* Writes the stacks tables of `set` to run->trace_dir, one file per metric, and announces them. A window's number
 * is in the name when the schedule has more than one window. */
pd_status stack_files_write(const pd_host *host, const pd_files *files, const pd_run *run, const pd_table_set *set,
                            uint32_t window);

#endif
