/* One failure of the host's: set where it is known, with its context, passed up, printed once by error_print(). It may
 * hold several lines, since all mistakes of a configuration are shown at once. No allocation, no ownership. */
#ifndef CORE_BASE_ERROR_H
#define CORE_BASE_ERROR_H

#include "faults.h"

#include <pdhost/plugin.h>

enum { ERROR_LINES = 20, ERROR_LINE_BYTES = 1024, ERROR_SOURCE_BYTES = 192 };

/* What is known of a line besides its text. */
typedef struct error_line {
  int fault;              /* FAULT_KEY ... */
  uint32_t place_bytes;   /* of "FILE:LINE" at its beginning; 0: no place in a file */
  uint32_t column, bytes; /* from 1 on, in the source line: what is wrong there */
  char source[ERROR_SOURCE_BYTES];
} error_line;

typedef struct error {
  pd_status status;
  int exit_code;
  uint32_t count; /* lines added; those past ERROR_LINES are counted alone */
  uint32_t used;  /* bytes of text */
  error_line lines[ERROR_LINES];
  char text[ERROR_LINES * ERROR_LINE_BYTES]; /* lines, each ended by a newline */
} error;

/* An error begins zeroed: no failure. */
void error_clear(error *self);

/* Replaces what was there by one line, "WHERE: WHAT. HINT" without a newline; control characters are shown as \xNN.
 * Returns `status`. `code` is a fault of faults.h, an exit code for what has no kind of its own, or 128+n for signal n.
 * `self` may be NULL.
 */
pd_status error_set(error *self, pd_status status, int code, const char *format, ...) PD_PRINTF(4, 5);
/* The same with "out of memory". Returns PD_NO_MEMORY. */
pd_status error_no_memory(error *self);
/* Adds one line; status and code stay those of the first. */
pd_status error_add(error *self, pd_status status, int code, const char *format, ...) PD_PRINTF(4, 5);
/* Puts "prefix: " before every line. Returns the status. */
pd_status error_wrap(error *self, const char *prefix);
/* Appends the lines of `from`. */
void error_merge(error *self, const error *from);

/* Says where in a file line `index` is from: its text begins with "FILE:LINE", of `place_bytes`. Control characters of
 * `source` are shown as blanks. */
void error_locate(error *self, uint32_t index, uint32_t place_bytes, const char *source, uint32_t column,
                  uint32_t bytes);

/* Prints every line on stderr as "pdhost: error: LINE [PDH-0301]", with FILE:LINE:COLUMN, the source and a mark below
 * it where that is known; then "and N more" where there were too many. */
void error_print(const error *self);

/* One line of its own, where there is no error to fill: "pdhost: error: [plugin: ]LINE [PDH-0800]". `fault` as `code`
 * of error_set; `plugin` may be NULL. [any thread] */
void error_line_print(int fault, const char *plugin, const char *format, ...) PD_PRINTF(3, 4);

/* The first line without its newline, into `line`. */
const char *error_first_line(const error *self, char *line, size_t room);

#endif
