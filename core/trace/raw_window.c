/*
 * The recorder's windows: begins them, collects what the threads recorded, ends them. [loop thread]
 *
 * Threads go on recording meanwhile. What they publish before the look at their lists belongs to this window if its
 * time does; the rest waits for the next one.
 */
#include "raw_window.h"
#include "merge.h"
#include "open_ranges.h"
#include "raw_window_names.h"
#include "recorder_internal.h"
#include "saved_window.h"
#include "trace/stacks/stacks.h"

#include <pdhost/array.h>

#include <pthread.h>
#include <stdlib.h>
#include <string.h>
#include <sys/syscall.h>
#include <unistd.h>

enum { SETTLE_NS = 10000000 /* calls younger than this are judged at the window's end, when its start is known */ };

/* What may go: everything older than the oldest that an open range still needs, and never the youngest, whose range
 * may be about to open. */
static uint64_t droppable(uint64_t count, uint64_t oldest_needed) {
  uint64_t most = count ? count - 1 : 0;
  return oldest_needed < most ? oldest_needed : most;
}

/* Drops infos, their shapes, and stacks that no open range needs. `info_count` and `stack_count` were read before
 * the look. */
static pd_status drop_details(recorder_thread *thread, const open_look *look, uint64_t info_count,
                              uint64_t stack_count) {
  uint64_t info_needed = UINT64_MAX, stack_needed = UINT64_MAX, shape_end = 0;
  for (uint32_t i = 0; i < look->count; i++) {
    uint32_t info = index_unpack(look->ranges[i].info, thread->infos.taken);
    uint32_t stack = index_unpack(look->ranges[i].stack, thread->stacks.taken);
    if (info < info_needed && info != PD_NONE) info_needed = info;
    if (stack < stack_needed && stack != PD_NONE) stack_needed = stack;
  }
  uint64_t infos = droppable(info_count, info_needed);
  if (infos) {
    raw_info *gone = scratch_alloc(infos, sizeof *gone);
    if (!gone) return PD_NO_MEMORY;
    chunk_list_copy(&thread->infos, gone, infos);
    for (uint64_t i = infos; i-- > 0 && !shape_end;)
      if (gone[i].shape_count)
        shape_end = (uint64_t)index_unpack(gone[i].shape_first, thread->shapes.taken) + gone[i].shape_count;
    free(gone);
    chunk_list_drop(&thread->shapes, shape_end);
    chunk_list_drop(&thread->infos, infos);
  }
  chunk_list_drop(&thread->stacks, droppable(stack_count, stack_needed));
  return PD_OK;
}

void window_thread_free(window_thread *thread) {
  free(thread->ranges);
  free(thread->infos);
  free(thread->shapes);
  free(thread->stacks);
  free(thread->memory);
  free(thread->counters);
}

/* Copies what a list holds now; `extra` more records of room. */
static pd_status copy_list(const chunk_list *list, uint64_t extra, void **out, uint64_t *count) {
  *count = chunk_list_count(list);
  *out = scratch_alloc(*count + extra, list->record_bytes);
  if (!*out) return PD_NO_MEMORY;
  chunk_list_copy(list, *out, *count);
  return PD_OK;
}

/* Turns the packed running indices into indices of the copies. */
static void unpack_indices(const recorder_thread *thread, window_thread *out) {
  for (uint64_t i = 0; i < out->range_count; i++) {
    raw_range *range = &out->ranges[i];
    range->info = index_unpack(range->info, thread->infos.taken);
    range->stack = index_unpack(range->stack, thread->stacks.taken);
    if (range->info >= out->info_count) range->info = PD_NONE;
    if (range->stack >= out->stack_count) range->stack = PD_NONE;
  }
  for (uint64_t i = 0; i < out->info_count; i++) {
    raw_info *info = &out->infos[i];
    if (!info->shape_count) continue;
    info->shape_first = index_unpack(info->shape_first, thread->shapes.taken);
    if ((uint64_t)info->shape_first + info->shape_count > out->shape_count) info->shape_count = 0;
  }
}

