/* A text_out into one of the host's files; the file is there from open to close. [loop thread] */
#ifndef SINKS_LIB_FILE_OUT_H
#define SINKS_LIB_FILE_OUT_H

#include "text_out.h"

#include <pdhost/sink.h>

typedef struct file_out {
  const pd_host *host;
  const pd_files *files;
  pd_file *file;
  char *path;
  text_out out;
} file_out;

/* Opens `path`. The failure's message is set. */
pd_status file_out_open(file_out *self, const pd_host *host, const char *path);
/* Opens `path` or, where it is empty, <kind>_<scenario>.<ending> in the run's folder. The failure's message is set. */
pd_status file_out_open_result(file_out *self, const pd_host *host, const char *path, const char *kind,
                               const pd_run *run, const char *ending);
/* Flushes, renames to the final name and announces it; on failure nothing is left. Frees either way. */
pd_status file_out_commit(file_out *self);
/* The same for a name that is not final yet: it is not announced. */
pd_status file_out_commit_silently(file_out *self);
/* Removes what was written. Nothing happens when it is not open. */
void file_out_discard(file_out *self);

#endif
