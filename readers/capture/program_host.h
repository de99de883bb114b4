/* What `pdhost record` saw of the host beside CUPTI: rows of the capture to rows of the intake. [loop thread] */
#ifndef READERS_CAPTURE_PROGRAM_HOST_H
#define READERS_CAPTURE_PROGRAM_HOST_H

#include "capture/capture_read.h"

#include <pdhost/reader.h>

typedef struct program_host {
  const pd_intake *intake;
  uint32_t pid;
  int64_t from_ns, cut_ns; /* of the stretch that is read */
  const uint32_t *names;   /* the intake's string ids by the file's */
  uint32_t name_count;
  uint64_t strange; /* rows that cannot be, and are left out */
  pd_facts facts;   /* what there were rows of */
} program_host;

/* Takes a record of CAPTURE_STATES, CAPTURE_CHILDREN or CAPTURE_CODE with its payload. */
void program_host_states(program_host *self, const capture_record *at, const void *payload);
void program_host_children(program_host *self, const capture_record *at, const void *payload);
void program_host_code(program_host *self, const capture_record *at, const void *payload);

#endif
