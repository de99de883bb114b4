/* The parts of the json sink's document, each writing keys into the object that is open. [loop thread] */
#ifndef SINKS_JSON_SECTIONS_H
#define SINKS_JSON_SECTIONS_H

#include "../lib/json_writer.h"

#include <pdhost/sink.h>

enum { JSON_SCHEMA_VERSION = 1 };

/* What is known before the first step. */
void section_run(json_writer *json, const pd_run *run);
/* One element of "windows"; `set` may be NULL: no tables. */
void section_window(json_writer *json, const pd_trace *trace, const pd_table_set *set);
/* "series" of the window. */
void section_series(json_writer *json, const pd_trace *trace);
/* "tables" of the window or the run; `set` may be NULL: none. */
void section_tables(json_writer *json, const pd_table_set *set);
/* What is known at the end, the device with the version of a profiling library that was loaded on the way. */
void section_summary(json_writer *json, const pd_run *run, const pd_summary *summary);

#endif