static pd_status collect_thread(recorder_thread *thread, uint64_t end_ticks, window_thread *out) {
  open_look look;
  void *rows = NULL;
  uint64_t info_count = chunk_list_count(&thread->infos), stack_count = chunk_list_count(&thread->stacks);
  out->tid = thread->tid;
  out->name = atomic_load_explicit(&thread->name, memory_order_relaxed);
  open_look_take(thread, &look);
  pd_status status = copy_list(&thread->ranges, look.count, &rows, &out->range_count);
  out->ranges = rows;
  if (status != PD_OK) return status;
  uint64_t finished = out->range_count;
  open_look_append(&look, end_ticks, out);
  /* After the ranges: what a range refers to was published before it. */
  status = copy_list(&thread->infos, 0, &rows, &out->info_count);
  out->infos = rows;
  if (status != PD_OK) return status;
  status = copy_list(&thread->shapes, 0, &rows, &out->shape_count);
  out->shapes = rows;
  if (status != PD_OK) return status;
  status = copy_list(&thread->stacks, 0, &rows, &out->stack_count);
  out->stacks = rows;
  if (status != PD_OK) return status;
  status = copy_list(&thread->memory, 0, &rows, &out->memory_count);
  out->memory = rows;
  if (status != PD_OK) return status;
  status = copy_list(&thread->counters, 0, &rows, &out->counter_count);
  out->counters = rows;
  if (status != PD_OK) return status;
  unpack_indices(thread, out);
  chunk_list_drop(&thread->ranges, finished);
  chunk_list_drop(&thread->memory, out->memory_count);
  chunk_list_drop(&thread->counters, out->counter_count);
  return drop_details(thread, &look, info_count, stack_count);
}

/* Room for `to` rows in place of `from`; like realloc, but for large rooms. */
static void *grow(void *rows, uint64_t from, uint64_t to, size_t bytes_each) {
  void *grown = scratch_alloc(to, bytes_each);
  if (!grown) return NULL;
  if (from) memcpy(grown, rows, from * bytes_each);
  free(rows);
  return grown;
}

/* Moves the calls and device records that have arrived from all threads to the recorder. */
static pd_status take_activities(recorder *self, recorder_thread **threads, uint64_t count) {
  uint64_t calls = self->call_count, devices = self->device_count;
  pd_status status = PD_NO_MEMORY;
  uint64_t *sizes = scratch_alloc(count, 2 * sizeof *sizes);
  if (!sizes) return status;
  for (uint64_t i = 0; i < count; i++) {
    calls += sizes[2 * i] = chunk_list_count(&threads[i]->calls);
    devices += sizes[2 * i + 1] = chunk_list_count(&threads[i]->devices);
  }
  void *grown = grow(self->calls, self->call_count, calls, sizeof *self->calls);
  if (!grown) goto out;
  self->calls = grown;
  grown = grow(self->devices, self->device_count, devices, sizeof *self->devices);
  if (!grown) goto out;
  self->devices = grown;
  for (uint64_t i = 0; i < count; i++) {
    chunk_list_copy(&threads[i]->calls, self->calls + self->call_count, sizes[2 * i]);
    chunk_list_drop(&threads[i]->calls, sizes[2 * i]);
    self->call_count += sizes[2 * i];
    chunk_list_copy(&threads[i]->devices, self->devices + self->device_count, sizes[2 * i + 1]);
    chunk_list_drop(&threads[i]->devices, sizes[2 * i + 1]);
    self->device_count += sizes[2 * i + 1];
  }
  status = PD_OK;
out:
  free(sizes);
  return status;
}

static int64_t age_ns(const recorder *self, uint32_t clock, int64_t stamp, int64_t now_ns) {
  return now_ns - (clock == PD_CLOCK_TICKS ? trace_clock_from_ticks(&self->clock, (uint64_t)stamp)
                                           : trace_clock_from_realtime(&self->clock, stamp));
}

/* Before a window: of calls that are certainly older only the correlation id is kept, so that their device records,
 * which may still come, are known for what they are. */
