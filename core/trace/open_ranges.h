/* The ranges that a thread has open at one moment, looked at from the loop thread while the thread goes on. */
#ifndef CORE_TRACE_OPEN_RANGES_H
#define CORE_TRACE_OPEN_RANGES_H

#include "threads.h"

typedef struct open_look {
  raw_range ranges[THREAD_MAX_DEPTH]; /* outermost first; info and stack still packed, no end */
  uint32_t count;
  uint64_t finished; /* ranges that the thread had published before the look */
} open_look;

void open_look_take(const recorder_thread *self, open_look *look);

/* Appends them to the ranges that ended, which were copied after the look, cut at the window's end. Leaves out those
 * that are among the ranges that ended, whatever their end is. `out->ranges` has room. */
void open_look_append(const open_look *look, uint64_t end_ticks, window_thread *out);

#endif
