/* The folder in shared memory through which the recorded processes are heard: the board, and their rings. [loop thread]
 */
#ifndef CORE_RECORD_RECORD_SESSION_H
#define CORE_RECORD_RECORD_SESSION_H

#include "base/error.h"
#include "capture/record_board.h"

typedef struct record_session {
  record_board *board; /* NULL: not open */
  int lock;            /* the board's file; its lock goes with this process and those that it forks */
  char folder[256];
} record_session;

/* Removes folders that killed processes of this user have left, too. `cupti`: the file of the library to use where the
 * program has none; NULL: any. */
pd_status record_session_open(record_session *self, const char *cupti, error *err);
/* Removes the folder; processes that still have parts of it mapped keep them. */
void record_session_close(record_session *self);

void record_session_order(record_session *self, record_order order);
/* How many slots are in use. */
uint32_t record_session_count(const record_session *self);
/* How many processes have initialised CUDA. */
uint32_t record_session_begun(const record_session *self);
/* How many of them cannot be recorded. */
uint32_t record_session_refused(const record_session *self);
/* How many found no slot. */
uint32_t record_session_beyond(const record_session *self);
static inline record_state record_slot_state(const record_slot *slot) {
  return (record_state)atomic_load_explicit(&slot->state, memory_order_acquire);
}

#endif
