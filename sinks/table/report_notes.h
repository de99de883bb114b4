/* The notes of the short report: one line each, and how many more there are. [loop thread] */
#ifndef SINKS_TABLE_REPORT_NOTES_H
#define SINKS_TABLE_REPORT_NOTES_H

#include "text.h"

#include <pdhost/sink.h>

/* Nothing where there are none. */
void report_notes(text *out, const pd_summary *summary, size_t columns);

#endif
