/* Places of losses; see loss_marks.h. */
#include "loss_marks.h"

bool loss_marks_add(loss_marks *self, pd_loss loss, uint32_t tid, int64_t at, uint64_t count, int64_t gap) {
  loss_mark *same = NULL, *kind = NULL;
  for (uint32_t i = self->count; i-- > 0 && !same;) {
    loss_mark *row = &self->rows[i];
    if (row->loss != loss) continue;
    if (!kind) kind = row;
    if (row->tid == tid) same = row;
  }
  const bool near = same && at >= same->first - gap && at <= same->last + gap;
  if (!near && self->count < LOSS_MARKS) {
    self->rows[self->count++] = (loss_mark){.first = at, .last = at, .count = count, .loss = loss, .tid = tid};
    return true;
  }
  loss_mark *wider = same ? same : kind;
  if (!wider) return false;
  wider->count += count;
  if (at < wider->first) wider->first = at;
  if (at > wider->last) wider->last = at;
  if (wider->tid != tid) wider->tid = LOSS_NO_THREAD;
  return true;
}
