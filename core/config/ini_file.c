/* INI files; see ini_file.h. The reader below shows inih only lines that it takes as they are meant. */
#include "ini_file.h"

#include "run_name.h"

#include <ctype.h>
#include <errno.h>
#include <fcntl.h>
#include <ini.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

enum { LINE_BYTES = 190, NAME_BYTES = 48, FILE_BYTES = 1 << 20 };

typedef struct reader {
  const char *path, *text;
  size_t bytes, at;
  int line;
  ini_row row;
  void *user;
  error *err;
  bool stopped;
  bool is_lost; /* since a heading that is malformed */
} reader;

#define COMPLAIN(r, ...) error_add((r)->err, PD_INVALID, FAULT_LINE, __VA_ARGS__)

/* inih tells of a section with its first key only: a misspelt one without keys would go unseen. */
static bool deliver_heading(reader *r, const char *name, size_t bytes) {
  char section[NAME_BYTES + 1];
  snprintf(section, sizeof section, "%.*s", (int)bytes, name);
  if (!r->row(r->user, section, NULL, NULL, r->line)) r->stopped = true;
  return !r->stopped;
}

/* Which section the keys below belong to is not known: they go to none, and are not complained of. */
static bool heading_is_lost(reader *r) {
  r->is_lost = true;
  return false;
}

/* Whether inih may see this line; complains when it is a mistake. */
static bool line_is_sound(reader *r, const char *line, size_t bytes) {
  if (bytes > LINE_BYTES) {
    COMPLAIN(r, "%s:%d: line of %zu bytes; at most %d are read: shorten it, or give the key by -o section.key=value",
             r->path, r->line, bytes, LINE_BYTES);
    return false;
  }
  if (memchr(line, '\0', bytes)) {
    COMPLAIN(r, "%s:%d: a NUL byte; this is not a text file", r->path, r->line);
    return false;
  }
  if (bytes >= 3 && memcmp(line, "\xEF\xBB\xBF", 3) == 0) { /* inih would take off a second one by itself */
    COMPLAIN(r, "%s:%d: a byte order mark inside the file", r->path, r->line);
    return false;
  }
  size_t first = 0, end = bytes;
  while (end > 0 && isspace((unsigned char)line[end - 1])) end--;
  while (first < end && isspace((unsigned char)line[first])) first++;
  if (first == end || line[first] == ';' || line[first] == '#') return false; /* nothing to see, and no mistake */
  if (first > 0) {
    COMPLAIN(r, "%s:%d: the line is indented; a key begins at the margin and its value is on one line", r->path,
             r->line);
    return false;
  }
  if (line[0] == '[') {
    const char *close = memchr(line, ']', end);
    if (!close || close - line - 1 > NAME_BYTES) {
      COMPLAIN(r, "%s:%d: %.*s: %s", r->path, r->line, (int)end, line, close ? "the name is too long" : "missing ']'");
      return heading_is_lost(r);
    }
    const char *after = close + 1;
    while (after < line + end && isspace((unsigned char)*after)) after++;
    if (after < line + end && *after != ';' && *after != '#') {
      COMPLAIN(r, "%s:%d: %.*s: text after the section", r->path, r->line, (int)(line + end - after), after);
      return false;
    }
    r->is_lost = false;
    return deliver_heading(r, line + 1, (size_t)(close - line - 1));
  }
  const char *equals = memchr(line, '=', end), *colon = memchr(line, ':', end);
  if (!equals || equals == line || (colon && colon < equals)) {
    COMPLAIN(r, "%s:%d: %.*s: expected '[section]' or 'key = value'", r->path, r->line, (int)end, line);
    return false;
  }
  return !r->is_lost;
}

