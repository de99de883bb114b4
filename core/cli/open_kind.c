/* See open_kind.h. */
#include "open_kind.h"

#include "capture/format.h"

#include <pdhost/window_file.h>

#include <ctype.h>
#include <dirent.h>
#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <strings.h>
#include <sys/stat.h>

enum { BEGINNING = 65536, DEPTH = 3, PATH_BYTES = 4096 };

const char *open_kind_name(open_kind kind) {
  static const char *const names[] = {
      [OPEN_UNKNOWN] = "a file of no kind that pdhost knows",
      [OPEN_TRACE] = "a trace",
      [OPEN_TRACE_GZ] = "a compressed trace",
      [OPEN_EVENTS] = "TensorBoard data",
      [OPEN_TRACES] = "a folder of traces",
      [OPEN_CSV] = "tables as csv",
      [OPEN_METRICS] = "the results of a run",
      [OPEN_MEASUREMENT] = "a measurement",
      [OPEN_TRUTH] = "what a run injected, measured",
      [OPEN_MANIFEST] = "the manifest of a run",
      [OPEN_WINDOW] = "a recorded window",
      [OPEN_CAPTURE] = "a capture",
      [OPEN_PAGE] = "a page",
      [OPEN_PAGES] = "a folder with a page",
      [OPEN_STACKS] = "folded call stacks",
      [OPEN_INI] = "a configuration",
  };
  return names[kind];
}

static bool ends_with(const char *text, const char *end) {
  const size_t bytes = strlen(text), of_end = strlen(end);
  return bytes >= of_end && strcmp(text + bytes - of_end, end) == 0;
}

/* A JSON document: by its keys, near its beginning. */
static open_kind json_kind(const char *text) {
  if (strstr(text, "\"traceEvents\"") || strstr(text, "\"deviceProperties\"")) return OPEN_TRACE;
  if (strstr(text, "\"pdhost.truth/")) return OPEN_TRUTH;
  if (strstr(text, "\"pdhost.manifest/")) return OPEN_MANIFEST;
  if (strstr(text, "\"pdhost-measurements-")) return OPEN_MEASUREMENT;
  if (strstr(text, "\"pdhost_version\"") && strstr(text, "\"schema_version\"")) return OPEN_METRICS;
  return OPEN_UNKNOWN;
}

/* "main;step;item 12": frames, then a count, on the first line. */
static bool is_folded(const char *text) {
  char line[4096];
  snprintf(line, sizeof line, "%.*s", (int)strcspn(text, "\n"), text);
  const char *count = strrchr(line, ' ');
  if (!count || !count[1] || !strchr(line, ';') || strchr(line, '"') || strchr(line, '=')) return false;
  return strspn(count + 1, "0123456789") == strlen(count + 1);
}

static bool is_section(const char *text) {
  for (; *text; text += *text == '\n') {
    text += strspn(text, " \t\r\n");
    if (*text == '[') return strcspn(text, "]") < strcspn(text, "\n");
    if (*text != ';' && *text != '#') return false;
    text += strcspn(text, "\n");
  }
  return false;
}

static bool is_csv(const char *text) {
  const size_t bytes = strcspn(text, "\n");
  for (size_t i = 0; i < bytes; i++)
    if (!isprint((unsigned char)text[i]) && text[i] != '\r') return false;
  return memchr(text, ',', bytes) != NULL;
}

static open_kind text_kind(const char *text) {
  const char *at = text + strspn(text, " \t\r\n");
  if (*at == '{') return json_kind(at);
  if (strncasecmp(at, "<!doctype html", 14) == 0) return OPEN_PAGE;
  if (*at == '[' && at[1 + strspn(at + 1, " \t\r\n")] == '{') return OPEN_TRACE; /* events without an object around */
  if (is_section(at)) return OPEN_INI;
  if (is_folded(at)) return OPEN_STACKS;
  return is_csv(at) ? OPEN_CSV : OPEN_UNKNOWN;
}

static pd_status file_kind(const char *path, open_kind *out, error *err) {
  static char text[BEGINNING + 1];
  FILE *from = fopen(path, "re");
  if (!from) return error_set(err, PD_IO, CODE_USAGE, "open: %s cannot be read: %s", path, strerror(errno));
  const size_t bytes = fread(text, 1, BEGINNING, from);
  fclose(from);
  text[bytes] = '\0';
  *out = OPEN_UNKNOWN;
  if (bytes >= 8 && memcmp(text, PD_WINDOW_MAGIC, 8) == 0)
    *out = OPEN_WINDOW;
  else if (bytes >= 8 && memcmp(text, CAPTURE_MAGIC, 8) == 0)
    *out = OPEN_CAPTURE;
  else if (bytes > 2 && memcmp(text, "\x1f\x8b", 2) == 0)
    *out = ends_with(path, ".json.gz") ? OPEN_TRACE_GZ : OPEN_UNKNOWN;
  else if (memmem(text, bytes < 64 ? bytes : 64, "brain.Event:", 12))
    *out = OPEN_EVENTS;
  else if (strlen(text) == bytes)
    *out = text_kind(text);
  return PD_OK;
}

/* What lies in a folder. */
typedef struct folder_files {
  bool events, traces, csv, pages;
} folder_files;

/* NOLINTNEXTLINE(misc-no-recursion): at most DEPTH folders deep */
static void look_below(const char *path, int depth, folder_files *out) {
  DIR *folder = opendir(path);
  if (!folder) return;
  for (const struct dirent *entry; (entry = readdir(folder));) {
    char inner[PATH_BYTES];
    struct stat about;
    if (entry->d_name[0] == '.') continue;
    snprintf(inner, sizeof inner, "%s/%s", path, entry->d_name);
    if (stat(inner, &about) != 0) continue;
    if (S_ISDIR(about.st_mode)) {
      if (depth > 0) look_below(inner, depth - 1, out);
      continue;
    }
    out->events |= strstr(entry->d_name, "tfevents") != NULL;
    out->traces |= ends_with(entry->d_name, ".trace.json") || ends_with(entry->d_name, ".trace.json.gz");
    out->csv |= ends_with(entry->d_name, ".csv");
    out->pages |= ends_with(entry->d_name, ".html");
  }
  closedir(folder);
}

pd_status open_kind_of(const char *path, open_kind *out, error *err) {
  struct stat about;
  if (stat(path, &about) != 0)
    return error_set(err, PD_IO, CODE_USAGE, "open: %s cannot be read: %s", path, strerror(errno));
  if (S_ISREG(about.st_mode)) return file_kind(path, out, err);
  if (!S_ISDIR(about.st_mode))
    return error_set(err, PD_INVALID, CODE_USAGE, "open: %s is neither a file nor a folder", path);
  folder_files has = {0};
  look_below(path, DEPTH, &has);
  *out = has.events   ? OPEN_EVENTS
         : has.traces ? OPEN_TRACES
         : has.csv    ? OPEN_CSV
         : has.pages  ? OPEN_PAGES
                      : OPEN_UNKNOWN;
  return PD_OK;
}
