/* See writers.h. */
#include "writers.h"

#include "feed.h"
#include "run/ending/crash.h"

#include "base/error.h"
#include "base/log.h"
#include "base/monotonic.h"
#include "trace/trace_memory.h"
#include "run/run_replay.h"

#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/prctl.h>
#include <sys/resource.h>
#include <sys/wait.h>
#include <unistd.h>

enum { KILLS_MOST = 3, STOPPED_MOST_S = 5 };
/* Between two looks there is less; more is time in which the supervisor was stopped, too, as by Ctrl-Z. */
#define LOOK_NS 500000000

static size_t kept_bytes(const config *settings) { return sizeof(writers_kept) + settings->sink_count + 1; }

bool writers_was_killed(int status, bool hung) { return !hung && WIFSIGNALED(status) && WTERMSIG(status) == SIGKILL; }

void writers_say_end(const config *settings, const board_calls *of, int status, bool hung, char *text, size_t room) {
  char where[CRASH_PLACE_BYTES];
  if (hung)
    snprintf(text, room, "took longer than [run] step_timeout = %g s and was ended",
             (double)settings->run.step_timeout_ns * 1e-9);
  else if (writers_was_killed(status, hung))
    snprintf(text, room, "was killed by signal 9 (%s), as the system does where memory runs out", strsignal(SIGKILL));
  else if (WIFSIGNALED(status))
    snprintf(text, room, "crashed with signal %d (%s)%s", WTERMSIG(status), strsignal(WTERMSIG(status)),
             crash_say(&of->crash, WTERMSIG(status), where));
  else
    snprintf(text, room, "ended the process with exit code %d", WEXITSTATUS(status));
}

/* ---- the process ---- */

/* The run's end is the worker's to decide: a signal that comes to all processes of a run changes nothing here, and one
 * that a sink raises is passed on. */
static void on_signal(int number, siginfo_t *about, void *unused) {
  (void)unused;
  if (about->si_pid == getpid()) (void)kill(getppid(), number);
}

static void take_signals(void) {
  static const int passed_on[] = {SIGINT, SIGTERM, SIGHUP, SIGQUIT};
  struct sigaction action, hang_up;
  memset(&action, 0, sizeof action);
  action.sa_sigaction = on_signal;
  action.sa_flags = SA_SIGINFO | SA_RESTART;
  (void)sigaction(SIGHUP, NULL, &hang_up);
  for (size_t i = 0; i < sizeof passed_on / sizeof passed_on[0]; i++) (void)sigaction(passed_on[i], &action, NULL);
  if (hang_up.sa_handler == SIG_IGN) (void)sigaction(SIGHUP, &hang_up, NULL); /* nohup */
  /* The write that meets them fails, and the sink says so. */
  (void)signal(SIGPIPE, SIG_IGN);
  (void)signal(SIGXFSZ, SIG_IGN);
  sigset_t none;
  sigemptyset(&none);
  (void)sigprocmask(SIG_SETMASK, &none, NULL);
}

static _Noreturn void write_outputs(const writers *self) {
  const replay_request request = {.path = board_own()->capture,
                                  .settings = self->settings,
                                  .left_out = self->kept->left_out,
                                  .printed = &self->kept->printed,
                                  .died = self->died,
                                  .died_count = self->died_count,
                                  .quiet = self->settings->quiet,
                                  .follows = true};
  (void)prctl(PR_SET_NAME, WRITER_NAME);
  board_become_writer();
  take_signals();
  trace_keep_large_blocks();
  crash_watch(&board_own()->writer.crash);
  feed_close(replay_run(&request));
  fflush(NULL);
  _exit(0);
}

static bool start(writers *self) {
  self->hung = self->was_stopped = false;
  self->stopped_ns = 0;
  atomic_store(&board_own()->writer.depth, 0);
  atomic_store(&board_own()->writer.crash.signal, 0);
  fflush(NULL); /* else the writer prints what is buffered here once more */
  const pid_t pid = fork();
  if (pid == 0) write_outputs(self);
  self->pid = pid > 0 ? pid : 0;
  if (pid > 0) feed_begin_writer((int)pid);
  return pid > 0;
}

/* The sink's place in the settings; -1: none of that name. */
static int64_t place_of(const config *settings, const char *sink) {
  for (uint32_t i = 0; sink[0] && i < settings->sink_count; i++)
    if (strcmp(settings->sinks[i].plugin->table->name, sink) == 0) return i;
  return -1;
}

static void leave_out(const writers *self, int64_t at) {
  self->kept->left_out[at] = 1;
  (void)atomic_fetch_add(&board_own()->feed.left_out, 1);
}

/* What a window holds has to fit into a file, be it in memory. */
static bool files_may_hold_window(const config *settings) {
  struct rlimit limit;
  return getrlimit(RLIMIT_FSIZE, &limit) == 0 && limit.rlim_cur >= (rlim_t)settings->profile.max_memory_bytes;
}

bool writers_begin(writers *self, config *settings) {
  *self = (writers){.settings = settings};
  feed_begin();
  void *shared = mmap(NULL, kept_bytes(settings), PROT_READ | PROT_WRITE, MAP_SHARED | MAP_ANONYMOUS, -1, 0);
  if (shared != MAP_FAILED) self->kept = shared;
  self->died = calloc(settings->sink_count + KILLS_MOST + 3, sizeof *self->died);
  if (!files_may_hold_window(settings)) {
    log_line(PD_LOG_WARN, NULL,
             "a file may not be as long as [profile] max_memory (ulimit -f): the sinks are in the process that trains, "
             "and one that crashes ends the training");
    return false;
  }
  return self->kept && self->died && start(self);
}

