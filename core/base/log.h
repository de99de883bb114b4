/* Lines for the user on stderr: "pdhost: LEVEL: [plugin:] message". Nothing here writes to stdout. [any thread] */
#ifndef CORE_BASE_LOG_H
#define CORE_BASE_LOG_H

#include "error.h"

#include <pdhost/plugin.h>

/* Warnings that are remembered, word for word, whether or not the terminal shows them. */
#define LOG_WARNINGS_KEPT 128

typedef enum log_color { LOG_COLOR_AUTO = 0, LOG_COLOR_ALWAYS = 1, LOG_COLOR_NEVER = 2 } log_color;

/* Lines above `level` are dropped. At first: WARN in a pipe, INFO on a terminal; -v is DEBUG. */
void log_set_level(pd_log_level level);
pd_log_level log_level(void);
/* Each line says how long after this call it was printed; -vv. */
void log_show_times(void);
/* This process is rank `rank` of `count`: errors name it, and of the other lines only rank 0 prints its own. */
void log_set_rank(uint32_t rank, uint32_t count);
/* From here on, every line of any level is also appended to this file, with the time of day in UTC; --log. PD_IO: it
 * cannot be opened. */
pd_status log_open_file(const char *path, error *err);
/* AUTO: colour on a terminal, unless NO_COLOR is set or TERM is dumb. */
void log_set_color(log_color color);
/* Whether text for `fd` is to be coloured. */
bool log_color_on(int fd);

/* One line, control characters as \xNN; `plugin` may be NULL. A warning that repeats one of the last ones word for word
 * is counted, not printed. */
void log_line(pd_log_level level, const char *plugin, const char *format, ...) PD_PRINTF(3, 4);
/* A line as it is, without a level: on stderr if `shown`, and in the file of log_open_file. */
void log_say(bool shown, const char *format, ...) PD_PRINTF(2, 3);
/* Says how often warnings were repeated since they were printed; at the end of a run. */
void log_flush_repeats(void);
/* The first warnings, at most `room` of them; how many. The texts stay. */
uint32_t log_warnings(const char **out, uint32_t room);
/* Forgets what was repeated so far: the same was done twice for one word of the user. */
void log_forget_repeats(void);

#endif
