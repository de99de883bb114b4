/* A capture that is open: what both kinds of it, of a run and of a program, are read through. [loop thread] */
#ifndef READERS_CAPTURE_CAPTURE_FILES_H
#define READERS_CAPTURE_CAPTURE_FILES_H

#include "program_stretches.h"

#include "capture/capture_read.h"

#include <pdhost/reader.h>

typedef struct captured_program captured_program;

typedef struct capture_file {
  const pd_host *host;
  capture_reader records;
  void *room; /* for one record's payload */
  uint64_t room_bytes;
  uint64_t torn_told;          /* places that were told */
  bool said, ended;            /* of a run: which run it is; all of it */
  captured_program *program;   /* of a program: what was read of it last; NULL: nothing yet */
  bool program_given;          /* of a program: a window was */
  int64_t paused_ns;           /* since the last one */
  uint64_t step_number;        /* of a program: of the next step that it marked */
  program_stretches stretches; /* of a program: what lies between two pauses is a window */
} capture_file;

/* As pd_reader_ops.next_window. */
pd_status capture_run_next(capture_file *self, const pd_intake *intake);
pd_status capture_program_next(capture_file *self, const pd_intake *intake);
/* Says what of the file could not be read, where it was not said before. */
void capture_tell_torn(capture_file *self, const pd_intake *intake);
void capture_program_free(captured_program *self);

#endif
