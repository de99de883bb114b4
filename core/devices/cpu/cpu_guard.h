/*
 * oneDNN is written in C++: where memory runs out, std::bad_alloc may leave its C functions. What calls them goes
 * through here, so that such an exception is a failure of the stream and not the end of the process.
 */
#ifndef DEVICES_CPU_CPU_GUARD_H
#define DEVICES_CPU_CPU_GUARD_H

#include <stdbool.h>
#include <stddef.h>

#ifdef __cplusplus
extern "C" {
#endif

typedef enum cpu_caught { CPU_CAUGHT_NOTHING = 0, CPU_CAUGHT_NO_MEMORY, CPU_CAUGHT_OTHER } cpu_caught;

/* Calls `run` with `state`. An exception that leaves it is caught, and `text` of `room` bytes says what it was.
 * Whatever `run` had allocated by itself then is lost. Built without a C++ compiler it only calls. [any thread] */
cpu_caught cpu_guard(void (*run)(void *state), void *state, char *text, size_t room);

#ifdef __cplusplus
}
#endif
#endif
