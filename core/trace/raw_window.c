/*
 * The recorder's windows: begins them, collects what the threads recorded, ends them. [loop thread]
 *
 * Threads go on recording meanwhile. What they publish before the look at their lists belongs to this window if its
 * time does; the rest waits for the next one.
 */
#include "raw_window.h"
#include "merge.h"
#include "kept/collect.h"
#include "kept/salvage.h"
#include "trace/stacks/raw_window_names.h"
#include "recorder_internal.h"
#include "saved_window.h"
#include "trace/stacks/stacks.h"

#include <pdhost/array.h>

#include <stdlib.h>
#include <string.h>
#include <sys/syscall.h>
#include <unistd.h>

enum { SETTLE_NS = 10000000 /* calls younger than this are judged at the window's end, when its start is known */ };

static pd_status take_activities(recorder *self, recorder_thread **threads, uint64_t count, activity_counts *sizes) {
  return collect_activities(threads, count, &self->calls, &self->call_count, &self->devices, &self->device_count,
                            sizes);
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
  collected look;
  uint64_t count;
  pd_status status = threads_list(self, &threads, &count);
  if (status != PD_OK) return status;
  activity_counts *sizes = trace_scratch_alloc(count, sizeof *sizes);
  if (!sizes) status = PD_NO_MEMORY;
  for (uint64_t i = 0; status == PD_OK && i < count; i++) {
    collect_look(threads[i], &look);
    status = collect_drop(threads[i], &look);
  }
  if (status == PD_OK) status = take_activities(self, threads, count, sizes);
  if (status == PD_OK) collect_drop_activities(threads, count, sizes);
  if (status == PD_OK) status = settle(self);
  free(sizes);
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
  for (int i = 0; i < PD_LOSS_COUNT; i++) atomic_store_explicit(&self->room->losses[i], 0, memory_order_relaxed);
  recorder_take_marks(self, NULL);
  if (self->options.with_stack) stacks_prepare();
  self->step_count = 0;
  self->window = window;
  self->loop_tid = (uint32_t)syscall(SYS_gettid);
  self->begin_ticks = trace_clock_ticks(&self->clock);
  room_window_begin(self);
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

/* Into the capture. From then on the room need not hold it, and whoever reads the capture need not wait for the merge.
 * The room gives it up before `saved` is called, else it would be there twice if the process died in between. */
static pd_status save(recorder *self, const window_input *input) {
  if (!self->capture) return PD_OK;
  const recorder_window *end = input->end;
  pd_status status = PD_OK;
  do {
    status = saved_window_save(self->capture, input);
    if (status == PD_OK) room_window_end(self);
  } while (status == PD_OK && end->saved && end->saved(end->user));
  return status;
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
  collected *looks = NULL;
  activity_counts *sizes = NULL;
  raw_fate *fates = NULL;
  loss_marks marks;
  *out = NULL;
  if (!self->in_window || atomic_load_explicit(&self->dead, memory_order_relaxed)) return PD_INVALID;
  self->in_window = false;
  pd_status status = trace_clock_anchor(&self->clock);
  if (status != PD_OK) goto out;
  input.step_count = self->step_count;
  input.start_ticks = input.step_count ? self->steps[0].start_ticks : self->begin_ticks;
  input.end_ticks = input.step_count ? self->steps[input.step_count - 1].end_ticks : trace_clock_ticks(&self->clock);
  status = threads_list(self, &threads, &input.thread_count);
  if (status != PD_OK) goto out;
  input.threads = calloc(input.thread_count + 1, sizeof *input.threads);
  looks = trace_scratch_alloc(input.thread_count, sizeof *looks);
  sizes = trace_scratch_alloc(input.thread_count, sizeof *sizes);
  if (!input.threads || !looks || !sizes) status = PD_NO_MEMORY;
  for (uint64_t i = 0; status == PD_OK && i < input.thread_count; i++)
    status = collect_thread(threads[i], input.end_ticks, &input.threads[i], &looks[i]);
  if (status == PD_OK) status = take_activities(self, threads, input.thread_count, sizes);
  if (status != PD_OK) goto out;
  input.calls = self->calls;
  input.call_count = self->call_count;
  input.devices = self->devices;
  input.device_count = self->device_count;
  input.earlier = self->earlier;
  input.earlier_count = self->earlier_count;
  raw_window_sort(&input, self->earlier);
  recorder_take_marks(self, &marks); /* before the counts, which may go on: what has no place yet is somewhere */
  input.marks = &marks;
  for (int i = 0; i < PD_LOSS_COUNT; i++)
    input.losses[i] = atomic_load_explicit(&self->room->losses[i], memory_order_relaxed);
  status = raw_window_name_threads(&input, &call_threads, &input.call_thread_count);
  input.call_threads = call_threads;
  if (status == PD_OK && self->capture) {
    status = raw_window_name_frames(&input, &frames, &input.frame_count);
    input.frames = frames;
  }
  if (status != PD_OK) goto out;
  status = save(self, &input);
  fates = calloc(input.call_count + input.device_count + 1, sizeof *fates);
  if (status == PD_OK) status = fates ? merge_window(&input, fates, fates + input.call_count, out) : PD_NO_MEMORY;
  for (uint64_t i = 0; i < input.thread_count; i++)
    (void)collect_drop(threads[i], &looks[i]); /* else the next one does */
  collect_drop_activities(threads, input.thread_count, sizes);
  if (status == PD_OK) keep_later(self, fates, fates + input.call_count);
out:
  room_window_end(self);
  if (status != PD_OK) self->call_count = self->device_count = 0;
  self->earlier_count = 0;
  for (uint64_t i = 0; input.threads && i < input.thread_count; i++) raw_window_thread_free(&input.threads[i]);
  free(input.threads);
  free(threads);
  free(looks);
  free(sizes);
  free(fates);
  free(call_threads);
  free(frames);
  threads_sweep(self);
  return status;
}
