/* See record_report.h. */
#include "record_report.h"

#include "record_partial.h"

#include "run/writing/writers.h"
#include "base/signals.h"

#include <errno.h>
#include <fcntl.h>
#include <signal.h>
#include <stdio.h>
#include <string.h>
#include <sys/prctl.h>
#include <sys/wait.h>
#include <unistd.h>

static void make_report(config *settings, const import_request *request, pid_t parent, int answer) {
  (void)prctl(PR_SET_PDEATHSIG, SIGKILL);
  (void)prctl(PR_SET_NAME, WRITER_NAME);
  if (getppid() != parent) _exit(CODE_INTERNAL);
  const int code = import_execute(settings, request);
  fflush(NULL);
  (void)!write(answer, &code, sizeof code);
  _exit(code);
}

void record_report_begin(record_report *self, config *settings, const import_request *request) {
  int answer[2] = {-1, -1};
  const pid_t parent = getpid();
  fflush(NULL); /* else the child prints what is buffered here once more */
  self->settings = settings;
  self->pid = pipe2(answer, O_CLOEXEC | O_NONBLOCK) == 0 ? fork() : -1;
  if (self->pid == 0) make_report(settings, request, parent, answer[1]);
  if (answer[1] >= 0) (void)close(answer[1]);
  self->answer = answer[0];
  if (self->pid > 0) return;
  if (answer[0] >= 0) (void)close(answer[0]);
  self->pid = 0;
  self->code = import_execute(settings, request);
}

/* A sink that calls exit(0) has not made a report. */
static void take_end(record_report *self, int status) {
  const pid_t pid = self->pid;
  self->pid = 0;
  if (read(self->answer, &self->code, sizeof self->code) != (ssize_t)sizeof self->code) {
    self->code = -1;
    record_partial_remove(self->settings, pid);
    if (WIFSIGNALED(status))
      (void)snprintf(self->why, sizeof self->why, "the report crashed (signal %d, %s)", WTERMSIG(status),
                     strsignal(WTERMSIG(status)));
    else
      (void)snprintf(self->why, sizeof self->why, "a plugin ended the report with exit code %d", WEXITSTATUS(status));
  }
  (void)close(self->answer);
}

bool record_report_over(record_report *self) {
  int status = 0;
  if (self->pid && waitpid(self->pid, &status, WNOHANG) == self->pid) take_end(self, status);
  return !self->pid;
}

void record_report_give_up(record_report *self, int number) {
  const pid_t pid = self->pid;
  int status = 0;
  if (pid) {
    (void)kill(pid, SIGKILL);
    while (waitpid(pid, &status, 0) < 0 && errno == EINTR) {}
    take_end(self, status); /* one that had just come to its end has made the report */
  } else {
    self->code = -1;
  }
  if (self->code < 0) (void)snprintf(self->why, sizeof self->why, "%s ended the report", signals_name(number));
}
