/* This process's slot of the board: who it is, and how far the recording is. [the collector's thread, or the one that
 * initialises CUDA] */
#ifndef CORE_INJECT_INJECT_BOARD_H
#define CORE_INJECT_INJECT_BOARD_H

#include "capture/record_board.h"

#include <pdhost/plugin.h>

typedef struct inject_board {
  record_board *board;
  record_slot *slot;
  uint32_t number; /* of the slot */
  char folder[256];
} inject_board;

/* Maps the board that the environment names and takes a slot. False: nobody wants this process recorded, or the slots
 * are all taken. */
bool inject_board_open(inject_board *self);

record_order inject_board_order(const inject_board *self);
void inject_board_state(const inject_board *self, record_state state);
/* All that was done until then, in CLOCK_REALTIME, is in the ring. */
void inject_board_whole(const inject_board *self, int64_t until_ns);
/* It will not be recorded. */
void inject_board_refuse(const inject_board *self, record_cause cause, const char *format, ...) PD_PRINTF(3, 4);

#endif
