/* What `pdhost record` saw of the host beside CUPTI: rows of the capture to rows of the intake. [loop thread] */
#ifndef READERS_CAPTURE_PROGRAM_HOST_H
#define READERS_CAPTURE_PROGRAM_HOST_H

#include "program_names.h"

#include "capture/capture_read.h"

#include <pdhost/reader.h>

typedef struct program_host {
  const pd_intake *intake;
  uint32_t pid;
  int64_t from_ns, cut_ns; /* of the stretch that is read */
  const program_names *names;
  uint64_t strange; /* rows that cannot be, and are left out */
  pd_facts facts;   /* what there were rows of */
} program_host;

/* Takes the records of CAPTURE_STATES, CAPTURE_CHILDREN, CAPTURE_CODE and CAPTURE_PLACES. `room` is for any one's
 * payload. */
void program_host_read(program_host *self, const capture_reader *records, void *room);

#endif
