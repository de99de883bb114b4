/*
 * What the host did in one recorded process, seen from outside: its launching threads' states, and its children. The
 * process notices nothing of it: files of /proc are read, and the kernel's records of context switches. [main thread]
 */
#ifndef CORE_RECORD_HOST_RECORD_HOST_H
#define CORE_RECORD_HOST_RECORD_HOST_H

#include "capture/format.h"

#include <pdhost/record.h>

#include <stdbool.h>
#include <sys/types.h>

/* How. */
typedef enum record_host_way {
  RECORD_HOST_AUTO,     /* context switches where the kernel tells of them, else looks alone */
  RECORD_HOST_SWITCHES, /* the same, and a warning where it does not */
  RECORD_HOST_PROC,     /* looks alone */
  RECORD_HOST_NONE
} record_host_way;

typedef struct record_host record_host;

/* Takes rows of a kind, of one thread or of none. */
typedef void record_host_put(void *user, capture_kind kind, uint32_t thread, const void *rows, uint32_t row_bytes,
                             uint32_t count);

/* `with_places`: and where its threads are in code of Python, where that can be read. NULL on no memory. */
record_host *record_host_open(pid_t pid, record_host_way way, bool with_places, record_host_put *put, void *user);
/* At most RECORD_HOST_THREADS of the threads that launch are watched. */
enum { RECORD_HOST_THREADS = 3 };
void record_host_calls(record_host *self, const pd_activity *rows, uint32_t count);
/* Each millisecond. False: `self` is NULL. */
bool record_host_look(record_host *self);
/* Gives the rows of the looks so far. */
void record_host_flush(record_host *self);
/* With what is left; NULL is allowed. */
void record_host_close(record_host *self);

#endif
