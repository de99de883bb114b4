/*
 * The calling thread's stack, fast: every thread keeps the rules (frame_rules.h) of the calls it has met, so that a
 * frame that was seen before takes a few nanoseconds, however many libraries are loaded. What has no rule is left to
 * the C library, at about 0.2 us a frame.
 */
#ifndef CORE_TRACE_STACKS_UNWIND_H
#define CORE_TRACE_STACKS_UNWIND_H

#include <stddef.h>

/* To be called before the first walk, and before each window: after a library was unloaded, another's code may have its
 * addresses, and no thread uses an old rule again. */
void unwind_prepare(void);

/* At most `room` return addresses from the caller's own outwards, innermost first. [any thread] */
size_t unwind_stack(void **frames, size_t room);

#endif
