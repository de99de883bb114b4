/* What a run that died had not written to its capture. */
#ifndef CORE_RUN_ENDING_RESCUE_H
#define CORE_RUN_ENDING_RESCUE_H

#include "run/board.h"

/* Completes the capture that the board names by what the board and `room` still hold: steps, and the window that was
 * open; NULL: there is none. No other process writes to it any more. A process that died may have left anything in the
 * room: a child reads it, and what becomes of that does no harm. Prints what is missing. */
void rescue_capture(const board *from, trace_room *room);

#endif
