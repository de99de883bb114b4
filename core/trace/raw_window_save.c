/* A window's input into a capture file; see saved_window.h. */
#include "saved_window.h"

#include "trace_memory.h"

#include <pdhost/array.h>

#include <stdlib.h>
#include <string.h>

/* Texts with their heads, as many as one record takes. */
static pd_status put_strings(capture_writer *writer, string_table *strings, uint32_t from, uint32_t to) {
  const size_t head_bytes = sizeof(capture_string);
  size_t room = CAPTURE_PART_BYTES, used = 0;
  unsigned char *buffer = calloc(1, room);
  pd_status status = buffer ? PD_OK : PD_NO_MEMORY;
  capture_head head = {.kind = CAPTURE_STRINGS, .window = CAPTURE_NO_WINDOW, .first = from};
  for (uint32_t id = from; id < to && status == PD_OK; id++) {
    const pd_string text = strings_get(strings, id);
    const size_t bytes =
        (size_t)text.length < CAPTURE_RECORD_BYTES / 2 ? (size_t)text.length : CAPTURE_RECORD_BYTES / 2;
    const size_t all = head_bytes + (bytes + CAPTURE_ALIGN - 1) / CAPTURE_ALIGN * CAPTURE_ALIGN;
    if (used && used + all > CAPTURE_PART_BYTES) {
      (void)capture_put(writer, head, buffer, used);
      head.first = id;
      head.count = 0;
      used = 0;
    }
    if (!PD_ARRAY_FIT(buffer, room, all)) {
      status = PD_NO_MEMORY;
      break;
    }
    const capture_string row = {id, (uint32_t)bytes};
    memset(buffer + used, 0, all);
    memcpy(buffer + used, &row, sizeof row);
    memcpy(buffer + used + head_bytes, text.text, bytes);
    used += all;
    head.count++;
  }
  if (status == PD_OK && used) (void)capture_put(writer, head, buffer, used);
  free(buffer);
  return status;
}

static void put_clock(capture_writer *writer, const window_input *input) {
  const trace_clock *clock = input->clock;
  (void)capture_put_rows(writer, CAPTURE_POINTS, input->window, 0, clock->points, clock->point_count,
                         sizeof *clock->points);
  (void)capture_put_rows(writer, CAPTURE_ZONES, input->window, 0, clock->zones, clock->zone_count,
                         sizeof *clock->zones);
}

/* X(kind, rows, count): what each thread has. */
#define THREAD_ROWS(X)                                                                                                 \
  X(CAPTURE_INFOS, infos, info_count)                                                                                  \
  X(CAPTURE_SHAPES, shapes, shape_count)                                                                               \
  X(CAPTURE_STACKS, stacks, stack_count)                                                                               \
  X(CAPTURE_RANGES, ranges, range_count)                                                                               \
  X(CAPTURE_MEMORY, memory, memory_count)                                                                              \
  X(CAPTURE_COUNTERS, counters, counter_count)
/* X(kind, rows, count): what the window has. */
#define WINDOW_ROWS(X)                                                                                                 \
  X(CAPTURE_STEPS, steps, step_count)                                                                                  \
  X(CAPTURE_CALLS, calls, call_count)                                                                                  \
  X(CAPTURE_DEVICES, devices, device_count)                                                                            \
  X(CAPTURE_EARLIER, earlier, earlier_count)                                                                           \
  X(CAPTURE_FRAMES, frames, frame_count)

/* First, so that what the file's end has lost is known. */
static pd_status put_tallies(capture_writer *writer, const window_input *input) {
  enum { PER_THREAD = 6, PER_WINDOW = 5 };
  uint64_t count = 0;
  capture_tally *rows = trace_scratch_alloc(input->thread_count * PER_THREAD + PER_WINDOW, sizeof *rows);
  if (!rows) return PD_NO_MEMORY;
#define TALLY(kind_, rows_, count_) rows[count++] = (capture_tally){kind_, 0, input->count_};
  WINDOW_ROWS(TALLY)
#undef TALLY
  for (uint64_t i = 0; i < input->thread_count; i++) {
    const window_thread *thread = &input->threads[i];
#define TALLY(kind_, rows_, count_)                                                                                    \
  if (thread->count_) rows[count++] = (capture_tally){kind_, thread->tid, thread->count_};
    THREAD_ROWS(TALLY)
#undef TALLY
  }
  (void)capture_put_rows(writer, CAPTURE_TALLY, input->window, 0, rows, count, sizeof *rows);
  free(rows);
  return PD_OK;
}

