/* See progress_text.h. */
#include "progress_text.h"

#include "text_width.h"

#include <pdhost/text_columns.h>

#include <errno.h>
#include <jansson.h>
#include <math.h>
#include <stdarg.h>
#include <stdio.h>
#include <string.h>
#include <sys/ioctl.h>
#include <unistd.h>

enum { USUAL_COLUMNS = 80 };

/* Adds to what is in `text`; what has no room is left out. */
__attribute__((format(printf, 2, 3))) static void add(char text[PROGRESS_LINE_BYTES], const char *format, ...) {
  const size_t used = strlen(text);
  va_list args;
  va_start(args, format);
  vsnprintf(text + used, PROGRESS_LINE_BYTES - used, format, args);
  va_end(args);
}

static void add_time(char text[PROGRESS_LINE_BYTES], double seconds) {
  const unsigned long long whole = (unsigned long long)llround(seconds);
  if (seconds < 9.95)
    add(text, "%.1f s", seconds);
  else if (whole < 100)
    add(text, "%llu s", whole);
  else if (whole < 6000)
    add(text, "%llu min %llu s", whole / 60, whole % 60);
  else
    add(text, "%llu h %llu min", whole / 3600, whole % 3600 / 60);
}

/* ": 123 of 456 MB (27 %), 250 MB/s" */
static void add_bytes(const progress_view *self, char text[PROGRESS_LINE_BYTES]) {
  static const double mega = 1e6;
  if (self->of)
    add(text, ": %.0f of %.0f MB (%.0f %%)", (double)self->step / mega, (double)self->of / mega,
        100 * (double)self->step / (double)self->of);
  else
    add(text, ": %.0f MB", (double)self->step / mega);
  if (self->rate > 0) add(text, ", %.3g MB/s", self->rate / mega);
}

static bool is_in_bytes(const progress_view *self) { return strcmp(self->unit, PROGRESS_BYTE) == 0; }

static void add_steps(const progress_view *self, char text[PROGRESS_LINE_BYTES]) {
  if (!self->unit[0]) return;
  if (is_in_bytes(self)) {
    if (self->step) add_bytes(self, text);
    return;
  }
  if (!self->step && self->of)
    add(text, " %llu %s%s", (unsigned long long)self->of, self->unit, self->of == 1 ? "" : "s");
  else if (self->of)
    add(text, ": %s %llu of %llu", self->unit, (unsigned long long)self->step, (unsigned long long)self->of);
  else
    add(text, ": %s %llu", self->unit, (unsigned long long)self->step);
  if (!self->step) return;
  if (self->rate >= 1)
    add(text, self->rate < 1000 ? ", %.3g/s" : ", %.0f/s", self->rate);
  else if (self->rate > 0)
    add(text, ", %.2g s each", 1 / self->rate);
}

const char *progress_line(const progress_view *self, char text[PROGRESS_LINE_BYTES]) {
  text[0] = '\0';
  add(text, "%s: %s", self->task, self->phase);
  add_steps(self, text);
  if (self->seconds_left >= 0) {
    add(text, self->step || !self->unit[0] ? ", " : self->at_most ? ", " : ", about ");
    if (self->at_most) add(text, "at most ");
    add_time(text, self->seconds_left);
    if (self->step || self->at_most) add(text, " left");
  } else if ((!self->unit[0] || (is_in_bytes(self) && !self->step)) && self->seconds >= 1) {
    add(text, ", ");
    add_time(text, self->seconds);
  }
  if (self->doing[0]) add(text, ": %s", self->doing);
  if (self->note[0]) add(text, "; %s", self->note);
  return text;
}

size_t progress_fitting(const char *text, int columns) {
  return pd_text_fit(text, strlen(text), columns > 0 ? (size_t)columns : 0);
}

static json_t *text_or_null(const char *text) { return text[0] ? json_string(text) : json_null(); }

/* Whole microseconds, so that no object is full of digits that say nothing. */
static json_t *number_or_null(double value, bool known) {
  return known && isfinite(value) ? json_real(round(value * 1e6) / 1e6) : json_null();
}

char *progress_object(const progress_view *self) {
  static const char *const events[] = {"begin", "run", "end"};
  json_t *object =
      json_pack("{s:s, s:s, s:s, s:o, s:I, s:o, s:o, s:o, s:o, s:b, s:o, s:o}", "task", self->task, "phase",
                self->phase, "event", events[self->event], "unit", text_or_null(self->unit), "step",
                (json_int_t)self->step, "of", self->of ? json_integer((json_int_t)self->of) : json_null(), "rate",
                number_or_null(self->rate, self->rate > 0), "seconds", number_or_null(self->seconds, true),
                "seconds_left", number_or_null(self->seconds_left, self->seconds_left >= 0), "at_most",
                (int)self->at_most, "doing", text_or_null(self->doing), "note", text_or_null(self->note));
  char *text = object ? json_dumps(object, JSON_COMPACT | JSON_REAL_PRECISION(9)) : NULL;
  json_decref(object);
  return text;
}

/* ---- the terminal ---- */

void progress_write(const char *text, size_t bytes) {
  while (bytes) {
    const ssize_t done = write(STDERR_FILENO, text, bytes);
    if (done < 0 && errno == EINTR) continue;
    if (done <= 0) return; /* there is no phase to print */
    text += done;
    bytes -= (size_t)done;
  }
}

int progress_columns(void) {
  struct winsize size;
  return ioctl(STDERR_FILENO, TIOCGWINSZ, &size) == 0 && size.ws_col ? size.ws_col : USUAL_COLUMNS;
}