bool writers_begin_late(writers *self, const char *sink) {
  const int64_t at = place_of(self->settings, sink);
  if (!self->kept || !self->died) return false;
  if (at >= 0) leave_out(self, at);
  (void)atomic_fetch_add(&self->kept->printed, atomic_load(&board_own()->feed.printed));
  return start(self);
}

void writers_end(writers *self) {
  if (self->kept) (void)munmap(self->kept, kept_bytes(self->settings));
  free(self->died);
  *self = (writers){.pid = 0};
}

/* ---- how it ends ---- */

static bool give_up(writers *self, const char *place, const char *end) {
  error_line_print(FAULT_OUTPUT, NULL, "%s: %s; the outputs are not complete", place, end);
  crash_tell_callers();
  self->pid = 0;
  feed_gone();
  return false;
}

static bool start_again(writers *self) {
  if (atomic_load(&board_own()->feed.part) > 1)
    log_line(PD_LOG_WARN, NULL,
             "the disk had no room for the capture: what the sinks had of this run since then is not in the outputs");
  return start(self) || give_up(self, "the process that writes the outputs", strerror(errno));
}

/* A kill may come from anywhere; the second one in a row in the same sink is that sink's, which wants more memory than
 * there is. */
static bool replace(writers *self) {
  char place[192], end[CRASH_PLACE_BYTES + 192], sink[64];
  board_say_call(&board_own()->writer, place, sizeof place, sink);
  writers_say_end(self->settings, &board_own()->writer, self->status, self->hung, end, sizeof end);
  if (self->was_stopped) {
    snprintf(end, sizeof end, "was stopped for %d s, while the run waited for it, and was ended", STOPPED_MOST_S);
    sink[0] = '\0'; /* it has no part in that */
  }
  const int64_t at = place_of(self->settings, sink);
  const bool is_killed = writers_was_killed(self->status, self->hung);
  const bool is_again = is_killed && at >= 0 && strcmp(sink, self->killed_in) == 0;
  snprintf(self->killed_in, sizeof self->killed_in, "%s", is_killed ? sink : "");
  self->died[self->died_count++] = (uint32_t)self->pid;
  if (is_killed && !is_again) {
    if (++self->kills > KILLS_MOST) return give_up(self, place, end);
    log_line(PD_LOG_WARN, NULL, "the process that writes the outputs %s; they are written anew", end);
    return start_again(self);
  }
  if (at < 0 || self->kept->left_out[at]) return give_up(self, place, end);
  error_line_print(FAULT_OUTPUT, NULL, "%s: %s; the others are written without it", place,
                   is_again ? "was killed by signal 9 twice, as the system does where memory runs out" : end);
  crash_tell_callers();
  leave_out(self, at);
  return start_again(self);
}

static void note_spent(const struct rusage *use) {
  const int64_t us =
      (int64_t)(use->ru_utime.tv_sec + use->ru_stime.tv_sec) * 1000000 + use->ru_utime.tv_usec + use->ru_stime.tv_usec;
  (void)atomic_fetch_add(&board_own()->feed.spent_ns, us * 1000);
}

/* By SIGSTOP and its like, from outside or by a sink. A debugger's stop is none of these. */
static bool is_stopped(pid_t pid) {
  siginfo_t about;
  about.si_pid = 0;
  return waitid(P_PID, (id_t)pid, &about, WSTOPPED | WNOHANG | WNOWAIT) == 0 && about.si_pid == pid;
}

/* The worker waits for what the writer reads: a writer that is stopped would stop the training. */
static void look_for_stop(writers *self) {
  const int64_t now = monotonic_ns(), since = now - self->look_ns;
  self->look_ns = now;
  if (!is_stopped(self->pid)) {
    self->stopped_ns = 0;
    return;
  }
  self->stopped_ns += since < LOOK_NS ? since : LOOK_NS;
  if (self->was_stopped || self->stopped_ns <= (int64_t)STOPPED_MOST_S * 1000000000) return;
  self->was_stopped = true;
  (void)kill(self->pid, SIGKILL);
}

bool writers_look(writers *self, int64_t since_ns, int64_t now_ns) {
  struct rusage use;
  if (!self->pid) return false;
  if (!board_is_whole()) return true; /* the worker's doing; it will be ended */
  const int64_t limit_ns = self->settings->run.step_timeout_ns;
  if (limit_ns && !self->hung && board_call_ns(&board_own()->writer, since_ns, now_ns) > limit_ns) {
    self->hung = true;
    (void)kill(self->pid, SIGKILL);
  }
  look_for_stop(self);
  const pid_t ended = wait4(self->pid, &self->status, WNOHANG, &use);
  if (ended == 0 || (ended < 0 && errno == EINTR)) return true;
  if (ended > 0) note_spent(&use);
  if (atomic_load_explicit(&board_own()->feed.code, memory_order_acquire) < 0) return replace(self);
  self->pid = 0;
  return false;
}

void writers_kill(writers *self) {
  if (!self->pid) return;
  (void)kill(self->pid, SIGKILL);
  (void)waitpid(self->pid, NULL, 0);
  self->pid = 0;
}

void writers_drop(writers *self) {
  if (self->pid) self->died[self->died_count++] = (uint32_t)self->pid;
  writers_kill(self);
}
