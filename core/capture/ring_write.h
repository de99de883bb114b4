/*
 * The writing side of a shared ring. Any number of threads write, each through lanes of its own; a lane is one
 * thread's. Nothing here waits, allocates or calls the system but for ring_create and ring_close.
 */
#ifndef CORE_CAPTURE_RING_WRITE_H
#define CORE_CAPTURE_RING_WRITE_H

#include "ring.h"

#include <stddef.h>

typedef struct ring_writer {
  ring_head *head; /* NULL: there is none, and every row is refused */
  int fd;          /* holds a lock on the file: ring_read.h knows by it that the process lives */
  _Atomic uint32_t hint;
  _Atomic uint32_t held; /* blocks that lanes with a thread write to */
} ring_writer;

/* Rows of one kind and thread. Zero it but for the first four. */
typedef struct ring_lane {
  ring_writer *ring;
  uint32_t kind, thread, row_bytes;
  ring_block *block; /* NULL: none is taken */
  uint64_t count;    /* rows so far */
} ring_lane;

/* Makes the file, which must not exist, with all of its space, so that no later write can fail for lack of space. A
 * forked child has no mapping of it. False: errno says why. */
bool ring_create(ring_writer *self, const char *path, uint32_t blocks);
/* Says that nothing more comes. The mapping stays: another thread may be about to write. */
void ring_end(ring_writer *self);

/* Adds `rows` rows, `bytes` bytes in all. All of them or none is written; false: no block was free, which is for the
 * caller to count, or they would not fit into one. */
bool ring_put(ring_lane *self, const void *data, uint32_t bytes, uint32_t rows);
/* Leaves the block to the reader; the next row takes another. */
void ring_lane_close(ring_lane *self);
/* `loss` is a pd_loss. */
void ring_lost(ring_writer *self, uint32_t loss, uint64_t count);
uint64_t ring_lost_so_far(const ring_writer *self, uint32_t loss);

#endif
