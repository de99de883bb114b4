/* The host's failures; see error.h. */
#include "error.h"

#include "visible.h"

#include <stdarg.h>
#include <stdio.h>
#include <string.h>

void error_clear(error *self) { memset(self, 0, offsetof(error, text) + 1); }

static void append(error *self, const char *line, const error_line *about) {
  if (self->count++ >= ERROR_LINES) return;
  self->lines[self->count - 1] = *about;
  /* One byte each for the newline and the end; every line fits, since text has room for ERROR_LINES of them. */
  self->used += (uint32_t)visible_copy(self->text + self->used, ERROR_LINE_BYTES - 1, line);
  self->text[self->used++] = '\n';
  self->text[self->used] = '\0';
}

PD_PRINTF(4, 0)
static void add(error *self, pd_status status, int code, const char *format, va_list args) {
  char line[2 * ERROR_LINE_BYTES];
  const bool is_memory = status == PD_NO_MEMORY && code == CODE_INTERNAL;
  const bool is_signal = code > 128 && code < 200;
  const error_line about = {.fault = is_signal ? 0 : is_memory ? FAULT_MEMORY : code < 100 ? 100 * code : code};
  vsnprintf(line, sizeof line, format, args);
  if (self->count == 0) {
    self->status = status;
    self->exit_code = is_signal ? code : about.fault / 100;
  }
  append(self, line, &about);
}

pd_status error_set(error *self, pd_status status, int code, const char *format, ...) {
  if (!self) return status;
  va_list args;
  va_start(args, format);
  error_clear(self);
  add(self, status, code, format, args);
  va_end(args);
  return status;
}

pd_status error_no_memory(error *self) { return error_set(self, PD_NO_MEMORY, FAULT_MEMORY, "out of memory"); }

pd_status error_add(error *self, pd_status status, int code, const char *format, ...) {
  if (!self) return status;
  va_list args;
  va_start(args, format);
  add(self, status, code, format, args);
  va_end(args);
  return status;
}

void error_merge(error *self, const error *from) {
  if (self->count == 0) {
    self->status = from->status;
    self->exit_code = from->exit_code;
  }
  const char *at = from->text;
  for (uint32_t i = 0; i < from->count; i++) {
    char line[ERROR_LINE_BYTES] = "";
    if (i < ERROR_LINES) {
      const char *end = strchr(at, '\n');
      snprintf(line, sizeof line, "%.*s", (int)(end - at), at);
      at = end + 1;
    }
    append(self, line, &from->lines[i < ERROR_LINES ? i : 0]);
  }
}

pd_status error_wrap(error *self, const char *prefix) {
  if (!self) return PD_OK;
  error wrapped;
  error_clear(&wrapped);
  const char *at = self->text;
  for (uint32_t i = 0; i < self->count; i++) {
    char line[2 * ERROR_LINE_BYTES] = "";
    if (i < ERROR_LINES) {
      const char *end = strchr(at, '\n');
      snprintf(line, sizeof line, "%s: %.*s", prefix, (int)(end - at), at);
      at = end + 1;
    }
    error_line about = self->lines[i < ERROR_LINES ? i : 0];
    about.place_bytes = 0; /* the text begins with something else now */
    append(&wrapped, line, &about);
  }
  memcpy(self->text, wrapped.text, wrapped.used + 1);
  memcpy(self->lines, wrapped.lines, sizeof self->lines);
  self->used = wrapped.used;
  return self->status;
}

void error_locate(error *self, uint32_t index, uint32_t place_bytes, const char *source, uint32_t column,
                  uint32_t bytes) {
  if (index >= ERROR_LINES || index >= self->count) return;
  error_line *at = &self->lines[index];
  at->place_bytes = place_bytes;
  at->column = column;
  at->bytes = bytes;
  snprintf(at->source, sizeof at->source, "%s", source);
  for (char *c = at->source; *c; c++)
    if ((unsigned char)*c < 0x20 || *c == 0x7f) *c = ' ';
}

const char *error_first_line(const error *self, char *line, size_t room) {
  snprintf(line, room, "%.*s", (int)strcspn(self->text, "\n"), self->text);
  return line;
}
