/* The csv sink's "events/annotations": gpu_user_annotation of the Chrome trace, as the device had it. */
#ifndef SINKS_CSV_ANNOTATION_FILE_H
#define SINKS_CSV_ANNOTATION_FILE_H

#include "csv_writer.h"

#include <pdhost/sink.h>

/*
 * A row for each user range and each stream with work that was launched while the range was the innermost of its kind:
 * from the first of those device rows' start to the last one's end, in nanoseconds from the trace's base, and how many
 * they are. Sorted by the first one's start. The Chrome trace cuts and widens them so that viewers can nest them; here
 * they are whole. No memory is the writer's failure. [loop thread]
 */
void annotation_file_write(csv_writer *csv, const pd_trace *trace);

#endif
