/* Captures that were not ended: what runs left that were killed with all of their processes. */
#ifndef CORE_CAPTURE_CAPTURE_FIND_H
#define CORE_CAPTURE_CAPTURE_FIND_H

#include <stdint.h>
#include <time.h>

typedef struct capture_left {
  char *path;
  struct timespec when; /* it was written last */
} capture_left;

typedef struct capture_leftovers {
  capture_left *rows; /* the newest first */
  uint32_t count, room;
} capture_leftovers;

/* Those in `folder` and in the folders below it, at most `depth` of them deep; links are not followed, and a capture
 * that a run still writes is none. Without memory some are missing. */
void capture_find_left(const char *folder, int depth, capture_leftovers *out);
void capture_leftovers_free(capture_leftovers *self);

#endif
