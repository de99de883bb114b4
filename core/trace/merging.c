/* What the files of the merge ask of it while it goes on. See merge.h. */
#include "merge.h"

/* Losses this close to each other are one place. */
#define SAME_PLACE_NS 1000000

int64_t merge_ticks_ns(const merging *merge, uint64_t ticks) {
  return trace_clock_from_ticks(merge->input->clock, ticks) - merge->base_ns;
}

uint32_t merge_find_thread(const merging *merge, uint32_t tid) {
  if (merge->thread_count && merge->threads[0].tid == tid) return 0;
  uint64_t low = 1, high = merge->thread_count;
  while (low < high) {
    uint64_t middle = low + (high - low) / 2;
    if (merge->threads[middle].tid < tid)
      low = middle + 1;
    else
      high = middle;
  }
  return low < merge->thread_count && merge->threads[low].tid == tid ? (uint32_t)low : PD_NONE;
}

uint32_t step_at(step_cursor *cursor, int64_t time_ns) {
  while (cursor->next < cursor->count && cursor->steps[cursor->next].end_ns <= time_ns) cursor->next++;
  bool inside = cursor->next < cursor->count && cursor->steps[cursor->next].start_ns <= time_ns;
  return inside ? (uint32_t)cursor->next : PD_NONE;
}

void merge_lost(merging *merge, pd_loss loss, uint32_t tid, int64_t at_ns) {
  merge->losses[loss]++;
  if (at_ns != MERGE_NO_TIME) (void)loss_marks_add(&merge->marks, loss, tid, at_ns, 1, SAME_PLACE_NS);
}
