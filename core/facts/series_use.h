/* The series of a window, each with what its values were. [any thread] */
#ifndef CORE_FACTS_SERIES_USE_H
#define CORE_FACTS_SERIES_USE_H

#include <pdhost/trace.h>

#include <stdbool.h>

typedef struct series_row {
  uint32_t name; /* string id */
  uint64_t looks;
  double least, most, sum;
} series_row;

/* In the order in which they begin. */
typedef struct series_use {
  series_row *rows;
  uint32_t count, room;
} series_use;

/* Whether the window has any. */
bool series_are_in(const pd_trace *trace);
/* False: no memory. */
bool series_use_open(const pd_trace *trace, series_use *out);
void series_use_free(series_use *self);

#endif
