/*
 * The way from the worker to the writer: the worker adds to the run's capture and says so; the writer, in which the
 * sinks are, reads on. Between steps and at the end of a window the worker waits until all of it was read: what sinks
 * do is no part of a step, and falls into none. When the writer dies, the next one begins at the capture's begin.
 *
 * All of it lies on the board, so that a process that dies holds nothing that another one waits for.
 */
#ifndef CORE_RUN_WRITING_FEED_H
#define CORE_RUN_WRITING_FEED_H

#include "run/board.h"

/* ---- the worker ---- [loop thread] */

/* Whether the sinks are in a writer. */
bool feed_is_on(void);
/* There is no capture: no writer gets anything, and the sinks are opened here. */
void feed_refuse(void);
/* The capture is there. Returns when the writer's sinks are open, or no writer is left. */
void feed_open(void);
/* The capture has something more, which is whole. Does nothing without a writer. */
void feed_post(void);
/* Returns when all that was posted was read, or no writer is left. */
void feed_wait(void);

typedef struct feed_result {
  int code;          /* the writer's exit code; -1: it did not come to its end, and the capture is all there is */
  uint32_t left_out; /* sinks that ended a writer */
} feed_result;
/* The capture has the run's end. */
void feed_last(void);
/* Then: returns when every sink is closed, or no writer is left. */
feed_result feed_end(void);

/* The supervisor, of which this process is a part of the run, is gone. */
bool feed_is_orphan(void);

/* Processor time of all writers so far, in seconds. */
double feed_writer_seconds(void);

/* ---- the writer ---- */

/* Zeroed at first. */
typedef struct feed_place {
  uint64_t seen;
  bool saw_end, lost; /* lost: worker and supervisor are gone without an end */
} feed_place;

/* Returns when the capture has something to read. False: nothing follows what was read before. */
bool feed_more(feed_place *self);
void feed_opened(void);
/* Everything is closed, with this exit code. */
void feed_close(int code);

/* ---- the supervisor ---- */

/* Before the worker is forked, and when the board was renewed. */
void feed_begin(void);
void feed_begin_writer(int pid);
/* Nothing follows. `reason`: why the run has no end of its own; NULL: it has one, or nothing was begun. */
void feed_ends(const char *reason);
/* No writer is left. */
void feed_gone(void);

#endif
