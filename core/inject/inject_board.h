/* What this process says of itself on the board: who it is, and how far the recording is. [the collector's thread, or
 * the one that initialises CUDA] */
#ifndef CORE_INJECT_INJECT_BOARD_H
#define CORE_INJECT_INJECT_BOARD_H

#include "capture/record_board.h"

#include <pdhost/plugin.h>

typedef struct inject_board {
  record_board *board;
  record_slot *slot; /* the process's own memory until a slot of the board is taken */
  record_slot own;
  uint32_t number; /* of the board's slot */
  char folder[256];
} inject_board;

/* Maps the board that the environment names. False: this process is not to be recorded. */
bool inject_board_open(inject_board *self);
/* Takes a slot of the board, which the process keeps. Once it has one it does nothing. False: all are taken. */
bool inject_board_take(inject_board *self);

/* Whether the process that records has ended without a word, as one that was killed. Does not wait. */
bool inject_board_is_orphan(const inject_board *self);

record_order inject_board_order(const inject_board *self);
/* Without a slot of the board it is not seen. */
void inject_board_state(const inject_board *self, record_state state);
/* All that was done until then, in CLOCK_REALTIME, is in the ring. */
void inject_board_whole(const inject_board *self, int64_t until_ns);
/* It will not be recorded. Half of the slots are kept for processes that are. */
void inject_board_refuse(inject_board *self, record_cause cause, const char *format, ...) PD_PRINTF(3, 4);

#endif
