/* The capture of a run; see run_capture.h. */
#include "run_capture.h"

#include "board.h"
#include "capture_text.h"
#include "ranks/rank_live.h"
#include "writing/feed.h"
#include "base/log.h"
#include "base/shell_word.h"
#include "capture/capture_find.h"
#include "capture/capture_write.h"

#include <pdhost/processors.h>

#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

struct run_capture {
  capture_writer writer;
  char *path;
  uint32_t pid;
  int64_t start_ns;
  bool kept;      /* when the run is over */
  bool told;      /* a warning has said that it cannot be written */
  bool in_memory; /* it cannot: what follows goes to the writer through memory, and is nowhere else */
  bool was_read;  /* what is in that memory */
};

static void tell_fault(struct run_capture *self) {
  if (!self->writer.fault || self->told) return;
  self->told = true;
  log_line(PD_LOG_WARN, NULL, "%s: cannot be written: %s; it ends here, the run goes on", self->path,
           strerror(self->writer.fault));
}

/* ---- what the disk has no room for ---- */

static bool begin_part(struct run_capture *self) {
  self->was_read = false;
  if (capture_begin_in(&self->writer, self->writer.fd, CAPTURE_OF_RUN, self->pid, self->start_ns) != PD_OK)
    return false;
  (void)atomic_fetch_add_explicit(&board_own()->feed.part, 1, memory_order_release);
  return true;
}

/* Whether what was written last has to be written again, since it goes through memory from now on. */
static bool spills(struct run_capture *self) {
  if (!self->writer.fault) return false;
  tell_fault(self);
  const int memory = self->in_memory || !feed_is_on() ? -1 : dup(board_own()->feed.memory);
  if (memory < 0) return false;
  (void)capture_close(&self->writer, false);
  self->writer.fd = memory;
  self->in_memory = true;
  return begin_part(self);
}

/* Memory has room for what the writer has not read yet, and no more. */
static void before_put(struct run_capture *self) {
  if (self->was_read) (void)begin_part(self);
}

/* ---- records ---- */

static void put_text(struct run_capture *self, capture_kind kind, uint32_t window, char *text) {
  before_put(self);
  if (text) do
      (void)capture_put_text(&self->writer, kind, window, text);
    while (spills(self));
  else if (!self->writer.fault)
    self->writer.fault = ENOMEM;
  free(text);
  tell_fault(self);
}

static void forget(run_state *run) {
  recorder_save_to(run->recorder, NULL);
  if (run->capture) free(run->capture->path);
  free(run->capture);
  run->capture = NULL;
}

void run_capture_open(run_state *run, const config *settings, const pd_run *about) {
  const bool kept = settings->run.keep_capture;
  if (!(kept || settings->run.isolate) || run->folder_fault[0]) return;
  const capture_about more = {.cores = pd_processors_allowed(),
                              .tf32 = settings->train.tf32,
                              .writer = (uint32_t)atomic_load(&board_own()->feed.writer)};
  run->capture = calloc(1, sizeof *run->capture);
  if (!run->capture) return;
  struct run_capture *self = run->capture;
  self->kept = kept;
  self->pid = about->pid;
  self->start_ns = about->start_realtime_ns;
  const long long ms = about->start_realtime_ns / 1000000;
  if (asprintf(&self->path, "%s/%s.%lld" CAPTURE_UNFINISHED, about->trace_dir, about->worker, ms) < 0)
    self->path = NULL;
  if (self->path) board_tell_capture(self->path, false);
  errno = ENOMEM;
  if (!self->path || capture_create(&self->writer, self->path, CAPTURE_OF_RUN, self->pid, self->start_ns) != PD_OK) {
    log_line(PD_LOG_WARN, NULL, "%s: cannot be made: %s; the run goes on without a capture",
             self->path ? self->path : about->trace_dir, strerror(errno));
    (void)capture_close(&self->writer, false);
    forget(run);
    return;
  }
  recorder_save_to(run->recorder, &self->writer);
  put_text(self, CAPTURE_RUN, CAPTURE_NO_WINDOW, capture_run_text(about, &more));
  put_text(self, CAPTURE_DEVICE, CAPTURE_NO_WINDOW, capture_device_text(&run->props));
  if (self->writer.fault || self->in_memory) { /* nothing can be made of it */
    (void)capture_close(&self->writer, false);
    (void)unlink(self->path);
    board_tell_capture("", false);
    forget(run);
    return;
  }
  board_tell_capture(self->path, true);
}

