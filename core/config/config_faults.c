/* See config_faults.h. */
#include "config_faults.h"

#include <ctype.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>

typedef struct place {
  const char *text; /* the line of the error, without its newline */
  size_t bytes;
  error_line about;
  uint32_t file, line; /* file: UINT32_MAX, line 0: of no file */
  uint32_t index;      /* as it was */
} place;

static int by_place(const void *a, const void *b) {
  const place *x = a, *y = b;
  if (x->file != y->file) return x->file < y->file ? -1 : 1;
  if (x->line != y->line) return x->line < y->line ? -1 : 1;
  return x->index < y->index ? -1 : x->index > y->index;
}

/* Bytes of "FILE:LINE" at the beginning of a line; 0: it is not of this file. */
static uint32_t find_place(place *at, const char *file, uint32_t index) {
  const size_t name = strlen(file);
  char *end;
  if (at->bytes <= name || strncmp(at->text, file, name) != 0 || at->text[name] != ':') return 0;
  if (!isdigit((unsigned char)at->text[name + 1])) {
    at->file = index; /* of the file as a whole */
    return 0;
  }
  const unsigned long line = strtoul(at->text + name + 1, &end, 10);
  if (*end != ':') return 0;
  at->file = index;
  at->line = (uint32_t)line;
  return (uint32_t)(end - at->text);
}

/* Line `number` of a file, without its ending. */
static bool read_line(const char *path, uint32_t number, char *text, size_t room) {
  struct stat about;
  FILE *file = stat(path, &about) == 0 && S_ISREG(about.st_mode) ? fopen(path, "r") : NULL;
  char *line = NULL;
  size_t size = 0;
  ssize_t bytes = -1;
  for (uint32_t i = 0; file && i < number; i++) bytes = getline(&line, &size, file);
  const bool found = bytes > 0 && (size_t)bytes < room;
  if (found) {
    while (bytes && (line[bytes - 1] == '\n' || line[bytes - 1] == '\r')) line[--bytes] = '\0';
    snprintf(text, room, "%s", line);
  }
  free(line);
  if (file) fclose(file);
  return found;
}

static size_t without_blanks(const char *text, size_t bytes) {
  while (bytes && isspace((unsigned char)text[bytes - 1])) bytes--;
  return bytes;
}

/* What is wrong in a line: its value, its key, its heading, or all of it. */
static void mark(const char *line, int fault, uint32_t *column, uint32_t *bytes) {
  const char *begin = line + strspn(line, " \t"), *equals = strchr(line, '=');
  size_t length = without_blanks(begin, strlen(begin));
  const bool is_value = fault == FAULT_VALUE || fault == FAULT_CLASH || fault == FAULT_FILES ||
                        fault / 100 == CODE_PLUGIN || fault / 100 == CODE_DEVICE;
  if (is_value && equals) {
    begin = equals + 1 + strspn(equals + 1, " \t");
    length = strcspn(begin, ";");
    length = without_blanks(begin, length);
  } else if ((fault == FAULT_KEY || fault == FAULT_TWICE || fault == FAULT_SECTION) && equals) {
    length = without_blanks(begin, (size_t)(equals - begin));
  }
  *column = (uint32_t)(begin - line) + 1;
  *bytes = (uint32_t)length;
}

static uint32_t take_apart(error *err, place *all, const char *const *files, uint32_t file_count) {
  const char *text = err->text;
  const uint32_t count = err->count < ERROR_LINES ? err->count : ERROR_LINES;
  for (uint32_t i = 0; i < count; i++) {
    place *at = &all[i];
    *at = (place){.text = text, .bytes = strcspn(text, "\n"), .about = err->lines[i], .file = UINT32_MAX, .index = i};
    text += at->bytes + 1;
    char source[ERROR_SOURCE_BYTES] = "";
    for (uint32_t file = 0; file < file_count && at->file == UINT32_MAX; file++) {
      at->about.place_bytes = find_place(at, files[file], file);
      if (at->about.place_bytes && read_line(files[file], at->line, source, sizeof source))
        mark(source, at->about.fault, &at->about.column, &at->about.bytes);
    }
    if (!source[0]) at->about.place_bytes = 0;
    memcpy(at->about.source, source, sizeof source);
  }
  return count;
}

void config_faults_locate(error *err, const char *const *files, uint32_t file_count) {
  static place all[ERROR_LINES]; /* large; the main thread's alone */
  static error ordered;
  const uint32_t count = take_apart(err, all, files, file_count);
  qsort(all, count, sizeof *all, by_place);
  error_clear(&ordered);
  for (uint32_t i = 0; i < count; i++) {
    const place *at = &all[i];
    error_add(&ordered, err->status, at->about.fault, "%.*s", (int)at->bytes, at->text);
    if (at->about.place_bytes)
      error_locate(&ordered, i, at->about.place_bytes, at->about.source, at->about.column, at->about.bytes);
  }
  ordered.exit_code = err->exit_code;
  ordered.count = err->count;
  *err = ordered;
}
