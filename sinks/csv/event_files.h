/* The csv sink's files of events: every row of a pd_trace. Times are nanoseconds from the trace's base. [loop thread]
 */
#ifndef SINKS_CSV_EVENT_FILES_H
#define SINKS_CSV_EVENT_FILES_H

#include "csv_writer.h"

#include <pdhost/sink.h>

typedef struct event_file {
  const char *name; /* "events/kernels" */
  void (*write)(csv_writer *csv, const pd_trace *trace);
} event_file;

/* All of them, the losses first; the last one has no name. */
extern const event_file event_files[];

/* "steps": every step of the loop. */
void event_files_steps(csv_writer *csv, const pd_summary *summary);

#endif