static pd_status settle(recorder *self) {
  int64_t now_ns = trace_clock_from_ticks(&self->clock, trace_clock_ticks(&self->clock));
  uint64_t kept = 0;
  if (!PD_ARRAY_FIT(self->earlier, self->earlier_room, self->earlier_count + self->call_count)) return PD_NO_MEMORY;
  for (uint64_t i = 0; i < self->call_count; i++) {
    const raw_call *call = &self->calls[i];
    if (age_ns(self, call->clock, call->start, now_ns) < SETTLE_NS)
      self->calls[kept++] = *call;
    else if (call->correlation)
      self->earlier[self->earlier_count++] = call->correlation;
  }
  self->call_count = kept;
  kept = 0;
  for (uint64_t i = 0; i < self->device_count; i++) {
    const raw_device *device = &self->devices[i];
    if (age_ns(self, device->clock, device->activity.start, now_ns) < SETTLE_NS) self->devices[kept++] = *device;
  }
  self->device_count = kept;
  return PD_OK;
}

/* Forgets what was recorded so far, but ranges still open and device records that may be needed. */
static pd_status discard(recorder *self) {
  recorder_thread **threads = NULL;
  open_look look;
  uint64_t count;
  pd_status status = threads_list(self, &threads, &count);
  if (status != PD_OK) return status;
  for (uint64_t i = 0; status == PD_OK && i < count; i++) {
    recorder_thread *thread = threads[i];
    uint64_t info_count = chunk_list_count(&thread->infos), stack_count = chunk_list_count(&thread->stacks);
    open_look_take(thread, &look);
    chunk_list_drop(&thread->ranges, chunk_list_count(&thread->ranges));
    chunk_list_drop(&thread->memory, chunk_list_count(&thread->memory));
    chunk_list_drop(&thread->counters, chunk_list_count(&thread->counters));
    status = drop_details(thread, &look, info_count, stack_count);
  }
  if (status == PD_OK) status = take_activities(self, threads, count);
  if (status == PD_OK) status = settle(self);
  free(threads);
  if (status == PD_OK) threads_sweep(self);
  return status;
}

void recorder_enable(recorder *self, bool on) {
  if (atomic_load_explicit(&self->dead, memory_order_relaxed)) return;
  /* Makes room after a long wait. Where there is no memory for it, window_begin will say so. */
  if (on && !self->in_window) (void)discard(self);
  __atomic_store_n(&self->enabled, on ? 1 : 0, __ATOMIC_RELAXED);
}

pd_status recorder_window_begin(recorder *self, uint32_t window) {
  self->in_window = false;
  if (atomic_load_explicit(&self->dead, memory_order_relaxed)) return PD_INVALID;
  pd_status status = trace_clock_window_begin(&self->clock);
  if (status == PD_OK) status = discard(self);
  if (status != PD_OK) return status;
  for (int i = 0; i < PD_LOSS_COUNT; i++) atomic_store_explicit(&self->losses[i], 0, memory_order_relaxed);
  recorder_take_marks(self, NULL);
  if (self->options.with_stack) stack_prepare();
  self->step_count = 0;
  self->window = window;
  self->loop_tid = (uint32_t)syscall(SYS_gettid);
  self->begin_ticks = trace_clock_ticks(&self->clock);
  self->in_window = true;
  return PD_OK;
}

void recorder_save_to(recorder *self, struct capture_writer *capture) { self->capture = capture; }

pd_status recorder_step_done(recorder *self, const recorder_step *step) {
  if (!self->in_window || step->end_ticks < step->start_ticks) return PD_INVALID;
  if (self->step_count && step->start_ticks < self->steps[self->step_count - 1].end_ticks) return PD_INVALID;
  if (!PD_ARRAY_FIT(self->steps, self->step_capacity, self->step_count + 1)) return PD_NO_MEMORY;
  self->steps[self->step_count++] = *step;
  return trace_clock_anchor(&self->clock);
}

static int compare_ids(const void *a, const void *b) {
  uint64_t first = *(const uint64_t *)a, second = *(const uint64_t *)b;
  return first < second ? -1 : first > second;
}

static int compare_threads(const void *a, const void *b) {
  const window_thread *first = a, *second = b;
  return first->tid < second->tid ? -1 : first->tid > second->tid;
}

/* Keeps the calls and device records of later windows. */
static void keep_later(recorder *self, const raw_fate *call_fates, const raw_fate *device_fates) {
  uint64_t kept = 0;
  for (uint64_t i = 0; i < self->call_count; i++)
    if (call_fates[i] == FATE_LATER) self->calls[kept++] = self->calls[i];
  self->call_count = kept;
  kept = 0;
  for (uint64_t i = 0; i < self->device_count; i++)
    if (device_fates[i] == FATE_LATER) self->devices[kept++] = self->devices[i];
  self->device_count = kept;
}

