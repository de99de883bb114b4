/* What the fuzz targets share. */
#ifndef TESTS_FUZZ_FUZZ_H
#define TESTS_FUZZ_FUZZ_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t bytes);

/* A false one is what the fuzzer looks for. */
static inline void check(bool condition) {
  if (!condition) __builtin_trap();
}

/* The input as a text of its own, to be freed; NULL: out of memory. */
static inline char *fuzz_text(const uint8_t *data, size_t bytes) {
  char *text = malloc(bytes + 1);
  if (!text) return NULL;
  if (bytes) memcpy(text, data, bytes);
  text[bytes] = '\0';
  return text;
}

/* The input as a file of its own, to be unlinked: what is fuzzed may take a path alone, and a library may not follow
 * /proc/self/fd. */
static inline bool fuzz_file(const uint8_t *data, size_t bytes, char path[64]) {
  snprintf(path, 64, "/dev/shm/pdhost_fuzz_XXXXXX");
  const int file = mkstemp(path);
  if (file < 0) return false;
  const bool written = write(file, data, bytes) == (ssize_t)bytes;
  close(file);
  return written;
}

#endif
