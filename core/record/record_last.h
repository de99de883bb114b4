/*
 * What one process recorded in its last seconds, in memory that does not grow with the recording: the flight recorder
 * of `pdhost record --last`. Rows that are too old are dropped; names that rows use stay. [main thread]
 */
#ifndef CORE_RECORD_RECORD_LAST_H
#define CORE_RECORD_RECORD_LAST_H

#include "record_names.h"

#include "capture/capture_write.h"

/* Rows of a process take at most this much, and the names of its threads: the oldest go first. */
#define RECORD_LAST_ROW_BYTES (UINT64_C(512) << 20)
#define RECORD_LAST_THREAD_BYTES (UINT64_C(16) << 20)

typedef struct record_chunk record_chunk;

typedef struct record_queue {
  record_chunk *first, *last;
  uint64_t bytes;
} record_queue;

/* Zeroed before. */
typedef struct record_last {
  record_queue about;   /* GPUs: few, never dropped */
  record_queue threads; /* their names */
  record_queue rows;
  record_names kernels, ranges; /* names, also of calls and of places in the code */
  int64_t whole_from_ns;        /* CLOCK_REALTIME: rows from before were dropped for want of room; 0: none were */
  bool failed;                  /* a record found no memory */
} record_last;

/* Rows without a name: calls and device records; ranges, which may lack their domain, and samples of code. */
typedef struct record_nameless {
  uint64_t works, ranges;
} record_nameless;

/* A record as capture_put has it, which came at `now_ns`, CLOCK_REALTIME. */
void record_last_add(record_last *self, capture_head head, const void *payload, uint64_t bytes, int64_t now_ns);
/* Rows that came before are not wanted any more. */
void record_last_drop(record_last *self, int64_t before_ns);
/* Whether there are rows. */
bool record_last_any(const record_last *self);
/* What happened from `begin_ns` on: calls, what they launched, ranges that began then. How many calls and device
 * records those are. */
uint64_t record_last_write(const record_last *self, capture_writer *writer, int64_t begin_ns);
/* How many of the rows that record_last_write() writes have a name that was dropped for want of room. */
record_nameless record_last_nameless(const record_last *self, int64_t begin_ns);
/* Warns of what is missing of the last `last_ns` before now, of process `pid`. */
void record_last_tell(const record_last *self, uint32_t pid, int64_t last_ns, int64_t now_ns);
void record_last_free(record_last *self);

#endif
