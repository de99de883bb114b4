/*
 * What another process sees of a room while its recorder writes. It costs the recorder nothing: the recorder does not
 * know of it. So what is read may change meanwhile, and every address is checked before it is followed. [one thread]
 */
#ifndef CORE_TRACE_KEPT_ROOM_LOOK_H
#define CORE_TRACE_KEPT_ROOM_LOOK_H

#include "room.h"

typedef enum room_look_state {
  ROOM_LOOK_NONE = 0, /* it is no room, or one of another version */
  ROOM_LOOK_CLOSED,   /* no window is open, or the one that was ended meanwhile */
  ROOM_LOOK_OPEN,
  ROOM_LOOK_NO_MEMORY
} room_look_state;

/* A list of the room, and from where on it is not too old. */
typedef struct room_mark {
  uint64_t list;             /* where it lies in the room */
  const chunk *first, *from; /* there; from NULL: its first */
} room_mark;

typedef struct room_look {
  pd_activity *rows; /* calls and work of the device, sorted by start; their times are CLOCK_REALTIME in ns */
  uint64_t count, room;
  int64_t newest_ns;              /* when the last of them ended; 0: there are none */
  uint64_t losses[PD_LOSS_COUNT]; /* of the window that is open or was last */
  uint32_t window;                /* which one that is */
  uint64_t chunks;                /* that this look went through */
  /* What earlier looks at the window `marked` found too old is passed over, or a look would take longer and longer. */
  room_mark *marks;
  uint64_t mark_count, mark_room;
  uint32_t marked;
} room_look;

/* Rows that ended within `span_ns` before the newest one did, of a room in `file`, which stays the caller's. `clock` is
 * the caller's own, of this machine. `self` is zeroed at first, and used again and again for one room. */
room_look_state room_look_take(room_look *self, int file, const trace_clock *clock, int64_t span_ns);
void room_look_free(room_look *self);

#endif
