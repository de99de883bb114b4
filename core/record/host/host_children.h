/* The children of a program, as loader workers are, and what they use: processor time, and what they read. [main
 * thread]
 */
#ifndef CORE_RECORD_HOST_HOST_CHILDREN_H
#define CORE_RECORD_HOST_HOST_CHILDREN_H

#include "process_time.h"

#include "capture/format.h"

#include <sys/types.h>

enum { HOST_CHILDREN = 128 };

typedef struct host_child {
  pid_t pid;
  process_time used;
  char name[16];
} host_child;

/* Begins with `program` set and all else zero. */
typedef struct host_children {
  pid_t program;
  host_child all[HOST_CHILDREN];
  uint32_t count;
  int64_t listed_ns; /* CLOCK_MONOTONIC */
} host_children;

/* One row for each child that lives now; `rows` has room for HOST_CHILDREN. How many there are. */
uint32_t host_children_look(host_children *self, capture_child *rows);

#endif
