/* Which reader takes a file, and that reader with the file open. [loop thread] */
#ifndef CORE_RUN_IMPORT_READER_H
#define CORE_RUN_IMPORT_READER_H

#include "abi/services.h"
#include "config/config.h"
#include "trace/intake/memory_left.h"

#include <pdhost/reader.h>

typedef struct import_reader {
  const pd_reader_ops *ops;
  const char *name;   /* of the reader */
  const char *path;   /* borrowed */
  service_host *host; /* its failures are there: run_parts_report */
  void *state;
} import_reader;

/* The reader of what pdhost records itself. */
#define IMPORT_READER_CAPTURE "capture"

/* `name`: the reader's; NULL: the one that is surest that the file is its own. Where `settings` are of a run,
 * the reader of that name is loaded, which is one without options. Prints what is wrong. Returns an exit code; with
 * CODE_DONE the reader is to be closed. */
int import_reader_open(import_reader *self, const services *all, const config *settings, const char *name,
                       const char *path);
void import_reader_close(import_reader *self);

/* Whether the file is the capture of a run, as the reader says that would read it. Prints nothing. */
bool import_reader_holds_run(const config *settings, const char *name, const char *path);

/* False: the first bytes of the file can be read, and no reader takes them for its own. Prints nothing. */
bool import_reader_may_take(const config *settings, const char *path);

/* "FILE: cannot be read: WHY". Returns CODE_CONFIG. */
int import_cannot_read(const char *path, const char *why);
/* Says so if the file's rows need more memory than there is, before the system ends the process without a word. `verb`:
 * what was to be done with the file. */
bool import_exceeds(const char *path, const char *verb, const memory_guard *memory);

#endif
