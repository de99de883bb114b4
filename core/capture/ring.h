/*
 * The shared ring: what a process records goes through one mapped file into a capture, so that nothing of it is lost
 * with the process. The process that records makes the file and writes; another one reads and sets free what it has.
 *
 * A file is one ring_head in RING_HEAD_BYTES and then blocks of RING_BLOCK_BYTES. A block holds rows of one kind and
 * one thread. Its writer adds rows and then publishes how many bytes are there, with their CRC32C, in one store: a
 * writer that dies leaves no half of a row, and what a stray pointer has overwritten is known from the checksum.
 * Where no block is free the row is not written, but counted. All references are offsets; there is no lock.
 */
#ifndef CORE_CAPTURE_RING_H
#define CORE_CAPTURE_RING_H

#include <stdatomic.h>
#include <stdbool.h>
#include <stdint.h>

#define RING_MARK 0x0a0d474e49524450u /* "PDRING\r\n" */
enum { RING_VERSION = 1, RING_BYTE_ORDER = 0x01020304 };
enum { RING_HEAD_BYTES = 4096, RING_BLOCK_BYTES = 65536, RING_LOSSES = 16 };

enum { RING_FREE = 0, RING_TAKEN = 1 /* not filled in yet */, RING_OPEN = 2, RING_FULL = 3 };

typedef struct ring_head {
  _Atomic uint64_t mark; /* RING_MARK once the rest of the head stands */
  uint32_t version, byte_order;
  uint32_t blocks, pid;   /* pid: as the process itself knows it */
  int64_t realtime_ns;    /* when it was made */
  _Atomic uint32_t ended; /* 1: the writer has written all that it will */
  uint32_t reserved;
  _Atomic uint64_t lost[RING_LOSSES]; /* by pd_loss; rows for which there was no room among them */
} ring_head;

typedef struct ring_block {
  _Atomic uint32_t state;
  uint32_t kind, thread, row_bytes; /* a capture_kind; a system thread id, or 0 */
  _Atomic uint64_t published;       /* bytes of the rows below 2^32, their CRC32C above */
  uint64_t first;                   /* index of the first row of its thread and kind */
  uint64_t reserved[4];
} ring_block; /* the rows follow */

enum { RING_ROOM = RING_BLOCK_BYTES - (int)sizeof(ring_block) };

static inline uint64_t ring_file_bytes(uint32_t blocks) {
  return RING_HEAD_BYTES + (uint64_t)blocks * RING_BLOCK_BYTES;
}

/* Block `index` of a mapped file. */
static inline ring_block *ring_block_at(ring_head *head, uint32_t index) {
  return (ring_block *)(void *)((char *)head + ring_file_bytes(index));
}

static inline char *ring_rows(ring_block *block) { return (char *)(block + 1); }

#endif
