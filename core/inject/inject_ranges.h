/*
 * The program's own ranges and marks, from its threads into the ring: a clock, a look into a small table and a copy, no
 * lock, no heap, no system call. Nothing is kept before there is a ring: the program has launched nothing by then.
 */
#ifndef CORE_INJECT_INJECT_RANGES_H
#define CORE_INJECT_INJECT_RANGES_H

#include "capture/ring_write.h"

#include <stdbool.h>
#include <stddef.h>

/* Memory for the threads that will have ranges. Once in a process; again it does nothing. [any thread] */
void inject_ranges_prepare(void);

/* The ring is there; NULL: from now on nothing is recorded. [the collector's thread; NULL: a forked child, too] */
void inject_ranges_use(ring_writer *ring);
/* Whether ranges that end now are left out: the recording is paused. */
void inject_ranges_pause(bool paused);

enum { INJECT_RANGES_LONGEST = 1000 }; /* bytes of a name; the rest is cut off */

/* Stands for a domain or a name that could not be kept: its ranges are counted as lost. */
extern const char inject_ranges_no_room[];

/* `domain` tells apart what nests by itself, NULL: the one that all share; it is compared by its address. Names are
 * copied, and cut after INJECT_RANGES_LONGEST bytes. How many ranges of the thread are open around it; -1: they are not
 * kept. [any thread] */
int inject_ranges_push(const char *domain, const char *name);
/* Closes the thread's innermost range of the domain. */
int inject_ranges_pop(const char *domain);
/* A range that any thread may end, by the number that is returned; 0: it is not kept. */
uint64_t inject_ranges_start(const char *domain, const char *name);
void inject_ranges_end(uint64_t number);
/* Another thread is at this place of the program's code now. False: nothing is recorded. */
bool inject_ranges_code(uint32_t thread, const char *place);
/* A moment. */
void inject_ranges_mark(const char *domain, const char *name);

#endif
