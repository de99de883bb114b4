/*
 * Names by their numbers, for as long as rows use them: where there is no room for more, those go first that no row has
 * used for longest. [main thread]
 */
#ifndef CORE_RECORD_RECORD_NAMES_H
#define CORE_RECORD_RECORD_NAMES_H

#include "capture/capture_write.h"

#include <stdbool.h>

/* All names of one table take at most this much. */
#define RECORD_NAMES_BYTES (UINT64_C(64) << 20)

typedef struct record_name record_name;

/* Zeroed before. */
typedef struct record_names {
  record_name **buckets;
  uint32_t bucket_count, count;
  record_name *oldest, *newest; /* by their last use */
  uint64_t bytes;
  uint64_t dropped; /* how many so far */
} record_names;

/* Rows of CAPTURE_STRINGS, which came at `now_ns`. False: there was no memory for one. */
bool record_names_add(record_names *self, const void *rows, uint64_t bytes, int64_t now_ns);
/* A row that came then has this name; 0 is none. */
void record_names_use(record_names *self, uint32_t id, int64_t now_ns);
bool record_names_has(const record_names *self, uint32_t id);
/* Those that rows have used from `begin_ns` on, many in one record. */
void record_names_write(const record_names *self, capture_writer *writer, int64_t begin_ns);
void record_names_free(record_names *self);

#endif
