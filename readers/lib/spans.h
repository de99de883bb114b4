/*
 * Ranges that the program starts and ends by an id, on any threads: they need not lie within one another, so they are
 * shown on rows of their own, beside those of the threads. [any thread]
 */
#ifndef READERS_LIB_SPANS_H
#define READERS_LIB_SPANS_H

#include <pdhost/reader.h>

#include <stdbool.h>

typedef struct span {
  int64_t start_ns, end_ns;
  uint32_t name; /* the intake's */
  uint32_t row;
} span;

/* Begins with all zero. */
typedef struct spans {
  span *all;
  uint32_t count, room;
  bool failed; /* out of memory */
} spans;

/* `name`: the intake's string id. False: no memory, which spans_give says, too. */
bool spans_add(spans *self, int64_t start_ns, int64_t end_ns, uint32_t name);
/* Gives them to the intake, of process `pid`. PD_NO_MEMORY is the one failure. */
pd_status spans_give(spans *self, const pd_intake *intake, uint32_t pid);
void spans_free(spans *self);

#endif
