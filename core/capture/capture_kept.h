/* Records of a capture in memory, read as those of a file are: of one window at a time. */
#ifndef CORE_CAPTURE_CAPTURE_KEPT_H
#define CORE_CAPTURE_CAPTURE_KEPT_H

#include "capture_read.h"

/* Begins with all zero but `reader.fd`, which is -1. */
typedef struct capture_kept {
  capture_reader reader;
  unsigned char *memory; /* the payloads, one after the other */
  uint64_t room;
} capture_kept;

/* `record->at` is not looked at. PD_NO_MEMORY is the one failure. */
pd_status capture_kept_add(capture_kept *self, const capture_record *record, const void *payload);
/* Forgets the records; the memory stays for the next window. */
void capture_kept_clear(capture_kept *self);
void capture_kept_free(capture_kept *self);

#endif
