/* See whole_file.h. */
#include "whole_file.h"

#include <pdhost/array.h>

#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

enum { FIRST_BYTES = 65536 };

/* Grown as it comes: a pipe does not know its size. */
static pd_status read_all(FILE *file, size_t most, char **text, size_t *bytes) {
  size_t space = 0;
  for (size_t got = 1; got > 0; *bytes += got) {
    if (*bytes == space) {
      if (*bytes >= most) return PD_INVALID;
      if (!PD_ARRAY_FIT(*text, space, space ? space + 1 : FIRST_BYTES)) return PD_NO_MEMORY;
    }
    errno = 0;
    got = fread(*text + *bytes, 1, space - *bytes, file);
  }
  return ferror(file) ? PD_IO : PD_OK;
}

pd_status whole_file_read(const char *path, const char *kind, size_t most, char **text, size_t *bytes, char *why,
                          size_t room) {
  /* Opening a pipe would wait for a program that writes to it; reading one without a writer ends at once. */
  const int descriptor = open(path, O_RDONLY | O_NONBLOCK | O_CLOEXEC);
  FILE *file = descriptor >= 0 ? fdopen(descriptor, "rb") : NULL;
  *text = NULL;
  *bytes = 0;
  if (file) (void)fcntl(descriptor, F_SETFL, O_RDONLY);
  if (!file && descriptor >= 0) close(descriptor);
  const pd_status status = file ? read_all(file, most, text, bytes) : PD_IO;
  if (status == PD_IO) snprintf(why, room, "%s: %s", path, strerror(errno));
  if (status == PD_NO_MEMORY) snprintf(why, room, "%s: out of memory", path);
  if (status == PD_INVALID) snprintf(why, room, "%s: too large for %s", path, kind);
  if (file) fclose(file);
  if (status == PD_OK) return PD_OK;
  free(*text);
  *text = NULL;
  return status;
}
