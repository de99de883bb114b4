/* See host_sample.h. A blocked thread's call is in /proc/PID/task/TID/syscall (proc(5)): its number and arguments,
 * "running" where it is not blocked, -1 where it is blocked outside of a call. Where that file may not be read, the
 * thread's state and the kernel's function that it waits in tell less. */
#include "host_sample.h"

#include <pdhost/clocks.h>

#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/syscall.h>
#include <unistd.h>

/* ---- calls ---- */

typedef struct host_call {
  long number;
  const char *name;
  pd_host_state state;
  bool has_file; /* its first argument is a descriptor */
} host_call;

#define CALL(name, state, has_file)                                                                                    \
  { SYS_##name, #name, PD_HOST_##state, has_file }
static const host_call calls[] = {
    CALL(read, READ, true),      CALL(readv, READ, true),        CALL(pread64, READ, true),
    CALL(preadv, READ, true),    CALL(recvfrom, READ, true),     CALL(recvmsg, READ, true),
    CALL(recvmmsg, READ, true),  CALL(accept4, READ, true),      CALL(ppoll, POLL, false),
    CALL(pselect6, POLL, false), CALL(epoll_pwait, POLL, false),
#ifdef SYS_poll
    CALL(poll, POLL, false),     CALL(select, POLL, false),      CALL(epoll_wait, POLL, false),
    CALL(accept, READ, true),
#endif
    CALL(futex, FUTEX, false),   CALL(nanosleep, SLEEP, false),  CALL(clock_nanosleep, SLEEP, false),
    CALL(write, CALL, true),     CALL(writev, CALL, true),       CALL(pwrite64, CALL, true),
    CALL(sendto, CALL, true),    CALL(sendmsg, CALL, true),      CALL(fsync, CALL, true),
    CALL(fdatasync, CALL, true), CALL(openat, CALL, false),      CALL(ioctl, CALL, true),
    CALL(wait4, CALL, false),    CALL(waitid, CALL, false),      CALL(munmap, CALL, false),
    CALL(mmap, CALL, false),     CALL(madvise, CALL, false),     CALL(sched_yield, CALL, false),
    CALL(flock, CALL, true),
};

/* "a pipe": what the descriptor leads to. NULL: not known. */
static const char *kind_of_file(pid_t pid, unsigned long descriptor) {
  char path[64], target[64];
  (void)snprintf(path, sizeof path, "/proc/%d/fd/%lu", (int)pid, descriptor);
  const ssize_t bytes = readlink(path, target, sizeof target - 1);
  if (bytes <= 0) return NULL;
  target[bytes] = '\0';
  if (strncmp(target, "pipe:", 5) == 0) return "a pipe";
  if (strncmp(target, "socket:", 7) == 0) return "a socket";
  if (strncmp(target, "/dev/pts/", 9) == 0 || strcmp(target, "/dev/tty") == 0) return "a terminal";
  if (strncmp(target, "/dev/", 5) == 0) return "a device";
  return target[0] == '/' ? "a file" : NULL;
}

static void name_call(pid_t pid, long number, unsigned long first, host_sample *out) {
  out->state = PD_HOST_CALL;
  (void)snprintf(out->detail, sizeof out->detail, "call %u of the system", (unsigned)number);
  for (size_t i = 0; i < sizeof calls / sizeof calls[0]; i++) {
    if (calls[i].number != number) continue;
    const char *file = calls[i].has_file ? kind_of_file(pid, first) : NULL;
    out->state = calls[i].state;
    (void)snprintf(out->detail, sizeof out->detail, "%s()%s%s", calls[i].name, file ? " of " : "", file ? file : "");
    return;
  }
}

/* ---- files ---- */

static int open_file(pid_t pid, pid_t tid, const char *name) {
  char path[64];
  (void)snprintf(path, sizeof path, "/proc/%d/task/%d/%s", (int)pid, (int)tid, name);
  return open(path, O_RDONLY | O_CLOEXEC);
}

/* The file as text; false: there is nothing to read. */
static bool read_text(int file, char *out, size_t room) {
  const ssize_t bytes = file >= 0 ? pread(file, out, room - 1, 0) : -1;
  if (bytes <= 0) return false;
  out[bytes] = '\0';
  return true;
}

bool host_probe_open(host_probe *self, pid_t pid, pid_t tid) {
  *self = (host_probe){.pid = pid,
                       .tid = tid,
                       .syscall = open_file(pid, tid, "syscall"),
                       .stat = open_file(pid, tid, "stat"),
                       .wchan = open_file(pid, tid, "wchan"),
                       .schedule = open_file(pid, tid, "schedstat")};
  return self->stat >= 0;
}

void host_probe_close(host_probe *self) {
  const int files[] = {self->syscall, self->stat, self->wchan, self->schedule};
  for (size_t i = 0; i < sizeof files / sizeof files[0]; i++)
    if (files[i] >= 0) (void)close(files[i]);
  self->syscall = self->stat = self->wchan = self->schedule = -1;
}

/* By the state letter of stat, and the function that the kernel waits in, which may be hidden. */
static bool look_at_state(const host_probe *self, host_sample *out) {
  static const struct {
    const char *begin;
    pd_host_state state;
    const char *detail;
  } waits[] = {{"pipe_read", PD_HOST_READ, "read of a pipe"}, {"anon_pipe_read", PD_HOST_READ, "read of a pipe"},
               {"futex", PD_HOST_FUTEX, "futex()"},           {"do_poll", PD_HOST_POLL, "poll()"},
               {"do_sys_poll", PD_HOST_POLL, "poll()"},       {"do_select", PD_HOST_POLL, "select()"},
               {"ep_poll", PD_HOST_POLL, "epoll_wait()"},     {"do_epoll_wait", PD_HOST_POLL, "epoll_wait()"},
               {"hrtimer_nanosleep", PD_HOST_SLEEP, "sleep"}, {"do_nanosleep", PD_HOST_SLEEP, "sleep"}};
  char text[512], where[64];
  if (!read_text(self->stat, text, sizeof text)) return false;
  const char *behind = strrchr(text, ')'); /* a name may hold anything */
  const bool is_told = behind && behind[1] == ' ';
  const int letter = is_told ? behind[2] : 'Z';
  if (letter == 'Z' || letter == 'X') return false;
  out->state = letter == 'R' ? PD_HOST_RUNS : PD_HOST_BLOCKED;
  if (letter == 'R' || !read_text(self->wchan, where, sizeof where)) return true;
  for (size_t i = 0; i < sizeof waits / sizeof waits[0]; i++)
    if (strncmp(where, waits[i].begin, strlen(waits[i].begin)) == 0) {
      out->state = waits[i].state;
      (void)snprintf(out->detail, sizeof out->detail, "%s", waits[i].detail);
    }
  return true;
}

/* "12431620 56114833 13": time on a processor, without one, and turns. */
static void look_at_schedule(const char *text, host_sample *out) {
  char *used, *delayed, *turns;
  (void)strtoull(text, &used, 10);
  out->delayed_ns = strtoull(used, &delayed, 10);
  out->turns = strtoull(delayed, &turns, 10);
  out->has_schedule = used != text && delayed != used && turns != delayed;
}

bool host_probe_look(const host_probe *self, bool schedule, host_sample *out) {
  char text[256], *end;
  *out = (host_sample){.before_ns = pd_clock_ns(CLOCK_REALTIME)};
  bool lives = true;
  if (!read_text(self->syscall, text, sizeof text)) {
    lives = look_at_state(self, out);
  } else if (strncmp(text, "running", 7) == 0) {
    out->state = PD_HOST_RUNS;
  } else {
    const long number = strtol(text, &end, 10);
    if (number < 0) {
      out->state = PD_HOST_FAULT;
      (void)snprintf(out->detail, sizeof out->detail, "a page fault");
    } else {
      name_call(self->pid, number, strtoul(end, NULL, 16), out);
    }
  }
  if (lives && schedule && read_text(self->schedule, text, sizeof text)) look_at_schedule(text, out);
  out->after_ns = pd_clock_ns(CLOCK_REALTIME);
  return lives;
}
