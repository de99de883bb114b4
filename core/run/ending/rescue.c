/* See rescue.h. */
#include "rescue.h"

#include "base/child.h"
#include "base/log.h"
#include "capture/capture_read.h"
#include "capture/capture_write.h"
#include "trace/kept/salvage.h"

#include <errno.h>
#include <signal.h>
#include <stdlib.h>
#include <string.h>
#include <sys/resource.h>
#include <unistd.h>

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

/* ---- the window that was open: in a child ---- */

typedef struct salvaging {
  capture_writer *writer;
  const board *from;
  trace_room *room;
} salvaging;

/* A child that does not end by then follows a circle. */
enum { SALVAGE_S = 60 };

static const char *words_of(pd_status status) {
  if (status == PD_NO_MEMORY) return "there is no memory for it";
  return status == PD_OK || status == PD_STOP ? "" : "the process that died had overwritten it";
}

static int salvage(void *user, int report) {
  const salvaging *self = user;
  const board_window *window = &self->from->window;
  const uint64_t all = atomic_load_explicit(&window->step_count, memory_order_acquire);
  const uint64_t count = all < BOARD_STEPS ? all : BOARD_STEPS;
  recorder_window end = window->end;
  recorder_step *steps = malloc((count + 1) * sizeof *steps);
  (void)setrlimit(RLIMIT_CORE, &(struct rlimit){0, 0}); /* the one of the process that died is wanted */
  end.profile_note = window->note[0] ? window->note : NULL;
  for (uint64_t i = 0; steps && i < count; i++) steps[i] = window->steps[(all - count + i) % BOARD_STEPS];
  const pd_status status = steps ? room_salvage(self->room, &end, steps, count, NULL, self->writer) : PD_NO_MEMORY;
  const char *why = self->writer->fault ? strerror(self->writer->fault) : words_of(status);
  const ssize_t told = write(report, why, strlen(why));
  free(steps);
  return told < 0 || why[0];
}

/* Adds the window that was open, with the steps of it that are left: whole, or not at all. */
static void add_window(capture_writer *writer, const board *from, trace_room *room) {
  salvaging user = {writer, from, room};
  child_result result;
  char ending[128];
  if (writer->fault) return;
  const bool made = child_call(salvage, &user, SALVAGE_S, &result);
  if (made && result.exit_code == 0) return;
  if (ftruncate(writer->fd, (off_t)writer->bytes) != 0) writer->fault = errno;
  const char *why = !made ? strerror(errno) : child_ending(&result, ending, sizeof ending)[0] ? ending : result.text;
  log_line(PD_LOG_WARN, NULL, "the open window could not be read: %s; it is left out", why[0] ? why : "it is damaged");
}

void rescue_capture(const board *from, trace_room *room) {
  capture_writer writer;
  const uint64_t steps = steps_written(from->capture);
  if (capture_extend(&writer, from->capture) != PD_OK) return;
  void (*const before)(int) = signal(SIGXFSZ, SIG_IGN); /* the write that meets it fails */
  add_steps(&writer, from, steps);
  if (room) add_window(&writer, from, room);
  if (writer.fault)
    log_line(PD_LOG_WARN, NULL, "%s: cannot be written: %s; it ends here", from->capture, strerror(writer.fault));
  (void)capture_close(&writer, false);
  (void)signal(SIGXFSZ, before);
}
