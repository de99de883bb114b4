/* Which window a part of a full report is of. [loop thread] */
#ifndef SINKS_TABLE_WINDOW_TITLE_H
#define SINKS_TABLE_WINDOW_TITLE_H

#include "text.h"

#include <pdhost/sink.h>

/* "Window 1", and "Rank 3, window 1" of a trace of another program, with its steps and how complete it is. */
void window_title(text *out, const pd_run *run, const pd_trace *trace, size_t columns);
/* Its name in a line; nothing for the only window that there may be. */
void window_heading(text *out, const pd_run *run, const pd_trace *trace);

#endif
