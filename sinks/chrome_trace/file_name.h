/* How the files of a run are called: see the option `path`. [loop thread] */
#ifndef SINKS_CHROME_TRACE_FILE_NAME_H
#define SINKS_CHROME_TRACE_FILE_NAME_H

#include <pdhost/sink.h>

typedef struct file_name {
  const pd_run *run;
  const char *path;   /* the option */
  const char *worker; /* the option, or the run's own */
  bool gzip;          /* files end in .gz */
  bool split;         /* a window may be several files */
} file_name;

bool file_name_is_gzip(const char *path);

/* The path of part `part` of window `window`, which begins at `time_ns`; NULL on no memory. The caller frees it. */
char *file_name_of(const file_name *self, uint32_t window, uint64_t part, int64_t time_ns);

#endif