void run_capture_steps(run_state *run, uint64_t from) {
  struct run_capture *self = run->capture;
  if (!self) return;
  before_put(self);
  for (uint64_t i = from; i < step_log_count(run->log); i++) {
    const capture_head head = {
        .kind = CAPTURE_STEP, .window = CAPTURE_NO_WINDOW, .first = i, .count = 1, .row_bytes = sizeof(pd_step_stats)};
    do (void)capture_put(&self->writer, head, step_log_at(run->log, i), sizeof(pd_step_stats));
    while (spills(self));
  }
  tell_fault(self);
}

bool run_capture_window(run_state *run, bool partial) {
  struct run_capture *self = run->capture;
  if (!self) return false;
  if (spills(self)) return true;
  const proc_usage *usage = analysis_usage(run->analysis);
  capture_delivery delivery = {.window = run->window,
                               .partial = partial,
                               .disturbance = analysis_disturbance(run->analysis),
                               .has_usage = usage != NULL};
  if (usage) delivery.usage = *usage;
  put_text(self, CAPTURE_DEVICE, CAPTURE_NO_WINDOW, capture_device_text(&run->props));
  put_text(self, CAPTURE_DELIVER, run->window, capture_delivery_text(&delivery));
  feed_post();
  return false;
}

void run_capture_pass(run_state *run) {
  if (!run->capture) return;
  feed_post();
  run_capture_wait(run);
}

void run_capture_again(run_state *run) {
  if (run->capture) recorder_save_to(run->recorder, &run->capture->writer);
}

void run_capture_wait(run_state *run) {
  if (!run->capture) return;
  feed_wait();
  run->capture->was_read = run->capture->in_memory;
}

void run_capture_ranks(run_state *run) {
  struct run_capture *self = run->capture;
  if (!self || !run->live) return;
  before_put(self);
  do rank_live_save(run->live, &self->writer);
  while (spills(self));
}

/* Names the file to the user, as it will be called. */
static void announce(const run_state *run) {
  const struct run_capture *self = run->capture;
  const size_t bytes = strlen(self->path), ending = sizeof CAPTURE_UNFINISHED - 1;
  char *name = strdup(self->path);
  if (name && bytes > ending && strcmp(name + bytes - ending, CAPTURE_UNFINISHED) == 0) {
    memcpy(name + bytes - ending, ".pdcap", sizeof ".pdcap");
    files_announce(run->services.files, name);
  }
  free(name);
}

void run_capture_end(run_state *run, const pd_summary *summary) {
  struct run_capture *self = run->capture;
  if (!self) return;
  if (self->kept) announce(run);
  const uint32_t count = files_announced_count(run->services.files);
  pd_note *names = calloc(count + 1, sizeof *names);
  for (uint32_t i = 0; names && i < count; i++) names[i] = files_announced(run->services.files, i);
  const pd_array written = {names, names ? count : 0, sizeof *names};
  put_text(self, CAPTURE_SUMMARY, CAPTURE_NO_WINDOW, capture_summary_text(summary, &written));
  free(names);
  recorder_save_to(run->recorder, NULL);
}

void run_capture_close(run_state *run, bool stays) {
  struct run_capture *self = run->capture;
  if (!self) return;
  const bool kept = self->kept || stays;
  char word[SHELL_WORD_BYTES];
  (void)capture_close(&self->writer, kept && !self->in_memory);
  tell_fault(self);
  board_tell_capture("", true); /* nothing is left to be rescued */
  if (!kept)
    (void)unlink(self->path);
  else if (capture_finish(self->path) != PD_OK)
    log_line(PD_LOG_WARN, NULL, "%s: cannot get its final name: %s", self->path, strerror(errno));
  if (stays) fprintf(stderr, "pdhost: the capture stays: pdhost recover %s\n", shell_word_in(word, self->path));
  board_tell_capture("", false);
  forget(run);
}

void run_capture_look(const char *folder, int depth) {
  capture_leftovers left;
  char word[SHELL_WORD_BYTES];
  capture_find_left(folder, depth, &left);
  if (left.count == 1)
    log_line(PD_LOG_WARN, NULL, "an earlier run was killed before its results were written: pdhost recover %s",
             shell_word_in(word, left.rows[0].path));
  else if (left.count)
    log_line(PD_LOG_WARN, NULL,
             "earlier runs were killed before their results were written, and left %u captures: pdhost recover %s",
             left.count, shell_word_in(word, folder));
  capture_leftovers_free(&left);
}
