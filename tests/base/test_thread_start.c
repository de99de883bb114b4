#include "pd_test.h"

#include <pdhost/thread_start.h>

static void *look(void *of) {
  pthread_sigmask(SIG_BLOCK, NULL, of);
  return NULL;
}

PD_TEST(thread_start, takes_only_the_signals_of_its_own_faults) {
  static const int faults[] = {SIGSEGV, SIGBUS, SIGFPE, SIGILL, SIGABRT, SIGTRAP, SIGSYS};
  static const int others[] = {SIGINT, SIGTERM, SIGHUP, SIGUSR1, SIGALRM, SIGPROF, SIGCHLD};
  sigset_t blocked, before, after;
  pthread_t thread;
  pthread_sigmask(SIG_BLOCK, NULL, &before);
  cr_assert_eq(pd_thread_start(&thread, look, &blocked), 0);
  pthread_join(thread, NULL);
  pthread_sigmask(SIG_BLOCK, NULL, &after);
  for (size_t i = 0; i < sizeof faults / sizeof faults[0]; i++) cr_assert_not(sigismember(&blocked, faults[i]));
  for (size_t i = 0; i < sizeof others / sizeof others[0]; i++) {
    cr_assert(sigismember(&blocked, others[i]));
    cr_assert_eq(sigismember(&after, others[i]), sigismember(&before, others[i]));
  }
}
