/* What the files of the merge ask of it while it goes on. See merge.h. */
#include "merge.h"

#include "trace_memory.h"

/* Losses this close to each other are one place. */
#define SAME_PLACE_NS 1000000

static int64_t ticks_whole_ns(const merging *self, uint64_t ticks) {
  return trace_clock_from_ticks(self->input->clock, ticks) - self->base_ns;
}

static int64_t realtime_whole_ns(const merging *self, int64_t realtime_ns) {
  return trace_clock_from_realtime(self->input->clock, realtime_ns) - self->base_ns;
}

pd_status merge_find_pauses(merging *self) {
  const window_input *input = self->input;
  uint64_t count = 0;
  int64_t sum_ns = 0;
  for (uint64_t i = 1; i < input->step_count; i++) count += input->steps[i].start_ticks > input->steps[i - 1].end_ticks;
  self->pauses = trace_scratch_alloc(count, sizeof *self->pauses);
  if (!self->pauses) return PD_NO_MEMORY;
  for (uint64_t i = 1; i < input->step_count; i++) {
    const recorder_step *before = &input->steps[i - 1], *step = &input->steps[i];
    if (step->start_ticks <= before->end_ticks) continue;
    const int64_t start_ns = ticks_whole_ns(self, before->end_ticks), end_ns = ticks_whole_ns(self, step->start_ticks);
    sum_ns += end_ns - start_ns;
    self->pauses[self->pause_count++] = (merge_pause){start_ns, end_ns, sum_ns};
  }
  return PD_OK;
}

/* The first pause that ends after `at_ns`; pause_count: none does. */
static uint64_t next_pause(const merging *self, int64_t at_ns) {
  uint64_t low = 0, high = self->pause_count;
  while (low < high) {
    const uint64_t middle = low + (high - low) / 2;
    if (self->pauses[middle].end_ns > at_ns)
      high = middle;
    else
      low = middle + 1;
  }
  return low;
}

/* A time as if there were no pauses: all of one is where it begins. */
static int64_t without_pauses(const merging *self, int64_t at_ns) {
  if (!self->pause_count) return at_ns;
  const uint64_t next = next_pause(self, at_ns);
  const int64_t before_ns = next ? self->pauses[next - 1].sum_ns : 0;
  if (next < self->pause_count && at_ns > self->pauses[next].start_ns) at_ns = self->pauses[next].start_ns;
  return at_ns - before_ns;
}

static bool is_paused(const merging *self, int64_t start_ns, int64_t end_ns) {
  const uint64_t next = next_pause(self, start_ns);
  return next < self->pause_count && start_ns >= self->pauses[next].start_ns && end_ns <= self->pauses[next].end_ns;
}

bool merge_is_paused(const merging *self, uint64_t start_ticks, uint64_t end_ticks) {
  return self->pause_count && is_paused(self, ticks_whole_ns(self, start_ticks), ticks_whole_ns(self, end_ticks));
}

bool merge_is_paused_at(const merging *self, uint32_t clock, int64_t stamp) {
  if (!self->pause_count) return false;
  const int64_t at_ns =
      clock == PD_CLOCK_TICKS ? ticks_whole_ns(self, (uint64_t)stamp) : realtime_whole_ns(self, stamp);
  return is_paused(self, at_ns, at_ns);
}

int64_t merge_ticks_ns(const merging *self, uint64_t ticks) {
  return without_pauses(self, ticks_whole_ns(self, ticks));
}

int64_t merge_realtime_ns(const merging *self, int64_t realtime_ns) {
  return without_pauses(self, realtime_whole_ns(self, realtime_ns));
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
