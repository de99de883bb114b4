/*
 * The reading side of a shared ring, in another process than the writer's: takes what was published, checks it and sets
 * full blocks free. Nothing in the file is believed before it was checked. One thread.
 */
#ifndef CORE_CAPTURE_RING_READ_H
#define CORE_CAPTURE_RING_READ_H

#include "ring.h"

#include <pdhost/plugin.h>

typedef struct ring_seen {
  uint32_t bytes, crc; /* taken of the block so far */
  bool bad;            /* the rest of it is not to be read */
} ring_seen;

typedef struct ring_reader {
  ring_head *head;
  int fd;
  uint32_t blocks;           /* as checked */
  uint32_t pid;              /* of the writer, as this process knows it; 0: not known yet */
  uint64_t begun;            /* when the process began, in the system's ticks; 0: not known */
  ring_seen *seen;           /* by block */
  char *copy;                /* of one block */
  uint64_t torn, torn_bytes; /* places and bytes whose checksum was wrong */
} ring_reader;

/* Rows of one kind and thread, whole ones. They are valid during the call. PD_OK goes on; anything else ends the
 * draining and is returned. */
typedef pd_status ring_take(void *user, uint32_t kind, uint32_t thread, uint32_t row_bytes, uint64_t first,
                            const void *data, uint32_t bytes);

/* PD_STOP: the file is there, but not whole yet. PD_INVALID: it is no ring. PD_IO: errno says why. */
pd_status ring_open(ring_reader *self, const char *path);
void ring_close(ring_reader *self);

/* Takes all that was published since the last time. */
pd_status ring_drain(ring_reader *self, ring_take *take, void *user);
/* Whether the process that writes still lives. Once it is dead one more ring_drain takes the rest. */
bool ring_writer_lives(ring_reader *self);
static inline bool ring_has_ended(const ring_reader *self) {
  return atomic_load_explicit(&self->head->ended, memory_order_acquire) != 0;
}
/* By pd_loss. */
uint64_t ring_lost_count(const ring_reader *self, uint32_t loss);

#endif
