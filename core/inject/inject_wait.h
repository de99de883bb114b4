/* A wait of one thread for another, with a limit. The clock that it counts by is never set, and the C library's names
 * that it needs are old ones. [any thread] */
#ifndef CORE_INJECT_INJECT_WAIT_H
#define CORE_INJECT_INJECT_WAIT_H

#include <stdbool.h>
#include <stdint.h>

/* 0: not yet. */
typedef _Atomic uint32_t inject_event;

/* It has happened: wakes who waits for it. It calls the system only where it had not happened before. */
void inject_wait_tell(inject_event *self);
/* False: it did not happen within `patience_ns`. It stays as it is. */
bool inject_wait_for(inject_event *self, int64_t patience_ns);

/* One thread at a time gets the event, and has it until it tells of it again. False: it did not get it within
 * `patience_ns`. */
bool inject_wait_turn(inject_event *self, int64_t patience_ns);

#endif
