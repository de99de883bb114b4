/* See salvage.h. */
#include "salvage.h"

#include "collect.h"

#include "trace/recorder_internal.h"
#include "trace/saved_window.h"

#include <stdlib.h>
#include <string.h>
#include <unistd.h>

/* ---- while the process lives -------------------------------------------------------------------------------- */

/* As many of the rows as there is room for. */
static void keep_rows(chunk_list *self, chunk_pool *pool, const void *rows, uint64_t count, uint32_t row_bytes) {
  chunk_list_init(self, pool, row_bytes);
  for (uint64_t i = 0; i < count; i++) {
    void *row = chunk_list_reserve(self, row_bytes);
    if (!row) return;
    memcpy(row, (const char *)rows + i * row_bytes, row_bytes);
    chunk_list_publish(self);
  }
}

static void keep_clock(const trace_clock *self, room_clock *out) {
  *out = (room_clock){.last = self->last, .offset_ns = self->offset_ns};
  for (; out->point_count < self->point_count && out->point_count < 2; out->point_count++)
    out->points[out->point_count] = self->points[out->point_count];
  if (self->zone_count) out->zone = self->zones[0];
}

void room_window_begin(recorder *self) {
  trace_room *room = self->room;
  keep_rows(&room->calls, &self->pool, self->calls, self->call_count, sizeof *self->calls);
  keep_rows(&room->devices, &self->pool, self->devices, self->device_count, sizeof *self->devices);
  keep_rows(&room->earlier, &self->pool, self->earlier, self->earlier_count, sizeof *self->earlier);
  keep_clock(&self->clock, &room->clock);
  room->window = self->window;
  room->loop_tid = self->loop_tid;
  room->begin_ticks = self->begin_ticks;
  room->with_memory = self->options.profile_memory;
  room->pid = (uint32_t)getpid();
  atomic_store_explicit(&room->open, true, memory_order_release);
}

void room_window_end(recorder *self) {
  trace_room *room = self->room;
  if (!atomic_load_explicit(&room->open, memory_order_relaxed)) return;
  atomic_store_explicit(&room->open, false, memory_order_release);
  chunk_list_release(&room->calls);
  chunk_list_release(&room->devices);
  chunk_list_release(&room->earlier);
}

/* ---- when it is dead ---------------------------------------------------------------------------------------- */

typedef struct salvage {
  trace_room *room;
  window_input input;
  trace_clock clock;
  recorder_thread **threads;
  collected *taken;
  activity_counts *sizes;
  uint64_t *earlier;
} salvage;

#define IS_LIST(rows, row) room_has_list(room, &at->rows, sizeof(row))

static bool is_thread(const trace_room *room, const recorder_thread *at) {
  return IS_LIST(ranges, raw_range) && IS_LIST(infos, raw_info) && IS_LIST(shapes, pd_shape) &&
         IS_LIST(stacks, raw_stack) && IS_LIST(memory, raw_memory) && IS_LIST(counters, raw_counter) &&
         IS_LIST(calls, raw_call) && IS_LIST(devices, raw_device);
}

static bool has_threads(const trace_room *room) {
  uint64_t left = atomic_load_explicit(&room->used, memory_order_relaxed) / sizeof(recorder_thread);
  for (const recorder_thread *at = atomic_load_explicit(&room->threads, memory_order_acquire); at; at = at->next)
    if (!left-- || !room_has_piece(room, at, sizeof *at) || !is_thread(room, at)) return false;
  return true;
}

/* Whether everything that is followed leads somewhere. */
static bool is_whole(const trace_room *at) {
  const trace_room *room = at;
  return atomic_load_explicit(&at->used, memory_order_relaxed) >= sizeof *at && at->clock.point_count <= 2 &&
         at->marks.count <= LOSS_MARKS && IS_LIST(calls, raw_call) && IS_LIST(devices, raw_device) &&
         IS_LIST(earlier, uint64_t) && has_threads(at);
}

/* The clock as it was at the window's begin, and one look at it now. Its own word on how it is read are addresses of
 * code: it is not taken. */
