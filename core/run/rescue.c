/* The outputs of a run that died; see rescue.h. */
#include "rescue.h"

#include "board.h"
#include "run_replay.h"

#include "base/error.h"
#include "base/log.h"
#include "capture/capture_read.h"
#include "capture/capture_write.h"

#include <errno.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/prctl.h>
#include <sys/wait.h>
#include <time.h>
#include <unistd.h>

enum { WRITER_S = 300, LOOK_MS = 20 };

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
static void complete(const board *from) {
  capture_writer writer;
  const uint64_t count = atomic_load_explicit(&from->step_count, memory_order_acquire);
  uint64_t at = steps_written(from->capture);
  if (count > BOARD_STEPS && at < count - BOARD_STEPS) return; /* the gap is longer than what is left */
  if (capture_extend(&writer, from->capture) != PD_OK) return;
  for (; at < count; at++) {
    const capture_head head = {
        .kind = CAPTURE_STEP, .window = CAPTURE_NO_WINDOW, .first = at, .count = 1, .row_bytes = sizeof(pd_step_stats)};
    (void)capture_put(&writer, head, &from->steps[at % BOARD_STEPS], sizeof(pd_step_stats));
  }
  (void)capture_close(&writer, false);
}

/* The status of waitpid; a writer that does not end in time is killed. */
static int wait_for(pid_t writer) {
  int status = 0;
  for (int waited_ms = 0;; waited_ms += LOOK_MS) {
    const pid_t ended = waitpid(writer, &status, WNOHANG);
    if (ended == writer || (ended < 0 && errno != EINTR)) return status;
    const struct timespec look = {.tv_nsec = (long)LOOK_MS * 1000000};
    if (waited_ms > WRITER_S * 1000) (void)kill(writer, SIGKILL);
    (void)nanosleep(&look, NULL);
  }
}

static int write_outputs(const replay_request *request) {
  board *at = board_own();
  atomic_store_explicit(&at->depth, 0, memory_order_relaxed);
  fflush(NULL);
  const pid_t writer = fork();
  if (writer < 0) return -1;
  if (writer == 0) {
    (void)prctl(PR_SET_PDEATHSIG, SIGKILL);
    const int code = replay_run(request);
    fflush(NULL);
    _exit(code);
  }
  const int status = wait_for(writer);
  return WIFEXITED(status) && !atomic_load_explicit(&at->depth, memory_order_acquire) ? WEXITSTATUS(status) : -1;
}

static uint64_t bit_of(const config *settings, const char *sink) {
  for (uint32_t i = 0; sink && i < settings->sink_count && i < 64; i++)
    if (strcmp(settings->sinks[i].plugin->table->name, sink) == 0) return (uint64_t)1 << i;
  return 0;
}

bool rescue_outputs(const config *settings, pid_t worker, const char *reason, const char *without) {
  const board *at = board_own();
  if (!at->capture[0]) return false;
  complete(at);
  replay_request request = {.path = at->capture,
                            .settings = settings,
                            .reason = reason,
                            .without = bit_of(settings, without),
                            .died = (uint32_t)worker,
                            .quiet = settings->quiet};
  int code = -1;
  for (uint32_t tries = 0; tries <= settings->sink_count; tries++) {
    char place[192], sink[64];
    code = write_outputs(&request);
    if (code >= 0) break;
    board_say(at, "", place, sizeof place, sink);
    const uint64_t bit = bit_of(settings, sink);
    if (!bit || request.without & bit) break;
    error_line_print(FAULT_OUTPUT, NULL, "%s: crashed or did not end; the others are written without it", place);
    request.without |= bit;
  }
  if (code == CODE_DONE && !settings->run.keep_capture && !request.without) {
    (void)unlink(at->capture);
  } else {
    fprintf(stderr, "pdhost: the capture stays: pdhost recover %s\n", at->capture);
  }
  return code == CODE_DONE;
}
