/* A run in a process of its own; see supervise.h. */
#include "supervise.h"

#include "board.h"
#include "rescue.h"

#include "base/error.h"
#include "base/log.h"
#include "base/monotonic.h"
#include "base/signals.h"

#include <errno.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/prctl.h>
#include <sys/wait.h>
#include <time.h>
#include <unistd.h>

enum { LOOK_MS = 250, ENDING_S = 10 };

typedef struct supervisor {
  config *settings;
  pid_t worker;
  sigset_t taken, before;
  int64_t ended_ns;  /* when the worker was done, 0: it is not */
  int first, second; /* signals that the user sent */
  bool hung;         /* the worker was ended for a step, or a sink's call, that took too long */
  int status;        /* of waitpid */
} supervisor;

static void take_signals(supervisor *self) {
  signals_hear_pauses(); /* so that pdhost pause sees it; the worker has the handlers, too */
  sigemptyset(&self->taken);
  sigaddset(&self->taken, SIGCHLD);
  sigaddset(&self->taken, SIGINT);
  sigaddset(&self->taken, SIGTERM);
  sigaddset(&self->taken, SIGHUP);
  sigaddset(&self->taken, SIGQUIT);
  sigaddset(&self->taken, SIGNALS_PAUSE);
  sigaddset(&self->taken, SIGNALS_RESUME);
  sigprocmask(SIG_BLOCK, &self->taken, &self->before);
}

/* A key of the terminal reaches the worker by itself. Under nohup a hang-up is nobody's. */
static void hand_on(supervisor *self, const siginfo_t *about) {
  struct sigaction action;
  if (about->si_signo == SIGNALS_PAUSE || about->si_signo == SIGNALS_RESUME) {
    (void)kill(self->worker, about->si_signo);
    return;
  }
  if (about->si_signo == SIGHUP && sigaction(SIGHUP, NULL, &action) == 0 && action.sa_handler == SIG_IGN) return;
  if (!self->first)
    self->first = about->si_signo;
  else
    self->second = about->si_signo;
  if (about->si_code != SI_KERNEL) (void)kill(self->worker, about->si_signo);
}

static void look_for_hang(supervisor *self) {
  const board *at = board_own();
  const int64_t limit_ns = self->settings->run.step_timeout_ns;
  const uint64_t step = atomic_load_explicit(&at->step, memory_order_acquire);
  const int64_t start_ns = atomic_load_explicit(&at->step_start_ns, memory_order_relaxed);
  const bool is_step = step && monotonic_ns() - start_ns > limit_ns;
  if (limit_ns && (is_step || board_sink_ns(at) > limit_ns)) {
    self->hung = true;
    (void)kill(self->worker, SIGKILL);
  }
  if (!self->ended_ns && atomic_load_explicit(&at->done, memory_order_acquire)) self->ended_ns = monotonic_ns();
  if (self->ended_ns && monotonic_ns() - self->ended_ns > (int64_t)ENDING_S * 1000000000)
    (void)kill(self->worker, SIGKILL);
}

static void wait_for_worker(supervisor *self) {
  for (;;) {
    const pid_t ended = waitpid(self->worker, &self->status, WNOHANG);
    if (ended == self->worker || (ended < 0 && errno == ECHILD)) return;
    const struct timespec look = {.tv_nsec = (long)LOOK_MS * 1000000};
    siginfo_t about;
    const int number = sigtimedwait(&self->taken, &about, &look);
    if (number > 0 && number != SIGCHLD) hand_on(self, &about);
    look_for_hang(self);
  }
}

/* Processes that the worker left became this one's. */
static void end_children(void) {
  char path[64];
  (void)snprintf(path, sizeof path, "/proc/self/task/%d/children", (int)getpid());
  FILE *list = fopen(path, "r");
  char *line = NULL, *at, *end;
  size_t room = 0;
  uint32_t count = 0;
  if (list && getline(&line, &room, list) > 0) {
    long pid = strtol(line, &end, 10);
    for (at = line; end != at; pid = strtol(at, &end, 10)) {
      (void)kill((pid_t)pid, SIGKILL);
      count++;
      at = end;
    }
  }
  free(line);
  if (list) (void)fclose(list);
  while (count && waitpid(-1, NULL, 0) > 0) {}
  if (count)
    log_line(PD_LOG_WARN, NULL, "the run left %u process%s behind; %s ended", count, count == 1 ? "" : "es",
             count == 1 ? "it was" : "they were");
}

/* A plugin does not kill its own process: memory ran out, or somebody did. */
static bool is_killed(const supervisor *self) {
  return !self->hung && WIFSIGNALED(self->status) && WTERMSIG(self->status) == SIGKILL;
}

/* How the worker ended, in words. */
static void say_end(const supervisor *self, char *text, size_t room) {
  if (self->hung)
    snprintf(text, room, "took longer than [run] step_timeout = %g s and was ended",
             (double)self->settings->run.step_timeout_ns * 1e-9);
  else if (is_killed(self))
    snprintf(text, room, "was killed by signal 9 (%s), as the system does where memory runs out", strsignal(SIGKILL));
  else if (WIFSIGNALED(self->status))
    snprintf(text, room, "crashed with signal %d (%s)", WTERMSIG(self->status), strsignal(WTERMSIG(self->status)));
  else
    snprintf(text, room, "ended the process with exit code %d", WEXITSTATUS(self->status));
}

/* Whether the user ended it, so that no plugin is to blame; *code is what that means. */
static bool user_ended(const supervisor *self, int *code) {
  if (!self->first || self->hung) return false;
  const int last = self->second ? self->second : self->first;
  *code = 128 + last;
  if (WIFEXITED(self->status)) return self->second && WEXITSTATUS(self->status) > 128;
  return WTERMSIG(self->status) == self->first || WTERMSIG(self->status) == last;
}

