/* An error on stderr; see error.h. */
#include "error.h"

#include "log.h"
#include "text_width.h"
#include "visible.h"

#include <stdarg.h>
#include <stdio.h>
#include <string.h>

/* The source and a mark below it. What is not in the text that was kept has no mark. */
static void print_source(const char *text, const error_line *at) {
  char visible[ERROR_SOURCE_BYTES * VISIBLE_GROWTH + 1], mark[ERROR_SOURCE_BYTES + 1];
  const size_t source = strlen(at->source), begin = at->column - 1;
  if (at->column == 0 || begin >= source) return;
  const char *colon = memrchr(text, ':', at->place_bytes);
  const int digits = colon ? (int)(text + at->place_bytes - colon - 1) : 1;
  size_t bytes = at->bytes && begin + at->bytes <= source ? at->bytes : 1;
  bytes = (size_t)text_width_of(at->source + begin, bytes);
  memset(mark, '~', sizeof mark);
  mark[0] = '^';
  mark[bytes ? bytes : 1] = '\0';
  visible[visible_copy(visible, sizeof visible - 1, at->source)] = '\0';
  fprintf(stderr, "  %.*s | %s\n  %*s | %*s%s\n", digits, colon ? colon + 1 : "", visible, digits, "",
          text_width_of(at->source, begin), "", mark);
}

void error_print(const error *self) {
  const char *text = self->text;
  for (uint32_t i = 0; i < self->count && i < ERROR_LINES; i++) {
    const error_line *at = &self->lines[i];
    const char *end = strchr(text, '\n');
    const int place = (int)at->place_bytes;
    char column[16] = "", code[16] = "";
    if (at->fault) snprintf(code, sizeof code, " [PDH-%04d]", at->fault);
    if (place && at->column) snprintf(column, sizeof column, ":%u", at->column);
    log_line(PD_LOG_ERROR, NULL, "%.*s%s%.*s%s", place, text, column, (int)(end - text) - place, text + place, code);
    if (place && log_level() >= PD_LOG_ERROR) print_source(text, at);
    text = end + 1;
  }
  if (self->count > ERROR_LINES) log_line(PD_LOG_ERROR, NULL, "and %u more", self->count - ERROR_LINES);
}

void error_line_print(int fault, const char *plugin, const char *format, ...) {
  char line[2 * ERROR_LINE_BYTES];
  va_list args;
  va_start(args, format);
  vsnprintf(line, sizeof line, format, args);
  va_end(args);
  log_line(PD_LOG_ERROR, plugin, "%s [PDH-%04d]", line, fault < 100 ? 100 * fault : fault);
}
