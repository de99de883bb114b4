/* See golden.h. */
#include "golden.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

static bool update(const char *path, const char *data, uint64_t bytes) {
  FILE *file = fopen(path, "wb");
  if (!file) return false;
  const bool done = fwrite(data, 1, bytes, file) == bytes;
  return fclose(file) == 0 && done;
}

bool golden_equal(const char *path, const char *data, uint64_t bytes) {
  if (getenv("PD_UPDATE_GOLDEN")) return update(path, data, bytes);
  FILE *file = fopen(path, "rb");
  if (!file) {
    fprintf(stderr, "%s: not there\n", path);
    return false;
  }
  uint64_t at = 0, line = 1;
  int c;
  while ((c = fgetc(file)) != EOF && at < bytes && (unsigned char)data[at] == c) {
    line += c == '\n';
    at++;
  }
  fclose(file);
  if (c == EOF && at == bytes) return true;
  fprintf(stderr, "%s:%llu: differs at byte %llu, where there is now: %.120s\n", path, (unsigned long long)line,
          (unsigned long long)at, at < bytes ? data + at : "the end");
  return false;
}
