/* Which range holds a moment: one pass over all threads' ranges. Part of merge.h. */
#include "merge.h"

#include <stdlib.h>

/* One thread's ranges that hold the time reached, outermost first. Rows are sorted and properly nested, so what has
 * ended is always on top. */
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

pd_status merge_sweep_open(const merging *self, range_sweep **out) {
  uint64_t room = 0;
  range_sweep *sweep = calloc(1, sizeof *sweep);
  *out = NULL;
  if (!sweep) return PD_NO_MEMORY;
  sweep->ranges = self->ranges;
  sweep->threads = trace_scratch_alloc(self->thread_count, sizeof *sweep->threads);
  if (!sweep->threads) goto fail;
  for (uint64_t i = 0; i < self->thread_count; i++) {
    const merge_thread *thread = &self->threads[i];
    uint32_t deepest = 0;
    for (uint64_t k = thread->range_first; k < thread->range_first + thread->range_count; k++)
      if (sweep->ranges[k].depth > deepest) deepest = sweep->ranges[k].depth;
    sweep->threads[i] = (sweep_thread){
        .next = thread->range_first, .end = thread->range_first + thread->range_count, .top = deepest + 2};
    room += deepest + 2;
  }
  sweep->open = trace_scratch_alloc(room, sizeof *sweep->open);
  if (!sweep->open) goto fail;
  uint32_t *open = sweep->open;
  for (uint64_t i = 0; i < self->thread_count; i++) {
    sweep->threads[i].open = open;
    open += sweep->threads[i].top;
    sweep->threads[i].top = 0;
  }
  *out = sweep;
  return PD_OK;
fail:
  merge_sweep_close(sweep);
  return PD_NO_MEMORY;
}

void merge_sweep_close(range_sweep *self) {
  if (!self) return;
  free(self->threads);
  free(self->open);
  free(self);
}

static void close_ended(const range_sweep *self, sweep_thread *at, int64_t time_ns) {
  while (at->top && self->ranges[at->open[at->top - 1]].end_ns <= time_ns) at->top--;
}

uint32_t merge_sweep_at(range_sweep *self, uint32_t thread, int64_t time_ns) {
  sweep_thread *at = &self->threads[thread];
  for (; at->next < at->end && self->ranges[at->next].start_ns <= time_ns; at->next++) {
    if (self->ranges[at->next].end_ns <= time_ns) continue;
    close_ended(self, at, self->ranges[at->next].start_ns);
    at->open[at->top++] = (uint32_t)at->next;
  }
  close_ended(self, at, time_ns);
  return at->top ? at->open[at->top - 1] : PD_NONE;
}
