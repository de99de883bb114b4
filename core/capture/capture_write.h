/*
 * Writes a capture file: records at its end, each in one call. After a write that failed nothing more is written: its
 * part of a record is cut off, and the program that is recorded goes on.
 */
#ifndef CORE_CAPTURE_CAPTURE_WRITE_H
#define CORE_CAPTURE_CAPTURE_WRITE_H

#include "format.h"

#include <pdhost/plugin.h>

typedef struct capture_writer {
  int fd;                   /* -1: not open */
  int fault;                /* errno of the write that failed, 0: none did */
  uint64_t bytes;           /* written so far */
  uint32_t strings_written; /* ids below are in the file */
} capture_writer;

/* The name of a file that its writer has not ended, in place of ".pdcap". */
#define CAPTURE_UNFINISHED ".unfinished.pdcap"

/* Makes the file, which must not exist, and locks it as long as it is open. `origin` is CAPTURE_OF_RUN or
 * CAPTURE_OF_PROGRAM. PD_IO: errno says why. */
pd_status capture_create(capture_writer *self, const char *path, uint32_t origin, uint32_t pid, int64_t realtime_ns);
/* The same in a file that is open, in place of what it holds. `self` is overwritten, and has the descriptor from now
 * on.
 */
pd_status capture_begin_in(capture_writer *self, int fd, uint32_t origin, uint32_t pid, int64_t realtime_ns);
/* The same lock, for a process that reads the file to its end; the descriptor, or -1 where another process has it, or
 * where the file is missing. */
int capture_lock(const char *path);
/* Takes ".unfinished" out of the name of the file and of `path`; what has another name stays. PD_IO: errno says why. */
pd_status capture_finish(char *path);
/* Goes on at the end of a file whose writer is gone, after its last whole record; the torn rest is cut off. */
pd_status capture_extend(capture_writer *self, const char *path);
/* PD_IO where any write failed. With `sync` what was written is on the disk. */
pd_status capture_close(capture_writer *self, bool sync);

/* One record. `head` has kind, window, thread, first, count and row_bytes; the rest is filled here. */
pd_status capture_put(capture_writer *self, capture_head head, const void *payload, uint64_t bytes);
/* Rows in as many records as they need; none for no rows. */
pd_status capture_put_rows(capture_writer *self, capture_kind kind, uint32_t window, uint32_t thread, const void *rows,
                           uint64_t count, size_t row_bytes);
pd_status capture_put_text(capture_writer *self, capture_kind kind, uint32_t window, const char *text);

#endif
