/*
 * Reads a capture file. Opening it checks every record once, skips what is torn and keeps the places of the rest; rows
 * are read when they are asked for. A file that is read from beginning to end need not be opened so: then its records
 * come one by one, and memory stays small however long it is.
 */
#ifndef CORE_CAPTURE_CAPTURE_READ_H
#define CORE_CAPTURE_CAPTURE_READ_H

#include "format.h"

#include <pdhost/plugin.h>

typedef struct capture_record {
  uint32_t kind, window, thread, count;
  uint32_t row_bytes, bytes;
  uint64_t first, at; /* at: of the payload in the file */
} capture_record;

typedef struct capture_reader {
  int fd;                      /* -1: `memory` is read */
  const unsigned char *memory; /* borrowed */
  uint64_t bytes;              /* of the file */
  capture_file_head head;
  capture_record *records; /* in the file's order */
  uint64_t count, capacity;
  uint64_t next;        /* where the record begins that is looked at next */
  unsigned char *room;  /* for looking */
  uint64_t whole_bytes; /* where the last whole record ends */
  uint64_t torn;        /* places where something was skipped */
  uint64_t torn_bytes;
  uint64_t torn_at; /* the first of these places; known where `torn` is not 0 */
} capture_reader;

/* PD_IO: it cannot be read, errno says why. PD_INVALID: it is not a capture of this version and byte order. The reader
 * is to be closed in any case. */
pd_status capture_open(capture_reader *self, const char *path);
/* The same for a file in memory, which is borrowed. */
pd_status capture_open_memory(capture_reader *self, const void *data, uint64_t bytes);
/* The same without looking at the records. */
pd_status capture_begin(capture_reader *self, const char *path);
/* The next whole record; `torn` counts what lies before it. PD_STOP: there is none. */
pd_status capture_next(capture_reader *self, capture_record *out);
/* Whether the file is longer than it was: then there may be more. */
bool capture_grew(capture_reader *self);
/* Back to the first record. */
void capture_rewind(capture_reader *self);
/* Notes all records from here on, as capture_open does. */
pd_status capture_index(capture_reader *self);
void capture_reader_close(capture_reader *self);

/* Whether the first bytes of a file are those of a capture. */
bool capture_probe(const void *first, uint64_t bytes);

/* The payload, of `record->bytes` bytes. PD_IO, PD_INVALID where it has changed since. */
pd_status capture_payload(const capture_reader *self, const capture_record *record, void *out);
/* One more than the highest string id in the file. */
uint32_t capture_strings_end(const capture_reader *self);

const char *capture_kind_text(uint32_t kind);

#endif
