/* Child processes; see child.h. */
#include "child.h"

#include "monotonic.h"
#include "signals.h"

#include <errno.h>
#include <fcntl.h>
#include <poll.h>
#include <signal.h>
#include <stdio.h>
#include <string.h>
#include <sys/prctl.h>
#include <sys/wait.h>
#include <time.h>
#include <unistd.h>

/* A signal that comes just before a poll does not end it: it is looked for so often. */
enum { LOOK_MS = 50 };

static int64_t now_ms(void) { return monotonic_ns() / 1000000; }

/* Reads both pipes until they end, a signal comes or the deadline passes. */
static void collect(int report, int output, int64_t deadline_ms, child_result *result) {
  size_t used = 0;
  struct pollfd ends[2] = {{.fd = report, .events = POLLIN}, {.fd = output, .events = POLLIN}};
  while (ends[0].fd >= 0 || ends[1].fd >= 0) {
    const int64_t left = deadline_ms - now_ms();
    result->timed_out = left <= 0;
    result->interrupted = signals_pending() != 0;
    if (result->timed_out || result->interrupted) return;
    const int waits = poll(ends, 2, left < LOOK_MS ? (int)left : LOOK_MS);
    if (waits < 0 && errno != EINTR) return;
    if (waits <= 0) continue;
    for (int i = 0; i < 2; i++) {
      char piece[4096];
      if (ends[i].fd < 0 || !ends[i].revents) continue;
      const ssize_t bytes = read(ends[i].fd, piece, sizeof piece);
      if (bytes < 0 && errno == EINTR) continue;
      if (bytes <= 0) {
        ends[i].fd = -1;
        continue;
      }
      if (i == 1) {
        result->stdout_bytes += (uint64_t)bytes;
        continue;
      }
      const size_t room = sizeof result->text - 1 - used, taken = (size_t)bytes < room ? (size_t)bytes : room;
      memcpy(result->text + used, piece, taken);
      used += taken;
    }
  }
}

static void run_child(int (*body)(void *, int), void *user, int report, int output) {
  prctl(PR_SET_PDEATHSIG, SIGKILL);
  dup2(output, STDOUT_FILENO);
  close(output);
  const int code = body(user, report);
  fflush(stdout);
  _exit(code);
}

bool child_call(int (*body)(void *user, int report), void *user, int timeout_s, child_result *result) {
  int report[2], output[2];
  *result = (child_result){.exit_code = -1};
  if (pipe2(report, O_CLOEXEC) != 0) return false;
  if (pipe2(output, O_CLOEXEC) != 0) {
    close(report[0]);
    close(report[1]);
    return false;
  }
  fflush(NULL); /* else the child prints what is buffered here once more */
  const pid_t pid = fork();
  if (pid == 0) {
    close(report[0]);
    close(output[0]);
    run_child(body, user, report[1], output[1]);
  }
  close(report[1]);
  close(output[1]);
  if (pid > 0) {
    int status = 0;
    collect(report[0], output[0], now_ms() + (int64_t)timeout_s * 1000, result);
    if (result->timed_out || result->interrupted) kill(pid, SIGKILL);
    while (waitpid(pid, &status, 0) < 0 && errno == EINTR) {}
    if (WIFEXITED(status))
      result->exit_code = WEXITSTATUS(status);
    else if (WIFSIGNALED(status))
      result->signal = WTERMSIG(status);
  }
  close(report[0]);
  close(output[0]);
  return pid > 0;
}

const char *child_ending(const child_result *result, char *text, size_t room) {
  text[0] = '\0';
  if (result->timed_out)
    snprintf(text, room, "it did not end in time");
  else if (result->signal)
    snprintf(text, room, "it crashed (signal %d, %s)", result->signal, strsignal(result->signal));
  return text;
}

bool child_is_gone(uint32_t pid) {
  char path[64], line[512] = "";
  if (kill((pid_t)pid, 0) != 0) return errno == ESRCH;
  (void)snprintf(path, sizeof path, "/proc/%u/stat", pid);
  FILE *file = fopen(path, "r");
  const bool read = file && fgets(line, sizeof line, file);
  if (file) (void)fclose(file);
  const char *state = read ? strrchr(line, ')') : NULL;
  return state && strncmp(state, ") Z", 3) == 0;
}