static int judge(supervisor *self) {
  const board *at = board_own();
  const int code = atomic_load_explicit(&at->code, memory_order_relaxed);
  const bool done = atomic_load_explicit(&at->done, memory_order_acquire);
  const bool begun = atomic_load_explicit(&at->begun, memory_order_acquire);
  char place[192], end[192], sink[64];
  int user_code;
  if (done && WIFEXITED(self->status)) return code ? code : WEXITSTATUS(self->status);
  board_say(at, self->settings->scenario.plugin->table->name, place, sizeof place, sink);
  say_end(self, end, sizeof end);
  if (done) {
    error_line_print(FAULT_SCENARIO, NULL, "after the results were written the process %s: a plugin's own end", end);
    return code ? code : CODE_SCENARIO;
  }
  if (user_ended(self, &user_code)) {
    if (self->second) return user_code;
    const bool has_steps = atomic_load_explicit(&at->step_count, memory_order_acquire) != 0;
    fprintf(stderr, "pdhost: %s: the run was ended at once%s\n", signals_name(self->first),
            begun       ? ""
            : has_steps ? ", after its outputs were written"
                        : ", before its first step");
    if (begun) (void)rescue_outputs(self->settings, self->worker, signals_name(self->first), NULL);
    return user_code;
  }
  if (is_killed(self)) sink[0] = '\0';
  error_line_print(sink[0] ? FAULT_OUTPUT : FAULT_SCENARIO, NULL, "%s: %s", place, end);
  char reason[512];
  snprintf(reason, sizeof reason, "%s: %s", place, end);
  if (begun) (void)rescue_outputs(self->settings, self->worker, reason, sink[0] ? sink : NULL);
  return sink[0] ? CODE_OUTPUT : CODE_SCENARIO;
}

static void become_worker(const supervisor *self, pid_t parent) {
  sigprocmask(SIG_SETMASK, &self->before, NULL);
  (void)prctl(PR_SET_PDEATHSIG, SIGTERM);
  (void)prctl(PR_SET_NAME, WORKER_NAME); /* for ps and top */
  if (getppid() != parent) _exit(CODE_INTERNAL);
  signals_serve((int)parent);
}

static void forget_sink(config *settings, const char *name) {
  uint32_t kept = 0;
  for (uint32_t i = 0; i < settings->sink_count; i++)
    if (strcmp(settings->sinks[i].plugin->table->name, name) != 0) settings->sinks[kept++] = settings->sinks[i];
  settings->sink_count = kept;
}

/* Of a run that had not begun. */
static void forget_capture(board *at) {
  atomic_store_explicit(&at->begun, false, memory_order_relaxed);
  if (at->capture[0]) (void)unlink(at->capture);
  at->capture[0] = '\0';
}

/* A sink that ended the process when it was opened: nothing was done yet, and the run begins anew without it. */
static bool begins_anew(supervisor *self) {
  board *at = board_own();
  char place[192], end[192], sink[64];
  const bool is_over = atomic_load_explicit(&at->done, memory_order_acquire) || self->first || is_killed(self);
  board_say(at, "", place, sizeof place, sink);
  if (is_over || !sink[0] || strcmp(at->calls[0].what, SINK_OPENING) != 0) return false;
  say_end(self, end, sizeof end);
  error_line_print(FAULT_OUTPUT, NULL, "%s: %s; the run goes on without it", place, end);
  forget_sink(self->settings, sink);
  forget_capture(at);
  self->hung = false;
  atomic_store_explicit(&at->depth, 0, memory_order_relaxed);
  at->died = (uint32_t)self->worker;
  return true;
}

/* True in the worker, whose exit code is in *code. */
static bool run_worker(supervisor *self, int (*body)(config *settings), int *code) {
  const pid_t parent = getpid();
  board_make_room((uint64_t)self->settings->profile.max_memory_bytes);
  fflush(NULL); /* else the worker prints what is buffered here once more */
  self->worker = fork();
  if (self->worker != 0) return false;
  become_worker(self, parent);
  *code = body(self->settings);
  atomic_store_explicit(&board_own()->code, *code, memory_order_relaxed);
  atomic_store_explicit(&board_own()->done, true, memory_order_release);
  return true;
}

static int without_worker(supervisor *self, int (*body)(config *settings)) {
  log_line(PD_LOG_WARN, NULL, "no process for the run could be made (%s); it runs in this one", strerror(errno));
  sigprocmask(SIG_SETMASK, &self->before, NULL);
  board_unshare();
  return body(self->settings);
}

int supervise_run(config *settings, int (*body)(config *settings)) {
  supervisor self = {.settings = settings};
  bool output_failed = false;
  int code;
  if (!settings->run.isolate || !board_share()) return body(settings);
  (void)prctl(PR_SET_CHILD_SUBREAPER, 1);
  take_signals(&self);
  for (;;) {
    if (run_worker(&self, body, &code)) return code;
    if (self.worker < 0) return without_worker(&self, body);
    wait_for_worker(&self);
    end_children();
    if (!begins_anew(&self)) break;
    output_failed = true;
  }
  code = judge(&self);
  if (!atomic_load_explicit(&board_own()->begun, memory_order_acquire)) forget_capture(board_own());
  sigprocmask(SIG_SETMASK, &self.before, NULL);
  board_unshare();
  (void)prctl(PR_SET_CHILD_SUBREAPER, 0);
  return code == CODE_DONE && output_failed ? CODE_OUTPUT : code;
}
