/* Runs a fuzz target over the files of its corpus, without libFuzzer: what once crashed never does again. */
#include "fuzz.h"

#include <dirent.h>
#include <stdio.h>

enum { FILE_BYTES = 1 << 20 };

static int replay(const char *path) {
  FILE *file = fopen(path, "rb");
  uint8_t *data = malloc(FILE_BYTES);
  if (!file || !data) {
    fprintf(stderr, "%s: cannot be read\n", path);
    if (file) fclose(file);
    free(data);
    return 1;
  }
  const size_t bytes = fread(data, 1, FILE_BYTES, file);
  fclose(file);
  /* In a block of its own size, so that a read beyond the end is seen. */
  uint8_t *exact = malloc(bytes ? bytes : 1);
  if (exact) memcpy(exact, data, bytes);
  if (exact) LLVMFuzzerTestOneInput(exact, bytes);
  free(data);
  free(exact);
  return exact == NULL;
}

int main(int argc, char **argv) {
  unsigned count = 0;
  int failed = argc < 2;
  for (int i = 1; i < argc; i++) {
    DIR *dir = opendir(argv[i]);
    for (const struct dirent *entry; dir && (entry = readdir(dir));) {
      char path[4096];
      if (entry->d_name[0] == '.') continue;
      snprintf(path, sizeof path, "%s/%s", argv[i], entry->d_name);
      failed |= replay(path);
      count++;
    }
    if (dir) closedir(dir);
  }
  printf("%u inputs\n", count);
  return failed || count == 0;
}
