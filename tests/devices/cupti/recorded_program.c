/*
 * A CUDA program without CUDA, for tests of `pdhost record`: its words are what it does, one after the other. As the
 * driver does, "init" loads the library that CUDA_INJECTION64_PATH names and calls its InitializeInjection.
 *
 *   init              initialise CUDA            steps=N     N steps: a copy, three kernels, a synchronisation
 *   tool=NAME         another profiler is first  version=N   the CUPTI's version
 *   fails=NAME        that function of CUPTI fails fatal       CUPTI itself fails
 *   sleep=MS          do nothing                 say=TEXT    a line on standard output
 *   exit=N, _exit=N, kill=N, abort, crash        fork, exec  a child; the rest in another image
 *   workers=N         N children, eight at a time, of which some fork, exec, end with threads or are killed, and a step
 *   threads=N         N threads of 20 steps each capture     a captured stream, then a graph's launch
 *   events=N          N steps in which a stream waits for an event of another
 *   marked=N          N steps with marks, their waits for input, and a range
 *   reduced=N         the same with an all-reduce each
 *   spans=N           N steps in ranges that another thread ends, each behind the next one's begin
 *   wide=N            N steps in ranges with wide names, which surround others with wide names
 *   names=N           N ranges, each with a registered name of 3000 bytes
 *   crowd=N           N threads at a time with a range each
 *   beyond=N          the same, and prints what a range costs the first and the last of them, in ns
 *   elsewhere         the same, launched by another thread
 *   until_stopped     steps until it records no more
 *   settle            wait until the recorder has taken what was done    started, stopped   until it records, or not
 *   kinds             calls can only be switched on by their kind
 *   closes            closes every file but the standard ones     context      a context ends
 *   slow_flush=MS     so long each flush takes   at_a_time         prints how many flushes began while another one ran
 *   beside            a context ends on another thread
 *   clock=S           CLOCK_REALTIME is further by S seconds for the process, as one that is set back meanwhile
 *   kernels=N         N kernels, some 200,000 a second      graphs=N       the same in graphs of 100
 *   subscribe         as a profiler of its own does, until it may; prints CUPTI's answer
 *   who               prints "pid" and its number         end         prints "end" and CLOCK_MONOTONIC in ns
 *   pid               prints its process number                 allocate    takes memory, and no more
 */
#include "fake_cupti.h"
#include "recorded_ranges.h"

#include <pdhost/clocks.h>
#include <pdhost/mark.h>
#include <pdhost/plugin.h>

#include <dlfcn.h>
#include <pthread.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/syscall.h>
#include <sys/wait.h>
#include <unistd.h>

/* As CUPTI is while CUDA is being initialised. */
static bool one_by_one = true;

static void initialise(void) {
  const char *path = getenv("CUDA_INJECTION64_PATH");
  void *library = path ? dlopen(path, RTLD_NOW) : NULL;
  int (*begin)(void) = NULL;
  if (library) *(void **)&begin = dlsym(library, "InitializeInjection");
  fake_set()->one_by_one = one_by_one;
  if (begin) (void)begin();
  fake_set()->one_by_one = false;
  if (library) (void)dlclose(library); /* the driver does not, but a program may */
}

/* What the process sees of the clock that can be set. */
static _Atomic long clock_step_s;
PD_EXPORT int clock_gettime(clockid_t clock, struct timespec *at);
int clock_gettime(clockid_t clock, struct timespec *at) {
  const long failed = syscall(SYS_clock_gettime, clock, at);
  if (!failed && clock == CLOCK_REALTIME) at->tv_sec += clock_step_s;
  return (int)failed;
}

static void step(void) {
  (void)fake_memcpy(4096);
  (void)fake_driver_launch("_Z7forwardPf");
  (void)fake_driver_launch("_Z8backwardPf");
  (void)fake_driver_launch("_Z6updatePf");
  usleep(100);
  fake_finish(0);
  (void)fake_call(true, 126, 0, false);
}

static void *twenty_steps(void *unused) {
  for (int i = 0; i < 20; i++) step();
  return unused;
}

static void run_threads(int count) {
  pthread_t threads[64];
  for (int i = 0; i < count && i < 64; i++)
    if (pthread_create(&threads[i], NULL, twenty_steps, NULL) != 0) abort();
  for (int i = 0; i < count && i < 64; i++) (void)pthread_join(threads[i], NULL);
}

/* Launches into a capture leave no kernel; those of the graph have none of their own. */
static void capture(void) {
  (void)fake_call(true, 580, 0, false);
  for (int i = 0; i < 3; i++) (void)fake_call(true, 307, 0, false);
  (void)fake_call(true, 518, 0, false);
  for (int i = 0; i < 20; i++) {
    (void)fake_graph_launch(7, 3);
    usleep(100);
    fake_finish(0);
  }
}

