/* The outputs of a run that died; see rescue.h. */
#include "rescue.h"

#include "board.h"
#include "run_replay.h"
#include "supervise.h"

#include "base/error.h"
#include "base/log.h"
#include "capture/capture_read.h"
#include "capture/capture_write.h"
#include "trace/kept/salvage.h"

#include <errno.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/prctl.h>
#include <sys/wait.h>
#include <time.h>
#include <unistd.h>

enum { LOOK_MS = 20, KILLS_MOST = 3 };

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

static void complete(const board *from) {
  capture_writer writer;
  const uint64_t steps = steps_written(from->capture);
  if (capture_extend(&writer, from->capture) != PD_OK) return;
  add_steps(&writer, from, steps);
  if (board_room()) add_window(&writer, from);
  if (writer.fault)
    log_line(PD_LOG_WARN, NULL, "%s: cannot be written: %s; it ends here", from->capture, strerror(writer.fault));
  (void)capture_close(&writer, false);
}

/* A writer and how it ended. */
typedef struct writing {
  pid_t pid;  /* -1: there is none */
  int status; /* of waitpid */
  bool hung;  /* it was ended for not ending in time */
} writing;

/* Ends it where a sink takes longer than `limit_ns`; 0: never. */
static void wait_for(writing *self, int64_t limit_ns) {
  for (;;) {
    const pid_t ended = waitpid(self->pid, &self->status, WNOHANG);
    if (ended == self->pid || (ended < 0 && errno != EINTR)) return;
    const struct timespec look = {.tv_nsec = (long)LOOK_MS * 1000000};
    self->hung = limit_ns && board_sink_ns(board_own()) > limit_ns;
    if (self->hung) (void)kill(self->pid, SIGKILL);
    (void)nanosleep(&look, NULL);
  }
}

/* The writer's exit code; -1: it did not come to its end. */
static int write_outputs(const replay_request *request, writing *self) {
  board *at = board_own();
  *self = (writing){.pid = -1};
  atomic_store_explicit(&at->depth, 0, memory_order_relaxed);
  fflush(NULL);
  const pid_t parent = getpid();
  self->pid = fork();
  if (self->pid < 0) return -1;
  if (self->pid == 0) {
    (void)prctl(PR_SET_PDEATHSIG, SIGKILL);
    (void)prctl(PR_SET_NAME, WRITER_NAME);
    if (getppid() != parent) _exit(CODE_INTERNAL);
    const int code = replay_run(request);
    fflush(NULL);
    _exit(code);
  }
  wait_for(self, request->settings->run.step_timeout_ns);
  if (!WIFEXITED(self->status) || atomic_load_explicit(&at->depth, memory_order_acquire)) return -1;
  return WEXITSTATUS(self->status);
}

/* By somebody else, or for want of memory. */
static bool was_killed(const writing *self) {
  return self->pid > 0 && !self->hung && WIFSIGNALED(self->status) && WTERMSIG(self->status) == SIGKILL;
}

static uint64_t bit_of(const config *settings, const char *sink) {
  for (uint32_t i = 0; sink && i < settings->sink_count && i < 64; i++)
    if (strcmp(settings->sinks[i].plugin->table->name, sink) == 0) return (uint64_t)1 << i;
  return 0;
}

/* Writes until a writer comes to its end, each time without the sink that ended the one before. A kill may come from
 * anywhere; the second one in a row in the same sink is that sink's, which wants more memory than there is. `died`: the
 * request's, with room for `most`. */
static int write_until_done(replay_request *request, uint32_t *died, uint32_t most) {
  uint32_t kills = 0;
  char killed_in[64] = "";
  writing last;
  for (;;) {
    char place[192], sink[64];
    const int code = write_outputs(request, &last);
    if (code >= 0 || last.pid < 0 || request->died_count == most) return code;
    died[request->died_count++] = (uint32_t)last.pid;
    board_say(board_own(), "", place, sizeof place, sink);
    const uint64_t bit = bit_of(request->settings, sink);
    const bool is_killed = was_killed(&last), is_again = is_killed && sink[0] && strcmp(sink, killed_in) == 0;
    snprintf(killed_in, sizeof killed_in, "%s", is_killed ? sink : "");
    if (is_killed && !(is_again && bit)) {
      if (++kills > KILLS_MOST) return -1;
      log_line(PD_LOG_WARN, NULL,
               "the process that writes the outputs was killed by signal 9, as the system does where memory runs out; "
               "they are written anew");
      continue;
    }
    if (!bit || request->without & bit) return -1;
    error_line_print(FAULT_OUTPUT, NULL, "%s: %s; the others are written without it", place,
                     is_killed   ? "was killed by signal 9 twice, as the system does where memory runs out"
                     : last.hung ? "took longer than [run] step_timeout and was ended"
                                 : "crashed or ended its process");
    request->without |= bit;
  }
}

bool rescue_outputs(const config *settings, pid_t worker, const char *reason, const char *without) {
  board *at = board_own();
  uint32_t died[64] = {(uint32_t)worker};
  if (!at->capture[0]) return false;
  const int held = capture_lock(at->capture); /* no other run takes the capture for one that a killed run left */
  complete(at);
  replay_request request = {.path = at->capture,
                            .settings = settings,
                            .reason = reason,
                            .without = bit_of(settings, without),
                            .died = died,
                            .died_count = 1,
                            .quiet = settings->quiet};
  const int code = write_until_done(&request, died, sizeof died / sizeof died[0]);
  if (code == CODE_DONE && !settings->run.keep_capture && !request.without) {
    (void)unlink(at->capture);
  } else {
    (void)capture_finish(at->capture);
    fprintf(stderr, "pdhost: the capture stays: pdhost recover %s\n", at->capture);
  }
  if (held >= 0) (void)close(held);
  return code == CODE_DONE;
}