/* inih's fgets: hands out the next line, or an empty one in place of what it may not see. */
static char *next_line(char *out, int room, void *user) {
  reader *r = user;
  if (r->stopped || r->at >= r->bytes) return NULL;
  const char *line = r->text + r->at;
  const char *newline = memchr(line, '\n', r->bytes - r->at);
  const size_t bytes = newline ? (size_t)(newline - line) : r->bytes - r->at;
  r->at += bytes + (newline != NULL);
  r->line++;
  const bool sound = line_is_sound(r, line, bytes);
  if (sound && (size_t)room < bytes + 2) {
    COMPLAIN(r, "%s:%d: the line does not fit this build's inih (%d bytes)", r->path, r->line, room);
    snprintf(out, (size_t)room, "\n");
  } else {
    snprintf(out, (size_t)room, "%.*s\n", sound ? (int)bytes : 0, line);
  }
  return out;
}

static int take_row(void *user, const char *section, const char *key, const char *value) {
  reader *r = user;
  if (!r->stopped && !r->row(r->user, section, key, value, r->line)) r->stopped = true;
  return 1;
}

#if INI_HANDLER_LINENO
static int take_numbered_row(void *user, const char *section, const char *key, const char *value, int line) {
  (void)line;
  return take_row(user, section, key, value);
}
#define TAKE_ROW take_numbered_row
#else
#define TAKE_ROW take_row
#endif

pd_status ini_text_read(const char *path, const char *text, size_t bytes, ini_row row, void *user, error *err) {
  const bool mark = bytes >= 3 && memcmp(text, "\xEF\xBB\xBF", 3) == 0;
  reader r = {.path = path, .text = text, .bytes = bytes, .at = mark ? 3 : 0, .row = row, .user = user, .err = err};
  const uint32_t before = err->count;
  const int code = ini_parse_stream(next_line, &r, TAKE_ROW, &r);
  if (r.stopped || code == -2) return error_add(err, PD_NO_MEMORY, CODE_INTERNAL, "%s: out of memory", path);
  if (code > 0 && err->count == before) COMPLAIN(&r, "%s:%d: expected '[section]' or 'key = value'", path, code);
  return err->count == before ? PD_OK : PD_INVALID;
}

pd_status ini_file_read(const char *path, ini_row row, void *user, error *err) {
  struct stat about;
  /* The opening of a pipe would wait for a program that writes to it. */
  const int descriptor = open(path, O_RDONLY | O_NONBLOCK | O_CLOEXEC);
  FILE *file = descriptor >= 0 ? fdopen(descriptor, "rb") : NULL;
  if (!file && descriptor >= 0) close(descriptor);
  if (!file || fstat(descriptor, &about) != 0) {
    const int cause = errno;
    char hint[1024] = "";
    if (file) fclose(file);
    if (cause == ENOENT) run_name_near_file(path, hint, sizeof hint);
    return error_add(err, PD_INVALID, FAULT_UNREADABLE, "%s: cannot be read: %s%s", path, strerror(cause), hint);
  }
  char *text = malloc(FILE_BYTES + 1);
  pd_status status = PD_NO_MEMORY;
  if (!text) {
    error_add(err, status, CODE_INTERNAL, "%s: out of memory", path);
  } else if (S_ISDIR(about.st_mode)) {
    status = error_add(err, PD_INVALID, FAULT_UNREADABLE, "%s: is a folder; -c takes a file", path);
  } else {
    (void)fcntl(descriptor, F_SETFL, O_RDONLY);
    const size_t bytes = fread(text, 1, FILE_BYTES + 1, file);
    if (ferror(file))
      status = error_add(err, PD_INVALID, FAULT_UNREADABLE, "%s: cannot be read: %s", path, strerror(errno));
    else if (bytes == 0 && S_ISFIFO(about.st_mode))
      status = error_add(err, PD_INVALID, FAULT_UNREADABLE, "%s: is a pipe that no program writes to", path);
    else if (bytes > FILE_BYTES)
      status =
          error_add(err, PD_INVALID, FAULT_UNREADABLE, "%s: is larger than 1 MiB; this is not a configuration", path);
    else
      status = ini_text_read(path, text, bytes, row, user, err);
  }
  free(text);
  fclose(file);
  return status;
}
