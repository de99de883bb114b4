/* One recording from its start to its report. [main thread; there is no other] */
#ifndef CORE_RECORD_RECORD_JOB_H
#define CORE_RECORD_RECORD_JOB_H

#include "host/record_host.h"

#include "config/config.h"

typedef struct record_request {
  char *const *command; /* ends with NULL */
  const char *library;  /* the file of libpdhost_record.so; NULL: it is not there, which was said */
  const char *cupti;    /* NULL: the program's own */
  const char *step;     /* name of the range that is one step; NULL: see import_request */
  double duration_s;    /* of the recording, from the first launch on; 0: until the program ends */
  double last_s;        /* only so much of the recording is kept, and reported when it is asked for; 0: all */
  double start_after_s; /* from the program's start on */
  record_host_way host; /* how the host's part is watched */
  uint64_t steps;       /* of the report, and where they are marked of the recording; 0: all */
  bool starts_on_signal;
  bool marks_torch;   /* a hook marks the steps of PyTorch programs */
  bool marks_modules; /* and each module's forward and backward */
  bool yields;        /* and gives CUPTI to their own torch.profiler */
  bool is_required;   /* a program of which nothing was recorded is a failure */
} record_request;

/* Prints its errors. Returns the program's exit code, or one of ours where it could not be started. */
int record_job_run(config *settings, const record_request *request);

#endif
