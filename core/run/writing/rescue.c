/* See rescue.h. */
#include "rescue.h"

#include "base/log.h"
#include "capture/capture_read.h"
#include "capture/capture_write.h"
#include "trace/kept/salvage.h"

#include <signal.h>
#include <stdlib.h>
#include <string.h>

static uint64_t steps_written(const char *path) {
  capture_reader reader;
  uint64_t end = 0;
  if (capture_open(&reader, path) == PD_OK)
    for (uint64_t i = 0; i < reader.count; i++) {
      const capture_record *at = &reader.records[i];
      if (at->kind == CAPTURE_STEP && at->first + at->count > end) end = at->first + at->count;
    }
  capture_reader_close(&reader);
  return end;
}

/* Adds the steps that the run had not written yet. */
static void add_steps(capture_writer *writer, const board *from, uint64_t at) {
  const uint64_t count = atomic_load_explicit(&from->step_count, memory_order_acquire);
  if (count > BOARD_STEPS && at < count - BOARD_STEPS) return; /* the gap is longer than what is left */
  for (; at < count; at++) {
    const capture_head head = {
        .kind = CAPTURE_STEP, .window = CAPTURE_NO_WINDOW, .first = at, .count = 1, .row_bytes = sizeof(pd_step_stats)};
    (void)capture_put(writer, head, &from->steps[at % BOARD_STEPS], sizeof(pd_step_stats));
  }
}

/* Adds the window that was open, with the steps of it that are left. */
static void add_window(capture_writer *writer, const board *from) {
  const board_window *window = &from->window;
  const uint64_t all = atomic_load_explicit(&window->step_count, memory_order_acquire);
  const uint64_t count = all < BOARD_STEPS ? all : BOARD_STEPS;
  recorder_window end = window->end;
  recorder_step *steps = malloc((count + 1) * sizeof *steps);
  end.profile_note = window->note[0] ? window->note : NULL;
  for (uint64_t i = 0; steps && i < count; i++) steps[i] = window->steps[(all - count + i) % BOARD_STEPS];
  if (!steps || room_salvage(board_room(), &end, steps, count, writer) == PD_NO_MEMORY)
    log_line(PD_LOG_WARN, NULL, "no memory for the window that was open; it is left out");
  free(steps);
}

void rescue_capture(const board *from) {
  capture_writer writer;
  const uint64_t steps = steps_written(from->capture);
  if (capture_extend(&writer, from->capture) != PD_OK) return;
  void (*const before)(int) = signal(SIGXFSZ, SIG_IGN); /* the write that meets it fails */
  add_steps(&writer, from, steps);
  if (board_room()) add_window(&writer, from);
  if (writer.fault)
    log_line(PD_LOG_WARN, NULL, "%s: cannot be written: %s; it ends here", from->capture, strerror(writer.fault));
  (void)capture_close(&writer, false);
  (void)signal(SIGXFSZ, before);
}
