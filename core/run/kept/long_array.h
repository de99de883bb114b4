/*
 * An array of a run that may have any number of steps. What is beyond LONG_ARRAY_MEMORY lies in a file without a name,
 * whose memory the system takes back when it needs it. Where no such file can be made, all of it is memory.
 *
 *   long_array steps = {.folder = "results", .row_bytes = sizeof(step)};
 *   if (!long_array_fit(&steps, count + 1)) return PD_NO_MEMORY;
 *   ((step *)steps.rows)[count++] = (step){...};
 *   long_array_free(&steps);
 */
#ifndef CORE_RUN_KEPT_LONG_ARRAY_H
#define CORE_RUN_KEPT_LONG_ARRAY_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

enum { LONG_ARRAY_MEMORY = 256 << 10, LONG_ARRAY_PART = 1 << 20 };

typedef struct long_array {
  const char *folder; /* borrowed; NULL: memory alone */
  size_t row_bytes;
  void *rows;     /* lies elsewhere after long_array_fit */
  uint64_t room;  /* rows */
  uint64_t bytes; /* of the file; 0: memory */
  int file;       /* with `bytes` */
} long_array;

/* Room for `count` rows. False on no memory: nothing has changed. */
bool long_array_fit(long_array *self, uint64_t count);
/* The rows, and their file. It may be used again. */
void long_array_free(long_array *self);

#endif
