/* The sinks of a run. A sink that fails is reported once, closed and dropped; the others go on. [loop thread] */
#ifndef CORE_RUN_SINK_SET_H
#define CORE_RUN_SINK_SET_H

#include "abi/services.h"

#include <pdhost/sink.h>

typedef struct sink_set sink_set;

/* One sink as loaded: its functions and its filled options, both the caller's until sink_set_close. */
typedef struct sink_entry {
  const char *name;
  const pd_sink_ops *ops;
  const void *options;
  unsigned char *failed; /* is set to 1 when it fails; NULL: not asked for */
} sink_entry;

/* Opens them all. Those that fail are reported and counted; NULL only on no memory. `folder_fault`, "" or why nothing
 * can be written to run->trace_dir, is said once for all sinks that fail because of it; both are borrowed until
 * sink_set_close. */
sink_set *sink_set_open(const services *all, const sink_entry *entries, uint32_t count, const pd_run *run,
                        const char *folder_fault);
void sink_set_step(sink_set *set, const pd_step_stats *stats);
void sink_set_trace(sink_set *set, const pd_trace *trace);
/* Closes with the summary and frees the set; returns how many sinks failed over the whole run. */
uint32_t sink_set_close(sink_set *set, const pd_summary *summary);

#endif
