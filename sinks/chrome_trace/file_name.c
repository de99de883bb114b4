/* See file_name.h. */
#include "file_name.h"

#include <stdio.h>
#include <string.h>

static const char gzip_ending[] = ".gz";

/* Length of `path` without `ending`, or of all of it. */
static size_t without(const char *path, size_t length, const char *ending) {
  const size_t cut = strlen(ending);
  return length >= cut && !memcmp(path + length - cut, ending, cut) ? length - cut : length;
}

bool file_name_is_gzip(const char *path) { return without(path, strlen(path), gzip_ending) != strlen(path); }

/* Whether `path` is one file, not a folder. */
static bool file_name_is_file(const char *path) {
  const size_t length = without(path, strlen(path), gzip_ending);
  return !strcmp(path, "-") || without(path, length, ".json") != length;
}

/* The file as given, with a number before its ending for each thing of which there may be several. */
static char *numbered(const file_name *self, uint32_t window, uint64_t part) {
  char numbers[48] = "", *path;
  int used = 0;
  const size_t packed = without(self->path, strlen(self->path), gzip_ending);
  size_t stem = without(self->path, packed, ".pt.trace.json");
  if (stem == packed) stem = without(self->path, packed, ".json");
  /* The one window of a schedule may be split where it fills the memory. */
  if (self->run->repeat != 1 || window) used = snprintf(numbers, sizeof numbers, ".%u", window);
  if (self->split) (void)snprintf(numbers + used, sizeof numbers - (size_t)used, ".%llu", (unsigned long long)part);
  const int made = asprintf(&path, "%.*s%s%.*s%s", (int)stem, self->path, numbers, (int)(packed - stem),
                            self->path + stem, self->gzip ? gzip_ending : "");
  return made < 0 ? NULL : path;
}

char *file_name_of(const file_name *self, uint32_t window, uint64_t part, int64_t time_ns) {
  char *path;
  if (!strcmp(self->path, "-")) return strdup(self->path);
  if (file_name_is_file(self->path)) return numbered(self, window, part);
  const int made = asprintf(&path, "%s/%s.%u.%lld.pt.trace.json%s", self->path[0] ? self->path : self->run->trace_dir,
                            self->worker, window, (long long)time_ns, self->gzip ? gzip_ending : "");
  return made < 0 ? NULL : path;
}
