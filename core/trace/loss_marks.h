/*
 * Where something was lost: a short list of places, one per kind, thread and moment. Losses of a kind on a thread that
 * follow each other closely are one place. A full list widens the last place of the kind, so nothing goes uncounted.
 */
#ifndef CORE_TRACE_LOSS_MARKS_H
#define CORE_TRACE_LOSS_MARKS_H

#include <pdhost/record.h>

enum { LOSS_MARKS = 256, LOSS_NO_THREAD = 0 };

typedef struct loss_mark {
  int64_t first, last; /* in the list's unit of time */
  uint64_t count;
  pd_loss loss;
  uint32_t tid; /* LOSS_NO_THREAD: of no one thread */
} loss_mark;

typedef struct loss_marks {
  uint32_t count;
  uint32_t reserved;
  loss_mark rows[LOSS_MARKS];
} loss_marks;

/* Notes `count` losses at `at`; those within `gap` of each other are one place. False: the list is full and has no
 * place of the kind to widen. */
bool loss_marks_add(loss_marks *self, pd_loss loss, uint32_t tid, int64_t at, uint64_t count, int64_t gap);

#endif
