/*
 * The window that was open when a process died, from the room that it recorded in. [loop thread]
 *
 * What the device's library still held, and the names of code, died with the process; everything else that the threads
 * had recorded is there.
 */
#ifndef CORE_TRACE_KEPT_SALVAGE_H
#define CORE_TRACE_KEPT_SALVAGE_H

#include "trace/recorder.h"
#include "room.h"

struct capture_writer;

/* A window begins: what the recorder holds of it outside the lists of threads goes into the room, where it fits. */
void room_window_begin(recorder *self);
/* It is written, or given up. */
void room_window_end(recorder *self);

/* Writes the window of a dead process to `capture`, as its end would have. `end`: what the process would have said of
 * it; `steps`: those that it finished; `source`: of its clock, NULL for this machine's. PD_STOP: no window was open, or
 * all of it is written already. PD_INVALID: the process has overwritten the room, and nothing is written. What is read
 * is checked before it is followed, but a process that may not die itself is wise to leave it to a child. */
pd_status room_salvage(trace_room *room, const recorder_window *end, const recorder_step *steps, uint64_t step_count,
                       const clock_source *source, struct capture_writer *capture);

#endif
