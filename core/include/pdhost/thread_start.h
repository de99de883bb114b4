/*
 * Threads beside the loop thread. The host and its plugins use it; yours may, too. Behind POSIX: build with -std=gnu11,
 * or with -D_POSIX_C_SOURCE=200809L.
 */
#ifndef PDHOST_THREAD_START_H
#define PDHOST_THREAD_START_H

#include <pthread.h>
#include <signal.h>
#include <stddef.h>

#ifdef SIG_SETMASK
#ifdef __cplusplus
extern "C" {
#endif

/* Starts a thread that takes no signal but those of its own faults: all others are for the loop thread. 0, or
 * pthread_create's error. [any thread] */
static inline int pd_thread_start(pthread_t *thread, void *(*work)(void *), void *of) {
  static const int own[] = {SIGSEGV, SIGBUS, SIGFPE, SIGILL, SIGABRT, SIGTRAP, SIGSYS};
  sigset_t blocked, before;
  sigfillset(&blocked);
  for (size_t i = 0; i < sizeof own / sizeof own[0]; i++) sigdelset(&blocked, own[i]);
  pthread_sigmask(SIG_BLOCK, &blocked, &before);
  const int failed = pthread_create(thread, NULL, work, of);
  pthread_sigmask(SIG_SETMASK, &before, NULL);
  return failed;
}

#ifdef __cplusplus
}
#endif
#endif
#endif
