/* See record_program.h. */
#include "record_program.h"

#include "base/monotonic.h"
#include "base/signals.h"
#include "capture/record_board.h"

#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/wait.h>
#include <time.h>
#include <unistd.h>

/* Ctrl-C reaches the program and pdhost, and so does what `timeout` sends. */
#define SAME_NS INT64_C(500000000)

static void take_signals(record_program *self) {
  static const int numbers[] = {SIGCHLD, SIGINT, SIGTERM, SIGHUP, SIGQUIT, SIGUSR1, SIGUSR2};
  signals_hear_pauses(); /* so that pdhost pause sees it; they are waited for below */
  sigemptyset(&self->taken);
  for (size_t i = 0; i < sizeof numbers / sizeof numbers[0]; i++) sigaddset(&self->taken, numbers[i]);
  sigaddset(&self->taken, SIGNALS_PAUSE);
  sigaddset(&self->taken, SIGNALS_RESUME);
  sigprocmask(SIG_BLOCK, &self->taken, &self->before);
  /* Where the parent ignores it, as daemons do, a child cannot be waited for. */
  self->child_ends = signal(SIGCHLD, SIG_DFL);
}

/* The folder of the hook comes first; it goes on to the one that it hides. Where that cannot be, no step is marked,
 * which is reported at the end. */
static void lead_python(const char *library) {
  const char *before = getenv("PYTHONPATH"), *end = strrchr(library, '/');
  char *path = NULL;
  const bool is_set = before && *before;
  if (asprintf(&path, "%.*s/" RECORD_TORCH_FOLDER "%s%s", (int)(end ? end - library : 0), library, is_set ? ":" : "",
               is_set ? before : "") > 0)
    (void)setenv("PYTHONPATH", path, 1);
  free(path);
}

static void become_program(const record_program *self, int failed) {
  (void)signal(SIGCHLD, self->child_ends);
  sigprocmask(SIG_SETMASK, &self->before, NULL);
  if (self->library && (setenv("CUDA_INJECTION64_PATH", self->library, 1) != 0 ||
                        setenv("NVTX_INJECTION64_PATH", self->library, 0) != 0 || /* another tool's stays */
                        setenv(RECORD_ENVIRONMENT, self->folder, 1) != 0))
    _exit(RECORD_NOT_EXECUTABLE);
  if (self->library && (self->marks_torch || self->yields)) {
    lead_python(self->library);
    char wanted[32];
    (void)snprintf(wanted, sizeof wanted, "%s%s%s%s", self->marks_torch ? "marks," : "",
                   self->marks_torch && self->samples_code ? "code," : "", self->marks_modules ? "modules," : "",
                   self->yields ? "yield" : "");
    (void)setenv(RECORD_HOOK_ENVIRONMENT, wanted, 1);
  }
  execvp(self->command[0], self->command);
  const int why = errno;
  (void)!write(failed, &why, sizeof why);
  _exit(why == ENOENT ? RECORD_NOT_FOUND : RECORD_NOT_EXECUTABLE);
}

pd_status record_program_start(record_program *self, error *err) {
  int failed[2], why = 0;
  take_signals(self);
  record_witness_start(&self->witness, &self->taken); /* before there is a pipe, which it would hold open */
  if (pipe2(failed, O_CLOEXEC) != 0) {
    why = errno;
    record_program_end(self);
    self->status = RECORD_NOT_EXECUTABLE << 8;
    return error_set(err, PD_IO, CODE_INTERNAL, "record: no pipe can be made: %s", strerror(why));
  }
  fflush(NULL); /* else the child prints what is buffered here once more */
  self->pid = fork();
  if (self->pid == 0) become_program(self, failed[1]);
  if (self->pid < 0) why = errno;
  (void)close(failed[1]);
  if (self->pid > 0 && read(failed[0], &why, sizeof why) == (ssize_t)sizeof why) (void)waitpid(self->pid, NULL, 0);
  (void)close(failed[0]);
  if (!why) return PD_OK;
  record_program_end(self);
  self->status = (why == ENOENT ? RECORD_NOT_FOUND : RECORD_NOT_EXECUTABLE) << 8;
  return error_set(err, PD_INVALID, FAULT_ARGUMENT, "record: %s: cannot be started: %s", self->command[0],
                   strerror(why));
}

/* What the terminal sends, and what a person or a launcher sends to the process group. */
static bool program_has_it(record_program *self, const siginfo_t *about) {
  if (about->si_code == SI_KERNEL) return true;
  return getpgid(self->pid) == getpgrp() && record_witness_saw(&self->witness, about);
}

static void hand_on(record_program *self, const siginfo_t *about) {
  const bool is_asking = about->si_code == SI_QUEUE && about->si_value.sival_int == RECORD_ASKING;
  if (about->si_signo == SIGNALS_PAUSE || about->si_signo == SIGNALS_RESUME)
    self->is_paused = about->si_signo == SIGNALS_PAUSE;
  else if (about->si_signo == SIGUSR2 && self->takes_asking && (is_asking || !self->takes_signal))
    self->askings++;
  else if (about->si_signo == SIGUSR2 && self->takes_signal)
    self->signals++;
  else if (about->si_signo != SIGCHLD && !program_has_it(self, about))
    (void)kill(self->pid, about->si_signo);
}

static struct timespec span(int milliseconds) {
  return (struct timespec){.tv_sec = milliseconds / 1000, .tv_nsec = (long)(milliseconds % 1000) * 1000000};
}

bool record_program_wait(record_program *self, int milliseconds) {
  const struct timespec limit = span(milliseconds);
  siginfo_t about;
  if (!self->over && waitpid(self->pid, &self->status, WNOHANG) == self->pid) {
    self->over = true;
    self->over_ns = monotonic_ns();
  }
  if (self->over) return true;
  if (sigtimedwait(&self->taken, &about, &limit) > 0) hand_on(self, &about);
  return false;
}

/* A terminal that has gone asks for nothing: what is to be written is written. */
int record_program_asked(record_program *self, int milliseconds) {
  const struct timespec limit = span(milliseconds);
  const int number = sigtimedwait(&self->taken, NULL, &limit);
  const bool is_end = number == SIGINT || number == SIGTERM || number == SIGQUIT;
  return is_end && monotonic_ns() - self->over_ns >= SAME_NS ? number : 0;
}

int record_program_code(const record_program *self) {
  return WIFSIGNALED(self->status) ? 128 + WTERMSIG(self->status) : WEXITSTATUS(self->status);
}

void record_program_end(record_program *self) {
  record_witness_end(&self->witness);
  (void)signal(SIGCHLD, self->child_ends);
}
