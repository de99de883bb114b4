/* What the recorder loses: how much, and where. See recorder_internal.h. */
#include "recorder_internal.h"

/* Losses this close to each other are one place: about a millisecond, whatever the clock. */
#define SAME_PLACE_TICKS ((int64_t)1 << 21)
/* A signal handler may have interrupted the holder: then the place goes unnoted, and the merge says "somewhere". */
enum { MARKING_TRIES = 1000 };

static bool marking_begin(trace_room *self) {
  for (int i = 0; i < MARKING_TRIES; i++)
    if (!atomic_flag_test_and_set_explicit(&self->marking, memory_order_acquire)) return true;
  return false;
}
static void marking_end(trace_room *self) { atomic_flag_clear_explicit(&self->marking, memory_order_release); }

void recorder_lost(recorder *self, pd_loss loss, uint64_t count) {
  const recorder_thread *thread = thread_current.serial == self->serial ? thread_current.thread : NULL;
  const int64_t now = (int64_t)trace_clock_ticks(&self->clock);
  trace_room *room = self->room;
  if (atomic_load_explicit(&self->dead, memory_order_relaxed)) return; /* the room may be the parent's, too */
  atomic_fetch_add_explicit(&room->losses[loss], count, memory_order_relaxed);
  if (!count || !marking_begin(room)) return;
  (void)loss_marks_add(&room->marks, loss, thread ? thread->tid : LOSS_NO_THREAD, now, count, SAME_PLACE_TICKS);
  marking_end(room);
}

void recorder_take_marks(recorder *self, loss_marks *marks) {
  if (marks) marks->count = 0;
  if (!marking_begin(self->room)) return;
  if (marks) *marks = self->room->marks;
  self->room->marks.count = 0;
  marking_end(self->room);
}