/* One that is captured, and one on a stream of its own, which runs. */
static void *launch_elsewhere(void *unused) {
  for (int i = 0; i < 3; i++) (void)fake_call(true, 307, 0, false);
  (void)fake_driver_launch("_Z3ownv");
  fake_finish(0);
  return unused;
}

static void capture_elsewhere(void) {
  pthread_t thread;
  (void)fake_call(true, 580, 0, false);
  if (pthread_create(&thread, NULL, launch_elsewhere, NULL) != 0) abort();
  (void)pthread_join(thread, NULL);
  (void)fake_call(true, 518, 0, false);
  for (int i = 0; i < 20; i++) {
    (void)fake_graph_launch(7, 3);
    usleep(100);
    fake_finish(0);
  }
}

/* The child does what follows, in a process of its own. */
static void fork_child(char **words) {
  const pid_t child = fork();
  if (child == 0) {
    if (*words && strcmp(*words, "exec") == 0) return;
    step(); /* what it inherited of CUPTI calls back */
    exit(0);
  }
  (void)waitpid(child, NULL, 0);
}

static void many(int count, bool in_graphs) {
  enum { AT_ONCE = 100 };
  for (int i = 0; i < count / AT_ONCE; i++) {
    for (int k = 0; k < AT_ONCE && !in_graphs; k++) (void)fake_driver_launch("_Z4workv");
    if (in_graphs) (void)fake_graph_launch(7, AT_ONCE);
    usleep(450);
    fake_finish(0);
  }
}

static void *wait_for_end(void *unused) {
  (void)pause();
  return unused;
}

static void *end_at_once(void *unused) { return unused; }

static void fork_more(int count) {
  for (int i = 0; i < count; i++)
    if (fork() == 0) _exit(0);
  while (wait(NULL) > 0) {}
}

/* As a worker of a loader it uses no CUDA before it is another image. */
static void work(int number, char *self) {
  char *const images[] = {self, "init", "steps=3", "exec", "exec", "init", "steps=30", number % 3 ? "settle" : "kill=9",
                          NULL};
  pthread_t thread;
  if (number % 4 == 0) fork_more(3);
  if (number % 4 == 1) (void)execv("/proc/self/exe", images);
  if (number % 4 == 2) {
    (void)pthread_create(&thread, NULL, end_at_once, NULL);
    (void)pthread_create(&thread, NULL, wait_for_end, NULL);
  }
  if (number % 4 == 3) (void)kill(getpid(), number % 8 == 3 ? SIGKILL : SIGTERM);
  if (number % 8 < 4) _exit(number % 8);
  exit(0);
}

static void workers(int count, char *self) {
  enum { AT_A_TIME = 8 };
  for (int i = 0; i < count; i++) {
    if (i >= AT_A_TIME) (void)wait(NULL);
    if (fork() == 0) work(i, self);
    step();
  }
  while (wait(NULL) > 0) {}
}

/* However slow the machine is. */
static void wait_until(bool (*is_so)(uint32_t flushes), uint32_t flushes) {
  for (int i = 0; i < 6000 && !is_so(flushes); i++) usleep(5000);
}
/* The recorder's thread takes what a flush has brought before it asks for the next one. */
static bool is_settled(uint32_t flushes) { return fake_get().flushes >= flushes + 2; }
static bool is_started(uint32_t flushes) { return (void)flushes, fake_get().kernel_on; }
static bool is_stopped(uint32_t flushes) { return (void)flushes, !fake_get().kernel_on; }

void recorded_begin(void) {
  (void)fake_driver_launch("_Z5beginv");
  fake_finish(0);
  wait_until(is_settled, fake_get().flushes);
}

/* Without copies, so that what repeats says nothing of steps. */
static void marked_steps(int count, const char *kernel) {
  recorded_begin();
  pd_mark_step();
  for (int i = 0; i < count; i++) {
    pd_mark_input_begin();
    usleep(2000);
    pd_mark_input_end();
    pd_mark_begin("my work");
    (void)fake_driver_launch("_Z4workv");
    if (kernel) (void)fake_driver_launch(kernel);
    usleep(300);
    fake_finish(0);
    pd_mark_end();
    pd_mark_step();
  }
}

static void CUPTIAPI ignore(void *user, CUpti_CallbackDomain domain, CUpti_CallbackId cbid, const void *data) {
  (void)user, (void)domain, (void)cbid, (void)data;
}