static pd_status open_clock(salvage *self, const clock_source *source) {
  const room_clock *from = &self->room->clock;
  trace_clock *clock = &self->clock;
  trace_clock own = {.points = NULL};
  const pd_status opened = source ? PD_OK : trace_clock_open(&own, NULL);
  trace_clock_close(&own);
  if (opened != PD_OK) return opened;
  *clock = (trace_clock){.source = source ? *source : own.source, .last = from->last, .offset_ns = from->offset_ns};
  clock->points = calloc(4, sizeof *clock->points);
  clock->zones = calloc(4, sizeof *clock->zones);
  if (!clock->points || !clock->zones) return PD_NO_MEMORY;
  clock->point_capacity = clock->zone_capacity = 4;
  clock->point_count = from->point_count;
  memcpy(clock->points, from->points, sizeof from->points);
  clock->zones[clock->zone_count++] = from->zone;
  return trace_clock_anchor(clock);
}

static uint64_t list_threads(const trace_room *self, recorder_thread **out) {
  uint64_t count = 0;
  for (recorder_thread *at = atomic_load_explicit(&self->threads, memory_order_acquire); at; at = at->next, count++)
    if (out) out[count] = at;
  return count;
}

/* Rows that the recorder itself held. */
static pd_status take_rows(const chunk_list *self, size_t row_bytes, void *out_rows, uint64_t *count) {
  void **out = out_rows;
  *count = self->record_bytes ? chunk_list_count(self) : 0;
  *out = trace_scratch_alloc(*count, row_bytes);
  if (!*out) return PD_NO_MEMORY;
  if (*count) chunk_list_copy(self, *out, *count);
  return PD_OK;
}

static pd_status take_all(salvage *self) {
  const trace_room *room = self->room;
  window_input *input = &self->input;
  const uint64_t count = list_threads(room, NULL);
  self->threads = trace_scratch_alloc(count, sizeof(recorder_thread *));
  self->taken = trace_scratch_alloc(count, sizeof *self->taken);
  self->sizes = trace_scratch_alloc(count, sizeof *self->sizes);
  input->threads = calloc(count + 1, sizeof *input->threads);
  if (!self->threads || !self->taken || !self->sizes || !input->threads) return PD_NO_MEMORY;
  input->thread_count = list_threads(room, self->threads);
  pd_status status = take_rows(&room->calls, sizeof *input->calls, &input->calls, &input->call_count);
  if (status == PD_OK)
    status = take_rows(&room->devices, sizeof *input->devices, &input->devices, &input->device_count);
  if (status == PD_OK) status = take_rows(&room->earlier, sizeof *self->earlier, &self->earlier, &input->earlier_count);
  for (uint64_t i = 0; i < count && status == PD_OK; i++)
    status = collect_thread(self->threads[i], input->end_ticks, &input->threads[i], &self->taken[i]);
  if (status == PD_OK)
    status = collect_activities(self->threads, count, &input->calls, &input->call_count, &input->devices,
                                &input->device_count, self->sizes);
  if (status != PD_OK) return status;
  input->earlier = self->earlier;
  raw_window_sort(input, self->earlier);
  for (int i = 0; i < PD_LOSS_COUNT; i++)
    input->losses[i] = atomic_load_explicit(&room->losses[i], memory_order_relaxed);
  return PD_OK;
}

static void salvage_free(salvage *self) {
  for (uint64_t i = 0; self->input.threads && i < self->input.thread_count; i++)
    raw_window_thread_free(&self->input.threads[i]);
  free(self->input.threads);
  free(self->input.calls);
  free(self->input.devices);
  free(self->earlier);
  free(self->threads);
  free(self->taken);
  free(self->sizes);
  strings_close(self->input.strings);
  trace_clock_close(&self->clock);
}

pd_status room_salvage(trace_room *room, const recorder_window *end, const recorder_step *steps, uint64_t step_count,
                       const clock_source *source, struct capture_writer *capture) {
  salvage self = {.room = room};
  if (!atomic_load_explicit(&room->open, memory_order_acquire)) return PD_STOP;
  if (!is_whole(room)) return PD_INVALID;
  pd_status status = open_clock(&self, source);
  self.input = (window_input){.clock = &self.clock,
                              .window = room->window,
                              .loop_tid = room->loop_tid,
                              .steps = steps,
                              .step_count = step_count,
                              .start_ticks = step_count ? steps[0].start_ticks : room->begin_ticks,
                              .end_ticks = step_count ? steps[step_count - 1].end_ticks : self.clock.last.ticks,
                              .end = end,
                              .with_memory = room->with_memory,
                              .pid = room->pid,
                              .marks = &room->marks};
  if (status == PD_OK) status = strings_open_again(room, &self.input.strings);
  if (status == PD_OK) status = take_all(&self);
  if (status == PD_OK) status = saved_window_save(capture, &self.input);
  salvage_free(&self);
  return status;
}
