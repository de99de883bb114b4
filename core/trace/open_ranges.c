/* A thread's open ranges, from outside. See open_ranges.h. */
#include "open_ranges.h"

void open_look_take(const recorder_thread *self, open_look *look) {
  look->count = 0;
  look->finished = chunk_list_count(&self->ranges);
  for (uint32_t depth = 0; depth < THREAD_MAX_DEPTH; depth++) {
    const open_range *open = &self->open[depth];
    uint64_t start = atomic_load_explicit(&open->start, memory_order_acquire);
    if (!start) return;
    uint64_t name_kind = atomic_load_explicit(&open->name_kind, memory_order_acquire);
    uint64_t info_stack = atomic_load_explicit(&open->info_stack, memory_order_acquire);
    /* Closed meanwhile: then it is in the list of finished ranges, which is read after this. */
    if (atomic_load_explicit(&open->start, memory_order_acquire) != start) return;
    look->ranges[look->count++] = (raw_range){.start = start,
                                              .name = (uint32_t)(name_kind >> 32),
                                              .kind = (uint16_t)name_kind,
                                              .depth = (uint16_t)depth,
                                              .info = (uint32_t)(info_stack >> 32),
                                              .stack = (uint32_t)info_stack};
  }
}

void open_look_append(const open_look *look, uint64_t end_ticks, window_thread *out) {
  /* A thread reads the clock, publishes the range and clears its place, and may be held up between any two of these.
   * So a range that ended can bear an end before the window's, and only its start tells that it is the one looked at.
   * The newest range that was published before the look may be one whose place was not cleared yet. */
  bool ended[THREAD_MAX_DEPTH] = {false};
  const uint64_t first = look->finished ? look->finished - 1 : 0;
  uint64_t count = out->range_count;
  for (uint64_t i = first; i < count; i++) {
    const raw_range *range = &out->ranges[i];
    if (range->depth < look->count && range->start == look->ranges[range->depth].start) ended[range->depth] = true;
  }
  for (uint32_t i = look->count; i-- > 0;) {
    if (look->ranges[i].start >= end_ticks || ended[i]) continue;
    out->ranges[count] = look->ranges[i];
    out->ranges[count++].end = end_ticks;
  }
  out->range_count = count;
}
