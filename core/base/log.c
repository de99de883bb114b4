/* Lines on stderr; see log.h. Each line is one write, so that lines of several threads do not mix. */
#include "log.h"

#include "monotonic.h"

#include "progress_line.h"
#include "visible.h"

#include <errno.h>
#include <fcntl.h>
#include <pthread.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>
#include <unistd.h>

enum { REMEMBERED = LOG_WARNINGS_KEPT, LINE_BYTES = 2048 };

typedef struct repeated {
  char line[LINE_BYTES];
  uint64_t repeats;
} repeated;

static pthread_mutex_t lock = PTHREAD_MUTEX_INITIALIZER; /* of all below */
static pd_log_level threshold = PD_LOG_INFO;
static bool threshold_set;
static log_color color_choice = LOG_COLOR_AUTO;
static repeated warnings[REMEMBERED];
static uint32_t warning_count;
static bool shows_times;
static int64_t began_ns; /* where times are shown */
static int file = -1;    /* of --log */
static uint32_t own_rank, rank_count;

void log_set_level(pd_log_level level) {
  pthread_mutex_lock(&lock);
  threshold = level;
  threshold_set = true;
  pthread_mutex_unlock(&lock);
}

void log_set_rank(uint32_t rank, uint32_t count) {
  pthread_mutex_lock(&lock);
  own_rank = rank;
  rank_count = count;
  pthread_mutex_unlock(&lock);
}

void log_show_times(void) {
  pthread_mutex_lock(&lock);
  shows_times = true;
  began_ns = monotonic_ns();
  pthread_mutex_unlock(&lock);
}

pd_status log_open_file(const char *path, error *err) {
  const int opened = open(path, O_WRONLY | O_CREAT | O_APPEND | O_CLOEXEC | O_NONBLOCK, 0666);
  if (opened < 0)
    return error_set(err, PD_IO, FAULT_OUTPUT, "--log %s: %s; name a file that can be written", path, strerror(errno));
  pthread_mutex_lock(&lock);
  if (file >= 0) close(file);
  file = opened;
  pthread_mutex_unlock(&lock);
  return PD_OK;
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
  const bool has_launcher = rank_count > 1; /* mpirun gives each rank a terminal, even where its own output is a file */
  pthread_mutex_unlock(&lock);
  if (choice != LOG_COLOR_AUTO) return choice == LOG_COLOR_ALWAYS;
  if (has_launcher) return false;
  const char *no_color = getenv("NO_COLOR"), *terminal = getenv("TERM");
  return !(no_color && no_color[0]) && !(terminal && strcmp(terminal, "dumb") == 0) && isatty(fd);
}

/* Whether this warning came before; counts it, or remembers it. */
static bool seen_before(const char *line) {
  const uint32_t kept = warning_count < REMEMBERED ? warning_count : REMEMBERED;
  for (uint32_t i = 0; i < kept; i++) {
    if (strcmp(warnings[i].line, line) != 0) continue;
    warnings[i].repeats++;
    return true;
  }
  /* Once the table is full, further warnings are printed each time: shown twice is better than not at all. */
  if (kept < REMEMBERED) {
    snprintf(warnings[kept].line, LINE_BYTES, "%s", line);
    warnings[kept].repeats = 0;
    warning_count++;
  }
  return false;
}

static void write_line(int to, const char *line, size_t bytes) {
  while (bytes > 0) {
    const ssize_t written = write(to, line, bytes);
    if (written <= 0) return; /* nowhere left to tell */
    line += written;
    bytes -= (size_t)written;
  }
}

/* Ends a line that was formatted into `room` bytes and writes it at once, so that lines of several threads do not mix.
 */
static void end_line(int to, char *text, size_t room, int used) {
  if (used < 0) return;
  if ((size_t)used >= room) {
    used = (int)room - 1;
    text[used - 1] = '\n';
  }
  write_line(to, text, (size_t)used);
}