static void subscribe(void) {
  CUpti_SubscriberHandle subscriber;
  CUptiResult result = CUPTI_ERROR_UNKNOWN;
  for (int i = 0; i < 400 && (result = cuptiSubscribe(&subscriber, ignore, NULL)) != CUPTI_SUCCESS; i++) usleep(5000);
  printf("%d\n", (int)result);
  (void)fflush(stdout);
}

static void *end_context(void *unused) {
  fake_context_ends();
  return unused;
}

/* Its flush has begun when this returns. */
static void end_context_beside(void) {
  pthread_t thread;
  const uint32_t begun = fake_get().flushes_begun;
  if (pthread_create(&thread, NULL, end_context, NULL) != 0) abort();
  (void)pthread_detach(thread);
  while (fake_get().flushes_begun == begun) usleep(1000);
}

static bool is(const char *word, const char *name) { return strncmp(word, name, strlen(name)) == 0; }

static void act(char *word, char **rest, char *self) {
  const char *value = strchr(word, '=') ? strchr(word, '=') + 1 : "";
  const int number = (int)strtol(value, NULL, 10);
  if (is(word, "init")) initialise();
  if (is(word, "steps="))
    for (int i = 0; i < number; i++) step();
  if (is(word, "events="))
    for (int i = 0; i < number; i++) {
      (void)fake_call(false, 135, 0, false); /* cudaEventRecord */
      (void)fake_call(false, 147, 0, false); /* cudaStreamWaitEvent */
      step();
    }
  if (is(word, "tool=")) fake_set()->other_tool = value;
  if (is(word, "fails=")) fake_set()->fail_function = value, fake_set()->fail_code = CUPTI_ERROR_NOT_SUPPORTED;
  if (is(word, "fatal")) fake_fatal(CUPTI_ERROR_UNKNOWN);
  if (is(word, "version=")) fake_set()->version = (uint32_t)number;
  if (is(word, "sleep=")) usleep((unsigned)number * 1000);
  if (is(word, "say=")) (void)!write(1, value, strlen(value)), (void)!write(1, "\n", 1);
  if (is(word, "exit=")) exit(number);
  if (is(word, "_exit=")) _exit(number);
  if (is(word, "kill=")) (void)kill(getpid(), number);
  if (is(word, "abort")) abort();
  if (is(word, "crash")) (void)raise(SIGSEGV);
  if (is(word, "fork")) fork_child(rest);
  if (is(word, "exec")) {
    rest[-1] = self;
    (void)execv("/proc/self/exe", rest - 1);
  }
  if (is(word, "threads=")) run_threads(number);
  if (is(word, "workers=")) workers(number, self);
  if (is(word, "settle")) wait_until(is_settled, fake_get().flushes);
  if (is(word, "started")) wait_until(is_started, 0);
  if (is(word, "stopped")) wait_until(is_stopped, 0);
  if (is(word, "until_stopped"))
    while (fake_get().kernel_on) step();
  if (is(word, "marked=")) marked_steps(number, NULL);
  if (is(word, "reduced=")) marked_steps(number, "_Z39ncclDevKernel_AllReduce_Sum_f32_RING_LLv");
  if (is(word, "spans=")) recorded_spans(number);
  if (is(word, "wide=")) recorded_wide(number);
  if (is(word, "names=")) recorded_names(number);
  if (is(word, "crowd=")) recorded_crowd(number);
  if (is(word, "beyond=")) recorded_beyond(number);
  if (is(word, "kinds")) one_by_one = false;
  if (is(word, "capture")) capture();
  if (is(word, "elsewhere")) capture_elsewhere();
  if (is(word, "context")) fake_context_ends();
  if (is(word, "beside")) end_context_beside();
  if (is(word, "slow_flush=")) fake_set()->slow_flush_ms = (uint32_t)number;
  if (is(word, "at_a_time")) printf("%u\n", fake_get().flushes_at_a_time);
  if (is(word, "clock=")) clock_step_s = number;
  if (is(word, "allocate")) (void)fake_call(false, 20, 0, false);
  if (is(word, "closes"))
    for (int i = 3; i < 256; i++) (void)close(i);
  if (is(word, "kernels=")) many(number, false);
  if (is(word, "graphs=")) many(number, true);
  if (is(word, "who")) printf("pid %d\n", (int)getpid());
  if (is(word, "end")) printf("end %lld\n", (long long)pd_monotonic_ns());
  if (is(word, "subscribe")) subscribe();
  if (is(word, "pid")) printf("%d\n", (int)getpid());
  (void)fflush(stdout);
}

int main(int argc, char **argv) {
  for (int i = 1; i < argc; i++) act(argv[i], argv + i + 1, argv[0]);
  return 0;
}
