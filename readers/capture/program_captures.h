/*
 * Launches into a stream that is being captured: they run never, or later under a graph's launch, and have no device
 * record of their own. A thread that captures is known while it is recorded; the launches of others meanwhile are
 * captured where no device record answers them. [any thread]
 */
#ifndef READERS_CAPTURE_PROGRAM_CAPTURES_H
#define READERS_CAPTURE_PROGRAM_CAPTURES_H

#include <pdhost/record.h>

#include <stdbool.h>

typedef struct capture_point {
  int64_t ns;
  int32_t change; /* +1: a capture begins, -1: one ends */
} capture_point;

typedef struct captured_launch {
  uint64_t correlation;
  bool has_run;
} captured_launch;

typedef struct program_captures {
  capture_point *points;
  captured_launch *launches;
  uint32_t point_count, point_room, launch_count, launch_room;
} program_captures;

/* What a call of this name does to a capture; 0: nothing. With its variants: cudaStreamBeginCapture,
 * cuStreamBeginCapture_v2_ptsz, cudaStreamBeginCaptureToGraph. */
enum { PROGRAM_CAPTURE_BEGINS = 1, PROGRAM_CAPTURE_ENDS = 2 };
uint8_t program_captures_name(const char *text, uint32_t bytes);
/* Begins with all zero. Every call that begins or ends a capture. PD_NO_MEMORY is the one failure. */
pd_status program_captures_bound(program_captures *self, const pd_activity *call, bool begins);
/* Behind the last bound. False: no capture was begun and ended, and nothing more is to be done. */
bool program_captures_sort(program_captures *self);
/* Every row, once. PD_NO_MEMORY is the one failure. */
pd_status program_captures_launch(program_captures *self, const pd_activity *row);
/* Behind the last launch, every row once more. */
void program_captures_answers(program_captures *self);
void program_captures_answer(program_captures *self, const pd_activity *row);
/* Whether a call was captured. */
bool program_captures_has(const program_captures *self, uint64_t correlation);
void program_captures_free(program_captures *self);

#endif
