/*
 * The stretches of a program's recording, each of which is a window. The user had paused the recording between them.
 * What was launched in one belongs to it, whenever it ran. [loop thread]
 */
#ifndef READERS_CAPTURE_PROGRAM_STRETCHES_H
#define READERS_CAPTURE_PROGRAM_STRETCHES_H

#include "capture/format.h"

#include <pdhost/record.h>

/* Zeroed at first. */
typedef struct program_stretches {
  capture_pause *pauses; /* in order, none touches another */
  uint32_t count, room;
  uint32_t next; /* stretch to be read, up to `count` */
  bool is_read;
} program_stretches;

/* Rows of CAPTURE_PAUSES; those that cannot be are left out: how many, in *strange. False: no memory. */
bool program_stretches_add(program_stretches *self, const void *rows, uint32_t count, uint64_t *strange);
/* All were added. */
void program_stretches_sort(program_stretches *self);

/* Stretch `index`: [from, until) for what the program did; what ran before `next` is of its launches. CLOCK_REALTIME;
 * INT64_MAX: without an end. */
typedef struct program_stretch {
  int64_t from_ns, until_ns, next_ns;
  int64_t paused_ns;    /* before it */
  const uint64_t *lost; /* by pd_loss: from the start of the recording to its begin; NULL: nothing is before it */
  const uint64_t *lost_by_end; /* to its end; NULL: that of the recording */
} program_stretch;
program_stretch program_stretches_at(const program_stretches *self, uint32_t index);
/* Whether a row that begins at `ns` may be of it. */
static inline bool program_stretch_has(const program_stretch *self, int64_t ns) {
  return ns >= self->from_ns && ns < self->next_ns;
}
void program_stretches_free(program_stretches *self);

#endif
