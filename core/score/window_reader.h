/* Reads what the window sink wrote (pdhost/window_file.h) back into a pd_trace. */
#ifndef CORE_SCORE_WINDOW_READER_H
#define CORE_SCORE_WINDOW_READER_H

#include "base/error.h"

#include <pdhost/scenario.h>
#include <pdhost/window_file.h>

enum { WINDOW_CURES = 16 };

typedef struct window_file {
  pd_trace trace;
  pd_device_props device;
  pd_window_run run;
  const char *texts[PD_WINDOW_TEXT_COUNT];
  pd_cure cures[WINDOW_CURES + 1];     /* the scenario's; ends with a NULL cause */
  char *cure_text;                     /* which they point into */
  void *blocks[PD_WINDOW_SECTION_END]; /* by section; what the trace points to */
  pd_string *strings;
} window_file;

/* Every index of a row is checked, and that rows are in the order that trace.h promises. False: see `err`, and nothing
 * is left to close. */
bool window_file_read(const char *path, window_file *out, error *err);
/* The same from `bytes` of memory; `path` is for messages. */
bool window_file_take(const char *path, const void *data, size_t bytes, window_file *out, error *err);
void window_file_close(window_file *self);

#endif
