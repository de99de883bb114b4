/* Reads what pdhost itself records: the captures of its runs, and those of the programs that `pdhost record` runs. */
#include "capture_files.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>

static pd_probe probe(const char *path, const void *first, uint64_t bytes) {
  capture_file_head head;
  (void)path;
  if (!capture_probe(first, bytes)) return PD_PROBE_NO;
  if (bytes < sizeof head) return PD_PROBE_YES;
  memcpy(&head, first, sizeof head);
  return head.origin == CAPTURE_OF_PROGRAM ? PD_PROBE_YES : PD_PROBE_RUN;
}

static pd_status refuse(const pd_host *host, pd_status status, int why) {
  if (status == PD_IO) return host->fail(host, status, "cannot be read: %s", strerror(why));
  if (status == PD_INVALID) return host->fail(host, status, "not a capture of this version of pdhost");
  return status;
}

static pd_status open_file(const pd_host *host, const void *options, const char *path, void **state) {
  (void)options;
  capture_file *self = calloc(1, sizeof *self);
  if (!self) return PD_NO_MEMORY;
  self->host = host;
  pd_status status = capture_begin(&self->records, path); /* a run's records come one by one */
  if (status == PD_OK && self->records.head.origin == CAPTURE_OF_PROGRAM) status = capture_index(&self->records);
  const int why = errno;
  const uint64_t all = self->records.bytes, most = all < CAPTURE_RECORD_BYTES ? all : CAPTURE_RECORD_BYTES;
  self->room = status == PD_OK ? malloc((size_t)most) : NULL; /* no record is longer than its file */
  self->room_bytes = most;
  if (status == PD_OK && !self->room) status = PD_NO_MEMORY;
  if (status == PD_OK) {
    *state = self;
    return PD_OK;
  }
  capture_reader_close(&self->records);
  free(self);
  return refuse(host, status, why);
}

static pd_status next_window(void *state, const pd_intake *intake) {
  capture_file *self = state;
  return self->records.head.origin == CAPTURE_OF_PROGRAM ? capture_program_next(self, intake)
                                                         : capture_run_next(self, intake);
}

static void close_file(void *state) {
  capture_file *self = state;
  capture_program_free(self->program);
  program_stretches_free(&self->stretches);
  capture_reader_close(&self->records);
  free(self->room);
  free(self);
}

PD_READER_PLAIN("capture", "1.0", "captures of pdhost: of a run, and of a program that pdhost record ran",
                .probe = probe, .open = open_file, .next_window = next_window, .close = close_file)
