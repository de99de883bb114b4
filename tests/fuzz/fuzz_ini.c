/* The INI reader over any bytes: every line is a row, a heading, nothing, or a complaint with its line number; rows
 * have their true line. */
#include "fuzz.h"

#include "config/ini_file.h"

#include <string.h>

typedef struct seen {
  int last_line, lines;
  uint64_t rows;
} seen;

static bool take(void *user, const char *section, const char *key, const char *value, int line) {
  seen *self = user;
  check(line >= self->last_line && line <= self->lines);
  check((key == NULL) == (value == NULL));
  check(strlen(section) <= 48);
  check(!key || (key[0] && strlen(key) + strlen(value) <= 190));
  self->last_line = line;
  self->rows++;
  return true;
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t bytes) {
  static error err;
  seen self = {.lines = 1};
  for (size_t i = 0; i < bytes; i++) self.lines += data[i] == '\n';
  error_clear(&err);
  const pd_status status = ini_text_read("x.ini", (const char *)data, bytes, take, &self, &err);
  check((status == PD_OK) == (err.count == 0));
  check(strlen(err.text) == err.used);
  return 0;
}
