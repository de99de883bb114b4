/* What the files of the merge ask of it while it goes on. See merge.h. */
#include "merge.h"

/* Losses this close to each other are one place. */
#define SAME_PLACE_NS 1000000

int64_t merge_ticks_ns(const merging *self, uint64_t ticks) {
  return trace_clock_from_ticks(self->input->clock, ticks) - self->base_ns;
}

uint32_t merge_find_thread(const merging *self, uint32_t tid) {
  if (self->thread_count && self->threads[0].tid == tid) return 0;
  uint64_t low = 1, high = self->thread_count;
  while (low < high) {
    uint64_t middle = low + (high - low) / 2;
    if (self->threads[middle].tid < tid)
      low = middle + 1;
    else
      high = middle;
  }
  return low < self->thread_count && self->threads[low].tid == tid ? (uint32_t)low : PD_NONE;
}

uint32_t merge_step_at(step_cursor *self, int64_t time_ns) {
  while (self->next < self->count && self->steps[self->next].end_ns <= time_ns) self->next++;
  bool inside = self->next < self->count && self->steps[self->next].start_ns <= time_ns;
  return inside ? (uint32_t)self->next : PD_NONE;
}

void merge_lost(merging *self, pd_loss loss, uint32_t tid, int64_t at_ns) {
  self->losses[loss]++;
  if (at_ns != MERGE_NO_TIME) (void)loss_marks_add(&self->marks, loss, tid, at_ns, 1, SAME_PLACE_NS);
}
