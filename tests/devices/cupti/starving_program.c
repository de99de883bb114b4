/*
 * A CUDA program without CUDA whose device starves, for tests of `pdhost record`: each step waits as it is told, then
 * launches a kernel that runs for a millisecond.
 *
 *   starving_program HOW MILLISECONDS STEPS
 *
 *   read, poll      for a pipe that a thread writes to      child   for a pipe that a child writes to, busy until then
 *   futex           for a thread that sleeps                crowd   for a thread that computes
 *   sleep, burn     for time to pass; computing
 */
#include "fake_cupti.h"

#include <pdhost/clocks.h>

#include <dlfcn.h>
#include <poll.h>
#include <pthread.h>
#include <semaphore.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/wait.h>
#include <time.h>
#include <unistd.h>

static struct {
  int wanted[2], made[2]; /* pipes */
  sem_t asked, done;
  unsigned milliseconds;
} self;

static void burn(void) {
  const int64_t until = pd_monotonic_ns() + self.milliseconds * INT64_C(1000000);
  while (pd_monotonic_ns() < until) {}
}

static void *write_later(void *computes) {
  char byte;
  while (read(self.wanted[0], &byte, 1) == 1) {
    if (computes)
      burn();
    else
      usleep(self.milliseconds * 1000);
    (void)!write(self.made[1], &byte, 1);
  }
  return NULL;
}

static void *post_later(void *computes) {
  for (;;) {
    while (sem_wait(&self.asked) != 0) {}
    if (computes)
      burn();
    else
      usleep(self.milliseconds * 1000);
    (void)sem_post(&self.done);
  }
  return NULL;
}

static void start_helper(const char *how) {
  static char busy;
  pthread_t thread;
  if (pipe(self.wanted) != 0 || pipe(self.made) != 0 || sem_init(&self.asked, 0, 0) || sem_init(&self.done, 0, 0))
    abort();
  if (!strcmp(how, "child")) {
    if (fork() == 0) {
      (void)close(self.wanted[1]);
      (void)write_later(&busy);
      _exit(0);
    }
    (void)close(self.wanted[0]);
  } else if (!strcmp(how, "futex") || !strcmp(how, "crowd")) {
    if (pthread_create(&thread, NULL, post_later, strcmp(how, "crowd") ? NULL : &busy) != 0) abort();
  } else if (pthread_create(&thread, NULL, write_later, NULL) != 0) {
    abort();
  }
}

static void starve(const char *how) {
  struct pollfd made = {.fd = self.made[0], .events = POLLIN};
  char byte = 'x';
  if (!strcmp(how, "sleep")) {
    usleep(self.milliseconds * 1000);
  } else if (!strcmp(how, "burn")) {
    burn();
  } else if (!strcmp(how, "futex") || !strcmp(how, "crowd")) {
    (void)sem_post(&self.asked);
    while (sem_wait(&self.done) != 0) {}
  } else {
    (void)!write(self.wanted[1], &byte, 1);
    if (!strcmp(how, "poll")) (void)poll(&made, 1, -1);
    (void)!read(self.made[0], &byte, 1);
  }
}

/* The device is busy from the first launch until the wait for it ends. */
static void step(void) {
  static const char *const names[] = {"_Z7forwardPf", "_Z8backwardPf", "_Z12adam_updatePf"};
  uint32_t launches[3];
  for (int i = 0; i < 3; i++) launches[i] = fake_driver_launch(names[i]);
  const uint64_t begun = (uint64_t)pd_clock_ns(CLOCK_REALTIME);
  usleep(1000);
  const uint64_t each = ((uint64_t)pd_clock_ns(CLOCK_REALTIME) - begun) / 3;
  for (unsigned i = 0; i < 3; i++) fake_finish_at(launches[i], begun + i * each, begun + (i + 1) * each);
  (void)fake_call(true, 126, 0, false);
}

static void initialise(void) {
  const char *path = getenv("CUDA_INJECTION64_PATH");
  void *library = path ? dlopen(path, RTLD_NOW) : NULL;
  int (*begin)(void) = NULL;
  if (library) *(void **)&begin = dlsym(library, "InitializeInjection");
  fake_set()->one_by_one = true;
  if (begin) (void)begin();
  fake_set()->one_by_one = false;
}

/* The recorder has seen a launch by then, and looks at this thread. */
static void settle(void) {
  const uint32_t flushes = fake_get().flushes;
  for (int i = 0; i < 600 && fake_get().flushes < flushes + 3; i++) usleep(5000);
}

int main(int argc, char **argv) {
  if (argc != 4) return 2;
  self.milliseconds = (unsigned)strtoul(argv[2], NULL, 10);
  start_helper(argv[1]);
  initialise();
  (void)fake_driver_launch("_Z5beginv");
  fake_finish(0);
  settle();
  for (unsigned long i = strtoul(argv[3], NULL, 10); i; i--) {
    starve(argv[1]);
    step();
  }
  settle();
  return 0;
}