/* `level` is "" for a line without one. */
static void write_file(const char *level, const char *message) {
  struct timespec now = pd_clock_after(CLOCK_REALTIME, 0);
  struct tm day;
  char text[LINE_BYTES + 64], date[32] = "";
  if (file < 0) return;
  if (gmtime_r(&now.tv_sec, &day)) strftime(date, sizeof date, "%Y-%m-%dT%H:%M:%S", &day);
  end_line(file, text, sizeof text,
           snprintf(text, sizeof text, "%s.%03ldZ %s%s%s\n", date, now.tv_nsec / 1000000, level, level[0] ? ": " : "",
                    message));
}

/* "[0.123 s] ", or "". */
static const char *time_text(char *text, size_t room) {
  text[0] = '\0';
  if (shows_times) snprintf(text, room, "[%.3f s] ", 1e-9 * (double)(monotonic_ns() - began_ns));
  return text;
}

static const char *const names[] = {"error", "warn", "info", "debug"};

static const char *level_name(pd_log_level level) {
  return names[level < PD_LOG_ERROR ? PD_LOG_ERROR : level > PD_LOG_DEBUG ? PD_LOG_DEBUG : level];
}

static void print_line(pd_log_level level, const char *message) {
  static const char *const colors[] = {"\033[1;31m", "\033[1;33m", "", "\033[2m"};
  const int at = level < PD_LOG_ERROR ? PD_LOG_ERROR : level > PD_LOG_DEBUG ? PD_LOG_DEBUG : level;
  const char *color = log_color_on(STDERR_FILENO) ? colors[at] : "";
  char text[LINE_BYTES + 64], since[32];
  progress_hide();
  end_line(STDERR_FILENO, text, sizeof text,
           snprintf(text, sizeof text, "%spdhost: %s%s:%s %s\n", time_text(since, sizeof since), color, names[at],
                    color[0] ? "\033[0m" : "", message));
  progress_show();
}

void log_line(pd_log_level level, const char *plugin, const char *format, ...) {
  char message[LINE_BYTES], shown[LINE_BYTES];
  int used = 0;
  const bool is_rank = rank_count > 1 && level <= PD_LOG_ERROR;
  if (is_rank) used = snprintf(message, sizeof message, "rank %u: ", own_rank);
  if (plugin) used += snprintf(message + used, sizeof message - (size_t)used, "%s: ", plugin);
  if (used < 0 || (size_t)used >= sizeof message) used = 0;
  va_list args;
  va_start(args, format);
  vsnprintf(message + used, sizeof message - (size_t)used, format, args);
  va_end(args);
  visible_copy(shown, sizeof shown, message);

  pthread_mutex_lock(&lock);
  const bool repeats = level == PD_LOG_WARN && seen_before(shown);
  const bool wanted = level <= level_now() && !repeats && (own_rank == 0 || level <= PD_LOG_ERROR);
  if (!repeats) write_file(level_name(level), shown);
  pthread_mutex_unlock(&lock);
  if (wanted) print_line(level, shown);
}

void log_say(bool shown, const char *format, ...) {
  char message[LINE_BYTES], visible[LINE_BYTES], text[LINE_BYTES + 64], since[32];
  va_list args;
  va_start(args, format);
  vsnprintf(message, sizeof message, format, args);
  va_end(args);
  visible_copy(visible, sizeof visible, message);
  pthread_mutex_lock(&lock);
  write_file("", visible);
  shown = shown && own_rank == 0;
  pthread_mutex_unlock(&lock);
  if (!shown) return;
  progress_hide();
  end_line(STDERR_FILENO, text, sizeof text,
           snprintf(text, sizeof text, "%s%s\n", time_text(since, sizeof since), visible));
  progress_show();
}

void log_flush_repeats(void) {
  for (uint32_t i = 0; i < REMEMBERED; i++) {
    pthread_mutex_lock(&lock);
    const repeated row = warnings[i];
    warnings[i].repeats = 0;
    pthread_mutex_unlock(&lock);
    if (row.repeats == 0 || log_level() < PD_LOG_WARN || own_rank) continue;
    char message[LINE_BYTES + 64];
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
