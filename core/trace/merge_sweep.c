/* Which range holds a moment: one pass over all threads' ranges. Part of merge.h. */
#include "merge.h"

#include <stdlib.h>

/* Of one thread: the ranges that hold the time reached, outermost first. Rows are sorted and properly nested, so what
 * has ended is always on top. */
typedef struct sweep_thread {
  uint64_t next, end;
  uint32_t *open;
  uint32_t top;
} sweep_thread;

struct range_sweep {
  const pd_range *ranges;
  sweep_thread *threads;
  uint32_t *open;
};

pd_status sweep_open(const merging *merge, range_sweep **out) {
  uint64_t room = 0;
  range_sweep *sweep = calloc(1, sizeof *sweep);
  *out = NULL;
  if (!sweep) return PD_NO_MEMORY;
  sweep->ranges = merge->ranges;
  sweep->threads = scratch_alloc(merge->thread_count, sizeof *sweep->threads);
  if (!sweep->threads) goto fail;
  for (uint64_t i = 0; i < merge->thread_count; i++) {
    const merge_thread *thread = &merge->threads[i];
    uint32_t deepest = 0;
    for (uint64_t k = thread->range_first; k < thread->range_first + thread->range_count; k++)
      if (sweep->ranges[k].depth > deepest) deepest = sweep->ranges[k].depth;
    sweep->threads[i] = (sweep_thread){
        .next = thread->range_first, .end = thread->range_first + thread->range_count, .top = deepest + 2};
    room += deepest + 2;
  }
  sweep->open = scratch_alloc(room, sizeof *sweep->open);
  if (!sweep->open) goto fail;
  uint32_t *open = sweep->open;
  for (uint64_t i = 0; i < merge->thread_count; i++) {
    sweep->threads[i].open = open;
    open += sweep->threads[i].top;
    sweep->threads[i].top = 0;
  }
  *out = sweep;
  return PD_OK;
fail:
  sweep_close(sweep);
  return PD_NO_MEMORY;
}

void sweep_close(range_sweep *sweep) {
  if (!sweep) return;
  free(sweep->threads);
  free(sweep->open);
  free(sweep);
}

static void close_ended(const range_sweep *sweep, sweep_thread *at, int64_t time_ns) {
  while (at->top && sweep->ranges[at->open[at->top - 1]].end_ns <= time_ns) at->top--;
}

uint32_t sweep_at(range_sweep *sweep, uint32_t thread, int64_t time_ns) {
  sweep_thread *at = &sweep->threads[thread];
  for (; at->next < at->end && sweep->ranges[at->next].start_ns <= time_ns; at->next++) {
    if (sweep->ranges[at->next].end_ns <= time_ns) continue;
    close_ended(sweep, at, sweep->ranges[at->next].start_ns);
    at->open[at->top++] = (uint32_t)at->next;
  }
  close_ended(sweep, at, time_ns);
  return at->top ? at->open[at->top - 1] : PD_NONE;
}
