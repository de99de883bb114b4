/* What a run that died had not written to its capture. */
#ifndef CORE_RUN_WRITING_RESCUE_H
#define CORE_RUN_WRITING_RESCUE_H

#include "run/board.h"

/* Completes the capture that the board names by what the board and its room still hold: steps, and the window that was
 * open. Nobody else writes to it any more. Prints what is missing. */
void rescue_capture(const board *from);

#endif
