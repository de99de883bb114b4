/*
 * The recording in this process: CUPTI's callbacks, and one thread that takes what they bring to the ring. The
 * program's own threads do no more than CUPTI makes them do: no lock, no heap, no waiting. One that destroys a context
 * asks CUPTI for what it holds, which the collector may be doing at that moment: it waits for that, but not for long.
 */
#ifndef CORE_INJECT_INJECT_COLLECT_H
#define CORE_INJECT_INJECT_COLLECT_H

#include "inject_board.h"

/* Subscribes to CUPTI and starts the thread; what is recorded is switched on when the board says so. Failures are
 * written to the board's slot. Once in a process. [the thread that initialises CUDA] */
void inject_collect_start(inject_board *board);
/* The process ends: takes what CUPTI still holds, for at most `patience_ns`. [any thread] */
void inject_collect_leave(int64_t patience_ns);
/* Ends the recording and gives CUPTI back for good, so that the program's own profiler can subscribe. Waits until that
 * is done, for at most `patience_ns`. Called before inject_collect_start, it keeps that from taking CUPTI. [any thread]
 */
void inject_collect_yield(int64_t patience_ns);
/* This is a forked child: nothing here is its own, and every callback returns at once. */
void inject_collect_forget(void);

#endif