/* Writing the input to the capture beside the merge, which only reads it too. */
typedef struct saving {
  struct capture_writer *capture;
  const window_input *input;
  pthread_t thread;
  bool beside; /* on a thread of its own */
  pd_status status;
} saving;

static void *save(void *given) {
  saving *self = given;
  self->status = window_save(self->capture, self->input);
  return NULL;
}

static void save_begin(saving *self) {
  if (!self->capture) return;
  self->beside = pthread_create(&self->thread, NULL, save, self) == 0;
  if (!self->beside) (void)save(self);
}

static pd_status save_end(saving *self) {
  if (self->beside) (void)pthread_join(self->thread, NULL);
  self->beside = false;
  return self->status;
}

pd_status recorder_window_end(recorder *self, const recorder_window *window, pd_trace **out) {
  window_input input = {.clock = &self->clock,
                        .strings = self->strings,
                        .window = self->window,
                        .loop_tid = self->loop_tid,
                        .steps = self->steps,
                        .end = window,
                        .with_memory = self->options.profile_memory,
                        .pid = (uint32_t)getpid()};
  capture_thread *call_threads = NULL;
  frame_name *frames = NULL;
  recorder_thread **threads = NULL;
  raw_fate *fates = NULL;
  loss_marks marks;
  *out = NULL;
  if (!self->in_window) return PD_INVALID;
  self->in_window = false;
  pd_status status = trace_clock_anchor(&self->clock);
  if (status != PD_OK) goto out;
  input.step_count = self->step_count;
  input.start_ticks = input.step_count ? self->steps[0].start_ticks : self->begin_ticks;
  input.end_ticks = input.step_count ? self->steps[input.step_count - 1].end_ticks : trace_clock_ticks(&self->clock);
  status = threads_list(self, &threads, &input.thread_count);
  if (status != PD_OK) goto out;
  input.threads = calloc(input.thread_count + 1, sizeof *input.threads);
  if (!input.threads) status = PD_NO_MEMORY;
  for (uint64_t i = 0; status == PD_OK && i < input.thread_count; i++)
    status = collect_thread(threads[i], input.end_ticks, &input.threads[i]);
  if (status == PD_OK) status = take_activities(self, threads, input.thread_count);
  if (status != PD_OK) goto out;
  qsort(input.threads, input.thread_count, sizeof *input.threads, compare_threads);
  if (self->earlier_count) qsort(self->earlier, self->earlier_count, sizeof *self->earlier, compare_ids);
  input.calls = self->calls;
  input.call_count = self->call_count;
  input.devices = self->devices;
  input.device_count = self->device_count;
  input.earlier = self->earlier;
  input.earlier_count = self->earlier_count;
  recorder_take_marks(self, &marks); /* before the counts, which may go on: what has no place yet is somewhere */
  input.marks = &marks;
  for (int i = 0; i < PD_LOSS_COUNT; i++)
    input.losses[i] = atomic_load_explicit(&self->losses[i], memory_order_relaxed);
  status = window_name_threads(&input, &call_threads, &input.call_thread_count);
  input.call_threads = call_threads;
  if (status == PD_OK && self->capture) {
    status = window_name_frames(&input, &frames, &input.frame_count);
    input.frames = frames;
  }
  if (status != PD_OK) goto out;
  saving beside = {.capture = self->capture, .input = &input};
  save_begin(&beside);
  fates = calloc(input.call_count + input.device_count + 1, sizeof *fates);
  status = fates ? merge_window(&input, fates, fates + input.call_count, out) : PD_NO_MEMORY;
  const pd_status saved = save_end(&beside);
  if (status == PD_OK && saved) {
    trace_free(*out);
    *out = NULL;
    status = saved;
  }
  if (status == PD_OK) keep_later(self, fates, fates + input.call_count);
out:
  if (status != PD_OK) self->call_count = self->device_count = 0;
  self->earlier_count = 0;
  for (uint64_t i = 0; input.threads && i < input.thread_count; i++) window_thread_free(&input.threads[i]);
  free(input.threads);
  free(threads);
  free(fates);
  free(call_threads);
  free(frames);
  threads_sweep(self);
  return status;
}
