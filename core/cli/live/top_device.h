/* What `pdhost top` shows of the device of a run, from the records that the run holds of its open window. [main thread]
 */
#ifndef CORE_CLI_LIVE_TOP_DEVICE_H
#define CORE_CLI_LIVE_TOP_DEVICE_H

#include "record/record_live.h"
#include "trace/kept/room_look.h"

#include <stdio.h>

typedef struct top_device {
  trace_clock clock;
  room_look look;
  room_look_state state;
  record_live live;
} top_device;

/* False on no memory. */
bool top_device_open(top_device *self);
void top_device_close(top_device *self);
/* Looks at the room in `file`, which is the caller's; -1: there is none. */
void top_device_look(top_device *self, int file);
/* What that look saw; `now_ns`: CLOCK_REALTIME. */
void top_device_print(const top_device *self, int64_t now_ns, FILE *out);

#endif
