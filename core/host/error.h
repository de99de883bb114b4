/* One failure of the host's: set where it is known, with its context, passed up, printed once by error_print(). It may
 * hold several lines, since all mistakes of a configuration are shown at once. No allocation, no ownership. */
#ifndef CORE_HOST_ERROR_H
#define CORE_HOST_ERROR_H

#include <pdhost/plugin.h>

/* Exit codes of pdhost; 128+n: ended by signal n. */
enum {
  CODE_DONE = 0,
  CODE_INTERNAL = 1,
  CODE_USAGE = 2,
  CODE_CONFIG = 3,
  CODE_PLUGIN = 4,
  CODE_SCENARIO = 5,
  CODE_DEVICE = 6,
  CODE_UNTRUSTED = 7,
  CODE_OUTPUT = 8,
  CODE_REGRESSION = 9,
  CODE_INCONCLUSIVE = 10
};

enum { ERROR_LINES = 20, ERROR_LINE_BYTES = 1024 };

typedef struct error {
  pd_status status;
  int exit_code;
  uint32_t count;                            /* lines added; those past ERROR_LINES are counted alone */
  uint32_t used;                             /* bytes of text */
  char text[ERROR_LINES * ERROR_LINE_BYTES]; /* lines, each ended by a newline */
} error;

/* An error begins zeroed: no failure. */
void error_clear(error *self);

/* Replaces what was there by one line, "WHERE: WHAT. HINT" without a newline; control characters are shown as \xNN.
 * Returns `status`. `code` is the process's exit code. `self` may be NULL. */
pd_status error_set(error *self, pd_status status, int code, const char *format, ...) PD_PRINTF(4, 5);
/* Adds one line; the first one's status and code stand. */
pd_status error_add(error *self, pd_status status, int code, const char *format, ...) PD_PRINTF(4, 5);
/* Puts "prefix: " before every line. Returns the status. */
pd_status error_wrap(error *self, const char *prefix);
/* Appends the lines of `from`. */
void error_merge(error *self, const error *from);

/* Prints every line on stderr as "pdhost: error: LINE", then "and N more" where there were too many. */
void error_print(const error *self);

/* The first line without its newline, into `line`. */
const char *error_first_line(const error *self, char *line, size_t room);

#endif
