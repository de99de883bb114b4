/*
 * The memory that a recorder fills: the states of its threads, their chunks, the texts, and what finds them. A room may
 * be shared with the process that forked the recorder's. When that one has died, the room still holds the window that
 * was open; see salvage.h.
 *
 * It is one mapping, at the same address in both processes: this structure, then memory that is handed out piece by
 * piece, then the chunks. The recorder writes; the other process reads once nothing writes any more. A third process
 * may look while the recorder writes; see room_look.h.
 */
#ifndef CORE_TRACE_KEPT_ROOM_H
#define CORE_TRACE_KEPT_ROOM_H

#include "trace/chunks.h"
#include "trace/clock.h"
#include "trace/loss_marks.h"

#include <stdatomic.h>

struct recorder_thread;

/* The clock at a window's begin. */
typedef struct room_clock {
  clock_anchor last;
  clock_point points[2];
  uint64_t point_count;
  clock_zone zone;
  int64_t offset_ns;
} room_clock;

/* What the memory of a shared room is called in /proc/PID/fd. */
#define ROOM_FILE "pdhost-room"

/* Where it lies: never changed. */
typedef struct room_place {
  uint64_t bytes;        /* of the mapping */
  struct trace_room *at; /* where that is */
  int file;              /* that is mapped, for other processes; -1: they cannot see it */
  unsigned char *chunks;
  uint64_t chunk_bytes;
} room_place;

typedef struct trace_room {
  room_place place;
  atomic_uint_fast64_t used; /* handed out, from the structure's begin on */

  struct recorder_thread *_Atomic threads; /* written under the registry's lock */
  _Atomic(void *) texts;                   /* the newest one; see strings.h */

  atomic_bool open; /* a window is, and no file holds it */
  uint32_t window, loop_tid, pid;
  uint64_t begin_ticks;
  bool with_memory;
  room_clock clock;
  chunk_list calls, devices, earlier; /* what the recorder had at the window's begin, see recorder_internal.h */

  _Alignas(64) atomic_uint_fast64_t losses[PD_LOSS_COUNT];
  atomic_flag marking; /* of marks */
  loss_marks marks;    /* where they were lost; in ticks */
} trace_room;

/* Makes a room with `max_bytes` of chunks. `shared`: with children that are forked from now on. The only failure is
 * PD_NO_MEMORY. */
pd_status room_open(uint64_t max_bytes, bool shared, trace_room **out);
void room_close(trace_room *self);
/* Touches the first chunks, so that the first window finds them in place. */
void room_touch(const trace_room *self);

/* Zeroed memory that stays until room_close; NULL: there is no more. [any thread] */
void *room_take(trace_room *self, uint64_t bytes);

/* Whether what is read out of a room after its process died may be followed: `bytes` at `at` are a piece that was
 * handed out, and lie where one may. `self->place` is the caller's own word. */
bool room_has_piece(const trace_room *self, const void *at, uint64_t bytes);
/* The same of a whole list: its chunks are chunks, hold no more rows than fit, and are no circle. */
bool room_has_list(const trace_room *self, const chunk_list *list, uint32_t record_bytes);

#endif
