/* See record_witness.h. */
#include "record_witness.h"

#include "base/monotonic.h"

#include <errno.h>
#include <fcntl.h>
#include <poll.h>
#include <sys/prctl.h>
#include <sys/wait.h>
#include <unistd.h>

/* The kernel hands a signal to all of a group, one process after the other. */
enum { PATIENCE_MS = 50 };
/* The process may have to wait for a processor. So pdhost asks it with a real-time signal, which the kernel hands over
 * after all others: before the process answers it has told what it got. No ring is drained meanwhile. */
#define QUESTION (SIGRTMIN + 3)
enum { ANSWER_MS = 1000 };
/* What one sender sends to the group and to pdhost within this time is one signal: `timeout` does that. */
#define SAME_NS INT64_C(500000000)

static void watch(const sigset_t *wanted, int answer) {
  siginfo_t about;
  sigset_t all, heard = *wanted;
  sigaddset(&heard, QUESTION);
  sigfillset(&all);
  (void)sigprocmask(SIG_SETMASK, &all, NULL);
  (void)prctl(PR_SET_NAME, "pdhost signals");
  for (int fd = 0; fd < 3; fd++) (void)close(fd); /* who reads pdhost's output is to see its end */
  for (;;) {
    const int number = sigwaitinfo(&heard, &about);
    const record_seen seen = {.number = number, .sender = about.si_pid, .ns = monotonic_ns()};
    if (number > 0 && number != SIGCHLD && write(answer, &seen, sizeof seen) < 0 && errno == EPIPE) _exit(0);
  }
}

void record_witness_start(record_witness *self, const sigset_t *wanted) {
  int ends[2];
  *self = (record_witness){.pid = 0};
  if (pipe2(ends, O_CLOEXEC | O_NONBLOCK) != 0) return;
  const pid_t parent = getpid();
  self->pid = fork();
  if (self->pid == 0) {
    (void)close(ends[0]);
    (void)prctl(PR_SET_PDEATHSIG, SIGKILL); /* else it would keep the lock of a session whose pdhost was killed */
    if (getppid() == parent) watch(wanted, ends[1]);
    _exit(0);
  }
  (void)close(ends[1]);
  self->answer = ends[0];
  if (self->pid > 0) return;
  (void)close(ends[0]);
  self->pid = 0;
}

static bool is_known(const record_witness *self, const siginfo_t *about, int64_t now_ns) {
  for (uint32_t i = 0; i < RECORD_WITNESSED; i++) {
    const record_seen *seen = &self->seen[i];
    if (seen->number == about->si_signo && seen->sender == about->si_pid && now_ns - seen->ns < SAME_NS) return true;
  }
  return false;
}

static void take_answers(record_witness *self) {
  record_seen seen;
  while (read(self->answer, &seen, sizeof seen) == (ssize_t)sizeof seen) {
    if (seen.number == QUESTION)
      self->unanswered--;
    else
      self->seen[self->next++ % RECORD_WITNESSED] = seen;
  }
}

bool record_witness_saw(record_witness *self, const siginfo_t *about) {
  const int64_t start = monotonic_ns();
  self->unanswered += self->pid && kill(self->pid, QUESTION) == 0;
  for (int64_t now = start; self->pid; now = monotonic_ns()) {
    take_answers(self);
    if (is_known(self, about, now)) return true;
    const int64_t until = start + (self->unanswered ? ANSWER_MS : PATIENCE_MS) * INT64_C(1000000);
    if (now >= until) return false;
    struct pollfd one = {.fd = self->answer, .events = POLLIN};
    if (poll(&one, 1, (int)((until - now) / 1000000) + 1) > 0 && !(one.revents & POLLIN)) return false;
  }
  return false;
}

void record_witness_end(record_witness *self) {
  if (!self->pid) return;
  (void)close(self->answer);
  (void)kill(self->pid, SIGKILL);
  while (waitpid(self->pid, NULL, 0) < 0 && errno == EINTR) {}
  *self = (record_witness){.pid = 0};
}
