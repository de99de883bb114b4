/* What the program does now, how far it is and how long it may still take: one line on a terminal, or one JSON object a
 * line. A thread of its own wakes a few times a second, reads a counter and writes, so that the thread that is measured
 * never does. There is one progress for the whole process; without progress_begin, or where it is not to be shown, all
 * of this does nothing. */
#ifndef CORE_BASE_PROGRESS_LINE_H
#define CORE_BASE_PROGRESS_LINE_H

#include "progress_text.h"

#include <pdhost/progress.h>

#include <stdatomic.h>

typedef enum progress_mode {
  PROGRESS_AUTO,   /* a line on a terminal, unless the run is quiet */
  PROGRESS_ALWAYS, /* also where standard error is not a terminal: a line a second */
  PROGRESS_NEVER,
  PROGRESS_JSON /* objects on standard error; see docs/progress.md */
} progress_mode;

/* --progress; false: `word` is not a mode. Before progress_begin. */
bool progress_choose(const char *word);

/* Processes that are forked from now on write to one terminal with this one. Before progress_begin. [main thread] */
void progress_share(void);
/* False: one of those processes has overwritten what is not its own; progress_share() makes it anew. */
bool progress_is_whole(void);
/* Starts the thread where there is something to show. `name` is copied: a scenario's name, "sweep". [main thread] */
void progress_begin(const char *name, bool quiet);
/* Ends it and removes the line. [main thread] */
void progress_end(void);

/* A phase begins, and the one before it ends. `unit` is what its steps are called in the singular, NULL where it has
 * none, and PROGRESS_BYTE is shown in megabytes; `of` how many there will be, 0: not known. Both names are copied.
 * Never in the middle of a step that is measured. [main thread] */
void progress_enter(const char *name, const char *unit, uint64_t of);
/* The phase ends in at most `seconds`. [main thread] */
void progress_ends_within(double seconds);
/* For a phase whose steps come many at a time, as bytes do: `done` of `of` are done, 0 for `of`: not known. The first
 * call says how many were done when the phase began. [main thread] */
void progress_reach(uint64_t done, uint64_t of);
/* What is shown after the phase's figures; "" takes it away. [main thread] */
void progress_note(const char *format, ...) PD_PRINTF(1, 2);

extern atomic_uint_fast64_t progress_steps; /* progress_step's alone */
/* A step of the phase is done. Costs a load and a store. [main thread] */
static inline void progress_step(void) {
  const uint64_t done = atomic_load_explicit(&progress_steps, memory_order_relaxed);
  atomic_store_explicit(&progress_steps, done + 1, memory_order_relaxed);
}

/* Something else is written to the terminal between the two: the line goes, and comes again soon after. May be nested.
 * [any thread] */
void progress_hide(void);
void progress_show(void);

/* What plugins see: PD_EXT_PROGRESS. */
const pd_progress *progress_table(void);

#endif
