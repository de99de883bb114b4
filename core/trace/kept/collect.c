/* See collect.h. */
#include "collect.h"

#include "trace/recorder_internal.h"

#include <stdlib.h>
#include <string.h>

/* What may go: everything older than the oldest that an open range still needs, and never the youngest, whose range
 * may be about to open. */
static uint64_t droppable(uint64_t count, uint64_t oldest_needed) {
  uint64_t most = count ? count - 1 : 0;
  return oldest_needed < most ? oldest_needed : most;
}

/* Drops infos, their shapes, and stacks that no open range needs. */
static pd_status drop_details(recorder_thread *self, const collected *taken) {
  const open_look *look = &taken->look;
  uint64_t info_needed = UINT64_MAX, stack_needed = UINT64_MAX, shape_end = 0;
  for (uint32_t i = 0; i < look->count; i++) {
    uint32_t info = index_unpack(look->ranges[i].info, self->infos.taken);
    uint32_t stack = index_unpack(look->ranges[i].stack, self->stacks.taken);
    if (info < info_needed && info != PD_NONE) info_needed = info;
    if (stack < stack_needed && stack != PD_NONE) stack_needed = stack;
  }
  uint64_t infos = droppable(taken->infos, info_needed);
  if (infos) {
    raw_info *gone = trace_scratch_alloc(infos, sizeof *gone);
    if (!gone) return PD_NO_MEMORY;
    chunk_list_copy(&self->infos, gone, infos);
    for (uint64_t i = infos; i-- > 0 && !shape_end;)
      if (gone[i].shape_count)
        shape_end = (uint64_t)index_unpack(gone[i].shape_first, self->shapes.taken) + gone[i].shape_count;
    free(gone);
    chunk_list_drop(&self->shapes, shape_end);
    chunk_list_drop(&self->infos, infos);
  }
  chunk_list_drop(&self->stacks, droppable(taken->stacks, stack_needed));
  return PD_OK;
}

static int compare_ids(const void *a, const void *b) {
  uint64_t first = *(const uint64_t *)a, second = *(const uint64_t *)b;
  return first < second ? -1 : first > second;
}

static int compare_threads(const void *a, const void *b) {
  const window_thread *first = a, *second = b;
  return first->tid < second->tid ? -1 : first->tid > second->tid;
}

void raw_window_sort(window_input *input, uint64_t *earlier) {
  qsort(input->threads, input->thread_count, sizeof *input->threads, compare_threads);
  if (input->earlier_count) qsort(earlier, input->earlier_count, sizeof *earlier, compare_ids);
}

void raw_window_thread_free(window_thread *thread) {
  free(thread->ranges);
  free(thread->infos);
  free(thread->shapes);
  free(thread->stacks);
  free(thread->memory);
  free(thread->counters);
}

void collect_look(const recorder_thread *self, collected *out) {
  out->infos = chunk_list_count(&self->infos);
  out->stacks = chunk_list_count(&self->stacks);
  open_look_take(self, &out->look);
  out->ranges = chunk_list_count(&self->ranges);
  out->memory = chunk_list_count(&self->memory);
  out->counters = chunk_list_count(&self->counters);
}

/* Copies the first `count` of a list; `extra` more records of room. */
static pd_status copy_list(const chunk_list *self, uint64_t count, uint64_t extra, void *out_rows) {
  void **out = out_rows;
  *out = trace_scratch_alloc(count + extra, self->record_bytes);
  if (!*out) return PD_NO_MEMORY;
  chunk_list_copy(self, *out, count);
  return PD_OK;
}

/* Turns the packed running indices into indices of the copies. */
static void unpack_indices(const recorder_thread *self, window_thread *out) {
  for (uint64_t i = 0; i < out->range_count; i++) {
    raw_range *range = &out->ranges[i];
    range->info = index_unpack(range->info, self->infos.taken);
    range->stack = index_unpack(range->stack, self->stacks.taken);
    if (range->info >= out->info_count) range->info = PD_NONE;
    if (range->stack >= out->stack_count) range->stack = PD_NONE;
  }
  for (uint64_t i = 0; i < out->info_count; i++) {
    raw_info *info = &out->infos[i];
    if (!info->shape_count) continue;
    info->shape_first = index_unpack(info->shape_first, self->shapes.taken);
    if ((uint64_t)info->shape_first + info->shape_count > out->shape_count) info->shape_count = 0;
  }
}

pd_status collect_thread(const recorder_thread *self, uint64_t end_ticks, window_thread *out, collected *taken) {
  out->tid = self->tid;
  out->name = atomic_load_explicit(&self->name, memory_order_relaxed);
  collect_look(self, taken);
  pd_status status = copy_list(&self->ranges, taken->ranges, taken->look.count, &out->ranges);
  if (status != PD_OK) return status;
  out->range_count = taken->ranges;
  open_look_append(&taken->look, end_ticks, out);
/* After the ranges: what a range refers to was published before it. */
#define COPY(rows, n)                                                                                                  \
  if (status == PD_OK) {                                                                                               \
    out->n = chunk_list_count(&self->rows);                                                                            \
    status = copy_list(&self->rows, out->n, 0, &out->rows);                                                            \
  }
  COPY(infos, info_count)
  COPY(shapes, shape_count)
  COPY(stacks, stack_count)
  COPY(memory, memory_count)
  COPY(counters, counter_count)
#undef COPY
  if (status != PD_OK) return status;
  taken->memory = out->memory_count;
  taken->counters = out->counter_count;
  unpack_indices(self, out);
  return PD_OK;
}

pd_status collect_drop(recorder_thread *self, const collected *taken) {
  chunk_list_drop(&self->ranges, taken->ranges);
  chunk_list_drop(&self->memory, taken->memory);
  chunk_list_drop(&self->counters, taken->counters);
  return drop_details(self, taken);
}

/* Room for `to` rows in place of `from`; like realloc, but for large rooms. */
static bool grow(void *rows_at, uint64_t from, uint64_t to, size_t bytes_each) {
  void **rows = rows_at;
  void *grown = trace_scratch_alloc(to, bytes_each);
  if (!grown) return false;
  if (from) memcpy(grown, *rows, from * bytes_each);
  free(*rows);
  *rows = grown;
  return true;
}

pd_status collect_activities(recorder_thread *const *threads, uint64_t count, raw_call **calls, uint64_t *call_count,
                             raw_device **devices, uint64_t *device_count, activity_counts *sizes) {
  uint64_t all_calls = *call_count, all_devices = *device_count;
  for (uint64_t i = 0; i < count; i++) {
    sizes[i] = (activity_counts){chunk_list_count(&threads[i]->calls), chunk_list_count(&threads[i]->devices)};
    all_calls += sizes[i].calls;
    all_devices += sizes[i].devices;
  }
  if (!grow(calls, *call_count, all_calls, sizeof **calls)) return PD_NO_MEMORY;
  if (!grow(devices, *device_count, all_devices, sizeof **devices)) return PD_NO_MEMORY;
  for (uint64_t i = 0; i < count; i++) {
    chunk_list_copy(&threads[i]->calls, *calls + *call_count, sizes[i].calls);
    chunk_list_copy(&threads[i]->devices, *devices + *device_count, sizes[i].devices);
    *call_count += sizes[i].calls;
    *device_count += sizes[i].devices;
  }
  return PD_OK;
}

void collect_drop_activities(recorder_thread *const *threads, uint64_t count, const activity_counts *sizes) {
  for (uint64_t i = 0; i < count; i++) {
    chunk_list_drop(&threads[i]->calls, sizes[i].calls);
    chunk_list_drop(&threads[i]->devices, sizes[i].devices);
  }
}
