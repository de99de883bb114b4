/* What is around the events of a file: properties and versions before them, names of processes, threads and
 * streams, pdhost's own keys after them. [loop thread] */
#ifndef SINKS_CHROME_TRACE_ENVELOPE_H
#define SINKS_CHROME_TRACE_ENVELOPE_H

#include "event_index.h"

/* Everything up to the bracket of "traceEvents", and the events that name what follows. */
void envelope_begin(event_writer *writer, const event_index *index);
/* The window's span, losses, and all after the bracket. `path` is the file's. */
void envelope_end(event_writer *writer, const event_index *index, const char *path);

/* What to add to the host's ids so that none is a device's, a stream's or a track's: 0 nearly always. */
uint32_t envelope_host_offset(const pd_trace *trace);

#endif