static pd_status put_threads(capture_writer *writer, const window_input *input) {
  const uint64_t count = input->thread_count + input->call_thread_count;
  capture_thread *rows = trace_scratch_alloc(count, sizeof *rows);
  if (!rows) return PD_NO_MEMORY;
  for (uint64_t i = 0; i < input->thread_count; i++)
    rows[i] = (capture_thread){input->threads[i].tid, input->threads[i].name};
  if (input->call_thread_count)
    memcpy(rows + input->thread_count, input->call_threads, input->call_thread_count * sizeof *rows);
  (void)capture_put_rows(writer, CAPTURE_THREADS, input->window, 0, rows, count, sizeof *rows);
  free(rows);
  return PD_OK;
}

static void put_head(capture_writer *writer, const window_input *input) {
  const recorder_window *end = input->end;
  const capture_window head = {.window = input->window,
                               .loop_tid = input->loop_tid,
                               .pid = input->pid,
                               .profile = end->profile,
                               .start_ticks = input->start_ticks,
                               .end_ticks = input->end_ticks,
                               .clock_offset_ns = input->clock->offset_ns,
                               .start_allocated_bytes = end->start_allocated_bytes,
                               .start_reserved_bytes = end->start_reserved_bytes,
                               .unprofiled_step_ns = end->unprofiled_step_ns,
                               .sync_timing = end->sync_timing,
                               .copies_ahead = end->copies_ahead,
                               .paused_ns = end->paused_ns,
                               .graph_input_bytes = end->graph_input_bytes,
                               .with_memory = input->with_memory,
                               .has_losses = end->losses != NULL};
  (void)capture_put_rows(writer, CAPTURE_WINDOW, input->window, 0, &head, 1, sizeof head);
  if (end->profile_note) (void)capture_put_text(writer, CAPTURE_NOTE, input->window, end->profile_note);
}

pd_status saved_window_save(capture_writer *writer, const window_input *input) {
  if (writer->fault) return PD_OK;
  const uint32_t window = input->window, strings = strings_count(input->strings);
  pd_status status = put_strings(writer, input->strings, writer->strings_written, strings);
  writer->strings_written = strings;
  if (status != PD_OK) return status;
  put_head(writer, input);
  status = put_tallies(writer, input);
  if (status == PD_OK) status = put_threads(writer, input);
  if (status != PD_OK) return status;
  put_clock(writer, input);
  (void)capture_put_rows(writer, CAPTURE_LOSSES, window, 0, input->losses, PD_LOSS_COUNT, sizeof input->losses[0]);
  if (input->marks)
    (void)capture_put_rows(writer, CAPTURE_MARKS, window, 0, input->marks->rows, input->marks->count,
                           sizeof input->marks->rows[0]);
  if (input->end->losses)
    (void)capture_put_rows(writer, CAPTURE_STEP_LOSSES, window, 0, input->end->losses, input->step_count,
                           sizeof(double));
  if (input->end->twin.rounds)
    (void)capture_put_rows(writer, CAPTURE_TWIN, window, 0, &input->end->twin, 1, sizeof input->end->twin);
#define PUT(kind_, rows_, count_)                                                                                      \
  (void)capture_put_rows(writer, kind_, window, 0, input->rows_, input->count_, sizeof *input->rows_);
  WINDOW_ROWS(PUT)
#undef PUT
  for (uint64_t i = 0; i < input->thread_count; i++) {
    const window_thread *thread = &input->threads[i];
#define PUT(kind_, rows_, count_)                                                                                      \
  (void)capture_put_rows(writer, kind_, window, thread->tid, thread->rows_, thread->count_, sizeof *thread->rows_);
    THREAD_ROWS(PUT)
#undef PUT
  }
  return PD_OK;
}
