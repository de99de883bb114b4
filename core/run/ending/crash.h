/*
 * Where a process of a run crashes: in which function, and who had called that. The process notes addresses on the
 * board as it dies; its supervisor, which has loaded the same plugins at the same places, finds their names.
 */
#ifndef CORE_RUN_ENDING_CRASH_H
#define CORE_RUN_ENDING_CRASH_H

#include "run/board.h"

enum { CRASH_PLACE_BYTES = 224 };

/* From now on this process notes in `out` where it crashes, and then ends as it would have without. A signal that has a
 * handler already is left alone, as one is that gets another handler later; under a sanitizer all are. [main thread] */
void crash_watch(board_crash *out);

/* " in step (control.c:57)", or "" where that is not known; into `place`, which is returned. `signal`: that ended the
 * process. The names are looked for in a child: what is read are files of others. [the supervisor] */
const char *crash_say(const board_crash *of, int signal, char place[CRASH_PLACE_BYTES]);
/* Prints the callers of the function that was said last, for -v, once. */
void crash_tell_callers(void);

#endif
