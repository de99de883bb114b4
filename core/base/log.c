/* Lines on stderr; see log.h. Each line is one write, so that lines of several threads do not mix. */
#include "log.h"

#include "progress_line.h"
#include "visible.h"

#include <pthread.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

enum { REMEMBERED = LOG_WARNINGS_KEPT, LINE_BYTES = 2048, KEPT_BYTES = 512 };

typedef struct repeated {
  char line[KEPT_BYTES];
  uint64_t repeats;
} repeated;

static pthread_mutex_t lock = PTHREAD_MUTEX_INITIALIZER; /* of all below */
static pd_log_level threshold = PD_LOG_INFO;
static bool threshold_set;
static log_color color_choice = LOG_COLOR_AUTO;
static repeated warnings[REMEMBERED];
static uint32_t warning_count;

void log_set_level(pd_log_level level) {
  pthread_mutex_lock(&lock);
  threshold = level;
  threshold_set = true;
  pthread_mutex_unlock(&lock);
}

static pd_log_level level_now(void) {
  if (threshold_set) return threshold;
  return isatty(STDERR_FILENO) ? PD_LOG_INFO : PD_LOG_WARN;
}

pd_log_level log_level(void) {
  pthread_mutex_lock(&lock);
  const pd_log_level level = level_now();
  pthread_mutex_unlock(&lock);
  return level;
}

void log_set_color(log_color color) {
  pthread_mutex_lock(&lock);
  color_choice = color;
  pthread_mutex_unlock(&lock);
}

bool log_color_on(int fd) {
  pthread_mutex_lock(&lock);
  const log_color choice = color_choice;
  pthread_mutex_unlock(&lock);
  if (choice != LOG_COLOR_AUTO) return choice == LOG_COLOR_ALWAYS;
  const char *no_color = getenv("NO_COLOR"), *terminal = getenv("TERM");
  return !(no_color && no_color[0]) && !(terminal && strcmp(terminal, "dumb") == 0) && isatty(fd);
}

/* Whether this warning was printed before; counts it, or remembers it. Long lines are never taken for repeats. */
static bool seen_before(const char *line) {
  if (strlen(line) >= KEPT_BYTES) return false;
  const uint32_t kept = warning_count < REMEMBERED ? warning_count : REMEMBERED;
  for (uint32_t i = 0; i < kept; i++) {
    if (strcmp(warnings[i].line, line) != 0) continue;
    warnings[i].repeats++;
    return true;
  }
  /* Once the table is full, further warnings are printed each time: shown twice is better than not at all. */
  if (kept < REMEMBERED) {
    snprintf(warnings[kept].line, KEPT_BYTES, "%s", line);
    warnings[kept].repeats = 0;
    warning_count++;
  }
  return false;
}

static void write_line(const char *line, size_t bytes) {
  while (bytes > 0) {
    const ssize_t written = write(STDERR_FILENO, line, bytes);
    if (written <= 0) return; /* nowhere left to tell */
    line += written;
    bytes -= (size_t)written;
  }
}

static void print_line(pd_log_level level, const char *message) {
  static const char *const names[] = {"error", "warn", "info", "debug"};
  static const char *const colors[] = {"\033[1;31m", "\033[1;33m", "", "\033[2m"};
  const int at = level < PD_LOG_ERROR ? PD_LOG_ERROR : level > PD_LOG_DEBUG ? PD_LOG_DEBUG : level;
  const char *color = log_color_on(STDERR_FILENO) ? colors[at] : "";
  char text[LINE_BYTES + 64];
  int used = snprintf(text, sizeof text, "pdhost: %s%s:%s %s\n", color, names[at], color[0] ? "\033[0m" : "", message);
  if (used < 0) return;
  if ((size_t)used >= sizeof text) {
    used = (int)sizeof text - 1;
    text[used - 1] = '\n';
  }
  progress_hide();
  write_line(text, (size_t)used);
  progress_show();
}

void log_line(pd_log_level level, const char *plugin, const char *format, ...) {
  char message[LINE_BYTES], shown[LINE_BYTES];
  int used = 0;
  if (plugin) used = snprintf(message, sizeof message, "%s: ", plugin);
  if (used < 0 || (size_t)used >= sizeof message) used = 0;
  va_list args;
  va_start(args, format);
  vsnprintf(message + used, sizeof message - (size_t)used, format, args);
  va_end(args);
  visible_copy(shown, sizeof shown, message);

  pthread_mutex_lock(&lock);
  const bool wanted = level <= level_now() && !(level == PD_LOG_WARN && seen_before(shown));
  pthread_mutex_unlock(&lock);
  if (wanted) print_line(level, shown);
}

void log_flush_repeats(void) {
  for (uint32_t i = 0; i < REMEMBERED; i++) {
    pthread_mutex_lock(&lock);
    const repeated row = warnings[i];
    warnings[i].repeats = 0;
    pthread_mutex_unlock(&lock);
    if (row.repeats == 0) continue;
    char message[LINE_BYTES];
    snprintf(message, sizeof message, "%s (%llu more time%s)", row.line, (unsigned long long)row.repeats,
             row.repeats == 1 ? "" : "s");
    print_line(PD_LOG_WARN, message);
  }
}

uint32_t log_warnings(const char **out, uint32_t room) {
  pthread_mutex_lock(&lock);
  const uint32_t count = warning_count < room ? warning_count : room;
  for (uint32_t i = 0; i < count; i++) out[i] = warnings[i].line;
  pthread_mutex_unlock(&lock);
  return count;
}

void log_forget_repeats(void) {
  pthread_mutex_lock(&lock);
  for (uint32_t i = 0; i < REMEMBERED; i++) warnings[i].repeats = 0;
  pthread_mutex_unlock(&lock);
}
