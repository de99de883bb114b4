/* A run in a process of its own; see supervise.h. */
#include "supervise.h"

#include "board.h"
#include "ending/crash.h"
#include "ending/rescue.h"
#include "writing/feed.h"
#include "writing/own_place.h"
#include "writing/writers.h"

#include "base/error.h"
#include "base/log.h"
#include "base/monotonic.h"
#include "base/progress_line.h"
#include "base/shell_word.h"
#include "base/signals.h"
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

/* STOPPED_MS: looks lie no further apart but where this process was stopped, as by Ctrl-Z, and all others with it. */
enum { LOOK_MS = 250, STOPPED_MS = 1000, ENDING_S = 10, END_BYTES = CRASH_PLACE_BYTES + 192 };
/* A process that used less of the processor while ENDING_S passed does not get on. */
#define ENDING_USED_NS 100000000

typedef struct supervisor {
  config *settings;
  pid_t worker; /* 0: it has ended */
  writers writers;
  sigset_t taken, before;
  int64_t done_ns;    /* when the worker was done and had only to end, 0: it is not */
  int64_t busy_ns;    /* when it last was seen to get on since then */
  int64_t used_ns;    /* its processor time at that look */
  int64_t looked_ns;  /* the last look */
  int64_t resumed_ns; /* when this process went on after a stop: limits of time begin anew; 0: it was not stopped */
  int first, second;  /* signals that the user sent */
  bool hung;          /* the worker was ended for a step, or a plugin's call, that took too long */
  bool was_late;      /* it was ended, since it did not end by itself when it was done */
  bool was_ended;     /* it was, since it had overwritten the board */
  int status;         /* of waitpid, of the worker */
  int code;           /* what the run's end means */
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

/* A key of the terminal reaches the worker by itself. Under nohup a hang-up is ignored. */
static void hand_on(supervisor *self, const siginfo_t *about) {
  struct sigaction action;
  if (about->si_signo == SIGNALS_PAUSE || about->si_signo == SIGNALS_RESUME) {
    if (self->worker) (void)kill(self->worker, about->si_signo); /* 0 would be everyone of this group */
    return;
  }
  if (about->si_signo == SIGHUP && sigaction(SIGHUP, NULL, &action) == 0 && action.sa_handler == SIG_IGN) return;
  if (!self->first)
    self->first = about->si_signo;
  else
    self->second = about->si_signo;
  if (about->si_code != SI_KERNEL && self->worker) (void)kill(self->worker, about->si_signo);
}

static void look_for_stop(supervisor *self) {
  const int64_t now_ns = monotonic_ns();
  if (now_ns - self->looked_ns > (int64_t)STOPPED_MS * 1000000) self->resumed_ns = now_ns;
  self->looked_ns = now_ns;
}

/* As of the last look: this process may be stopped at any point, and what is older then is not hung. */
static void look_for_hang(supervisor *self) {
  const board *at = board_own();
  const int64_t limit_ns = self->settings->run.step_timeout_ns;
  const uint64_t step = atomic_load_explicit(&at->step, memory_order_acquire);
  const int64_t start_ns = atomic_load_explicit(&at->step_start_ns, memory_order_relaxed);
  const int64_t since_ns = start_ns > self->resumed_ns ? start_ns : self->resumed_ns;
  const bool is_step = step && self->looked_ns - since_ns > limit_ns;
  if (!self->worker || !board_is_whole()) return;
  if (limit_ns && (is_step || board_call_ns(&at->worker, self->resumed_ns, self->looked_ns) > limit_ns)) {
    self->hung = true;
    (void)kill(self->worker, SIGKILL);
  }
}

/* The worker is done, and what its process does at its end is a plugin's or a tool's: the search for leaks, for one. It
 * may take as long as a step, but for ENDING_S in which it does nothing. */
static void look_for_end(supervisor *self) {
  const int64_t limit_ns = self->settings->run.step_timeout_ns;
  const int64_t now_ns = self->looked_ns;
  clockid_t clock;
  if (!self->worker || !board_is_whole() || !atomic_load_explicit(&board_own()->done, memory_order_acquire)) return;
  const int64_t used_ns = clock_getcpuclockid(self->worker, &clock) == 0 ? pd_clock_ns(clock) : 0;
  if (!self->done_ns) self->done_ns = now_ns;
  if (self->done_ns < self->resumed_ns) self->done_ns = self->resumed_ns;
  if (!self->busy_ns || self->busy_ns < self->resumed_ns || used_ns - self->used_ns >= ENDING_USED_NS) {
    self->busy_ns = now_ns;
    self->used_ns = used_ns;
  }
  if (now_ns - self->busy_ns <= (int64_t)ENDING_S * 1000000000 && (!limit_ns || now_ns - self->done_ns <= limit_ns))
    return;
  self->was_late = true;
  (void)kill(self->worker, SIGKILL);
}

/* What would go on by what it has overwritten is ended first. */
static void look_for_damage(supervisor *self) {
  if (!self->worker || (board_is_whole() && progress_is_whole())) return;
  self->was_ended = true;
  (void)kill(self->worker, SIGKILL);
}

/* Ends the children of this process but for the writer; how many. */
static uint32_t end_all_but(pid_t writer) {
  char path[64];
  (void)snprintf(path, sizeof path, "/proc/self/task/%d/children", (int)getpid());
  FILE *list = fopen(path, "r");
  char *line = NULL, *at, *end;
  size_t room = 0;
  uint32_t count = 0;
  if (list && getline(&line, &room, list) > 0) {
    long pid = strtol(line, &end, 10);
    for (at = line; end != at; pid = strtol(at, &end, 10)) {
      at = end;
      if (pid == (long)writer) continue;
      (void)kill((pid_t)pid, SIGKILL);
      count += waitpid((pid_t)pid, NULL, 0) == (pid_t)pid;
    }
  }
  free(line);
  if (list) (void)fclose(list);
  return count;
}

/* Processes that the worker or a writer left became this one's, and so do those of a process that is ended here. */
static void end_children(const supervisor *self) {
  uint32_t count = 0, more;
  while ((more = end_all_but(self->writers.pid))) count += more;
  if (count)
    log_line(PD_LOG_WARN, NULL, "the run left %u process%s behind; %s ended", count, count == 1 ? "" : "es",
             count == 1 ? "it was" : "they were");
}

/* Whether the user ended it, so that no plugin is to blame; *code is what that means. */
static bool user_ended(const supervisor *self, int *code) {
  if (!self->first || self->hung) return false;
  const int last = self->second ? self->second : self->first;
  *code = 128 + last;
  if (WIFEXITED(self->status)) return self->second && WEXITSTATUS(self->status) > 128;
  return WTERMSIG(self->status) == self->first || WTERMSIG(self->status) == last;
}

/* What the worker had recorded goes to the sinks, and that is all. `sink`: in which it died, "" for none. */
static void rescue(supervisor *self, const char *reason, const char *sink) {
  const board *at = board_own();
  if (!at->capture[0] || atomic_load_explicit(&at->feed.code, memory_order_acquire) >= 0) return;
  rescue_capture(at, board_room_of_dead());
  feed_ends(reason);
  if (!atomic_load(&at->feed.is_on)) (void)writers_begin_late(&self->writers, sink);
}

/* The worker has overwritten what it shares with this process and the writer: all of that is made anew. `reason`: what
 * is to be said. */
static void replace_shared(supervisor *self, char *reason, size_t room) {
  char end[END_BYTES] = "was ended";
  progress_share(); /* first, since messages take its lock */
  if (!self->was_ended || !writers_was_killed(self->status, false))
    writers_say_end(self->settings, &board_own()->worker, self->status, false, end, sizeof end);
  (void)snprintf(reason, room,
                 "scenario %.63s: its process overwrote memory that it shares with its supervisor, and %.300s",
                 self->settings->scenario.plugin->table->name, end);
  end_children(self);
  writers_drop(&self->writers);
  board_renew();
  feed_begin();
}

static int judge_overwritten(supervisor *self, const char *reason) {
  const board *at = board_own();
  error_line_print(FAULT_SCENARIO, NULL, "%s", reason);
  crash_tell_callers();
  if (!atomic_load(&at->begun) || !at->capture[0]) return CODE_SCENARIO;
  log_line(PD_LOG_WARN, NULL,
           "the window that was open, and steps that no file has yet, were in that memory; they are left out");
  rescue_capture(at, NULL);
  feed_ends(reason);
  (void)writers_begin_late(&self->writers, "");
  return CODE_SCENARIO;
}

/* The worker has ended: what that means. */
static int judge(supervisor *self) {
  const board *at = board_own();
  const int code = atomic_load_explicit(&at->code, memory_order_relaxed);
  const bool done = atomic_load_explicit(&at->done, memory_order_acquire);
  const bool begun = atomic_load_explicit(&at->begun, memory_order_acquire);
  char place[192], end[END_BYTES], sink[64];
  int user_code;
  if (done && WIFEXITED(self->status)) return code ? code : WEXITSTATUS(self->status);
  board_say(at, self->settings->scenario.plugin->table->name, place, sizeof place, sink);
  writers_say_end(self->settings, &at->worker, self->status, self->hung, end, sizeof end);
  if (done) {
    error_line_print(FAULT_SCENARIO, NULL, "after the results were written the process %s: a plugin's own end",
                     self->was_late ? "did not end and was ended" : end);
    crash_tell_callers();
    return code ? code : CODE_SCENARIO;
  }
  if (user_ended(self, &user_code)) {
    if (self->second) {
      writers_kill(&self->writers);
      return user_code;
    }
    const bool has_steps = atomic_load_explicit(&at->step_count, memory_order_acquire) != 0;
    fprintf(stderr, "pdhost: %s: the run was ended at once%s\n", signals_name(self->first),
            begun       ? ""
            : has_steps ? ", after its outputs were written"
                        : ", before its first step");
    if (begun) rescue(self, signals_name(self->first), "");
    return user_code;
  }
  if (writers_was_killed(self->status, self->hung)) sink[0] = '\0';
  error_line_print(sink[0] ? FAULT_OUTPUT : FAULT_SCENARIO, NULL, "%s: %s", place, end);
  crash_tell_callers();
  char reason[sizeof at->feed.reason];
  snprintf(reason, sizeof reason, "%s: %.310s", place, end);
  if (begun) rescue(self, reason, sink);
  return sink[0] ? CODE_OUTPUT : CODE_SCENARIO;
}

/* The worker has ended: nothing follows for the writer. */
static void end_worker(supervisor *self, int *held) {
  const board *at = board_own();
  const bool is_whole = board_is_whole() && progress_is_whole();
  char reason[sizeof at->feed.reason];
  self->worker = 0;
  if (!is_whole) replace_shared(self, reason, sizeof reason);
  end_children(self);
  *held = at->capture[0] ? capture_lock(at->capture) : -1; /* no other run takes it for one that a killed run left */
  self->code = is_whole ? judge(self) : judge_overwritten(self, reason);
  feed_ends(NULL); /* where it was not said */
}

/* What a run that died leaves of its capture. */
static void settle_capture(const supervisor *self, int held) {
  board *at = board_own();
  const board_feed *feed = &at->feed;
  if (at->capture[0] && !atomic_load_explicit(&at->begun, memory_order_acquire)) {
    (void)unlink(at->capture); /* it was not begun */
  } else if (at->capture[0] && !self->second) {
    const bool whole = atomic_load(&feed->code) == CODE_DONE && !atomic_load(&feed->left_out);
    if (whole && !self->settings->run.keep_capture) {
      (void)unlink(at->capture);
    } else {
      (void)capture_finish(at->capture);
      char word[SHELL_WORD_BYTES];
      fprintf(stderr, "pdhost: the capture stays: pdhost recover %s\n", shell_word_in(word, at->capture));
    }
  }
  if (held >= 0) (void)close(held);
}

static void wait_for_all(supervisor *self) {
  int held = -1;
  self->looked_ns = monotonic_ns();
  for (;;) {
    look_for_damage(self);
    const pid_t ended = self->worker ? waitpid(self->worker, &self->status, WNOHANG) : 0;
    if (ended && (ended == self->worker || errno == ECHILD)) end_worker(self, &held);
    if (!writers_look(&self->writers, self->resumed_ns, self->looked_ns) && !self->worker) break;
    const struct timespec look = {.tv_nsec = (long)LOOK_MS * 1000000};
    siginfo_t about;
    const int number = sigtimedwait(&self->taken, &about, &look);
    look_for_stop(self);
    if (number > 0 && number != SIGCHLD) hand_on(self, &about);
    look_for_hang(self);
    look_for_end(self);
  }
  end_children(self); /* a sink's */
  settle_capture(self, held);
}

static void become_worker(const supervisor *self, pid_t parent) {
  sigprocmask(SIG_SETMASK, &self->before, NULL);
  (void)prctl(PR_SET_PDEATHSIG, SIGTERM);
  (void)prctl(PR_SET_NAME, WORKER_NAME); /* for ps and top */
  atomic_store(&board_own()->feed.worker, (int)getpid());
  if (getppid() != parent) _exit(CODE_INTERNAL);
  signals_serve((int)parent);
  crash_watch(&board_own()->worker.crash);
}

/* True in the worker, whose exit code is in *code. */
static bool run_worker(supervisor *self, int (*body)(config *settings), int *code) {
  const pid_t parent = getpid();
  board_make_room((uint64_t)self->settings->profile.max_memory_bytes);
  (void)writers_begin(&self->writers, self->settings);
  fflush(NULL); /* else the worker prints what is buffered here once more */
  self->worker = fork();
  if (self->worker != 0) return false;
  become_worker(self, parent);
  writers_end(&self->writers); /* the supervisor's */
  *code = body(self->settings);
  atomic_store_explicit(&board_own()->code, *code, memory_order_relaxed);
  atomic_store_explicit(&board_own()->done, true, memory_order_release);
  return true;
}

static int without_worker(supervisor *self, int (*body)(config *settings)) {
  log_line(PD_LOG_WARN, NULL, "no process for the run could be made (%s); it runs in this one", strerror(errno));
  writers_kill(&self->writers);
  writers_end(&self->writers);
  sigprocmask(SIG_SETMASK, &self->before, NULL);
  own_place_forget();
  board_unshare();
  return body(self->settings);
}

int supervise_run(config *settings, int (*body)(config *settings)) {
  supervisor self = {.settings = settings};
  int code;
  if (!settings->run.isolate || !board_share()) return body(settings);
  (void)prctl(PR_SET_CHILD_SUBREAPER, 1);
  progress_share();
  take_signals(&self);
  own_place_keep();
  if (run_worker(&self, body, &code)) return code;
  if (self.worker < 0) return without_worker(&self, body);
  wait_for_all(&self);
  writers_end(&self.writers);
  sigprocmask(SIG_SETMASK, &self.before, NULL);
  own_place_forget();
  board_unshare();
  (void)prctl(PR_SET_CHILD_SUBREAPER, 0);
  return self.code;
}
