/* Signal handling; see signals.h. */
#include "signals.h"

#include "monotonic.h"

#include <pthread.h>
#include <signal.h>
#include <stdatomic.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <string.h>
#include <unistd.h>

static atomic_int pending;
static _Atomic int64_t pending_ns; /* when it came, by CLOCK_MONOTONIC; 0: not noted yet */
static atomic_bool handed_over;    /* noted on another thread; `owner` has to wake what waits */
static pthread_t owner;            /* installed the handlers */
static void (*_Atomic wake_function)(void *);
static void *_Atomic wake_argument;
static atomic_bool paused;
static bool hears_pauses;
static struct sigaction before_int, before_term, before_hang_up, before_pipe, before_size;

enum { ORPHAN_S = 60 };
static atomic_int serves;
void signals_serve(int parent) { atomic_store(&serves, parent); }

/* `timeout` and its like signal a process and then its group: the same signal, twice. */
#define SAME_NS 500000000

static bool is_same(int number, int first) {
  const int64_t since_ns = atomic_load(&pending_ns);
  return number == first && (!since_ns || monotonic_ns() - since_ns < SAME_NS);
}

/* `wake` reads what the owner frees after signals_restore, so it is called on the owner's thread alone. */
static void on_signal(int number) {
  int none = 0;
  const bool here = pthread_equal(pthread_self(), owner);
  if (!(here && atomic_exchange(&handed_over, false)) && !atomic_compare_exchange_strong(&pending, &none, number)) {
    if (is_same(number, none)) return;
    static const char line[] = "pdhost: ended at once by a second signal; outputs may be missing or incomplete\n";
    const ssize_t told = write(STDERR_FILENO, line, sizeof line - 1);
    (void)told; /* nowhere left to tell */
    _exit(128 + number);
  }
  atomic_store(&pending_ns, monotonic_ns());
  if (atomic_load(&serves) && getppid() != atomic_load(&serves)) (void)alarm(ORPHAN_S);
  if (!here) {
    atomic_store(&handed_over, true);
    pthread_kill(owner, number);
    return;
  }
  void (*wake)(void *) = atomic_load(&wake_function);
  if (wake) wake(atomic_load(&wake_argument));
}

void signals_install(void (*wake)(void *), void *argument) {
  atomic_store(&pending, 0);
  atomic_store(&pending_ns, 0);
  atomic_store(&handed_over, false);
  owner = pthread_self();
  atomic_store(&wake_argument, argument);
  atomic_store(&wake_function, wake);
  struct sigaction action;
  memset(&action, 0, sizeof action);
  action.sa_handler = on_signal;
  sigemptyset(&action.sa_mask);
  sigaction(SIGINT, &action, &before_int);
  sigaction(SIGTERM, &action, &before_term);
  sigaction(SIGHUP, &action, &before_hang_up);
  if (before_hang_up.sa_handler == SIG_IGN) sigaction(SIGHUP, &before_hang_up, NULL); /* nohup */
  /* A reader that went away or a file at its limit is the failure of the sink that writes to it, not the run's end. */
  action.sa_handler = SIG_IGN;
  sigaction(SIGPIPE, &action, &before_pipe);
  sigaction(SIGXFSZ, &action, &before_size);
}

static void on_pause(int number) { atomic_store(&paused, number == SIGNALS_PAUSE); }

void signals_hear_pauses(void) {
  struct sigaction action;
  if (hears_pauses) return;
  memset(&action, 0, sizeof action);
  action.sa_handler = on_pause;
  action.sa_flags = SA_RESTART;
  sigemptyset(&action.sa_mask);
  sigaction(SIGNALS_PAUSE, &action, NULL);
  sigaction(SIGNALS_RESUME, &action, NULL);
  hears_pauses = true;
}

bool signals_paused(void) { return atomic_load_explicit(&paused, memory_order_relaxed); }

void signals_restore(void) {
  if (hears_pauses) { /* one on its way is not to end the process */
    (void)signal(SIGNALS_PAUSE, SIG_IGN);
    (void)signal(SIGNALS_RESUME, SIG_IGN);
    hears_pauses = false;
  }
  sigaction(SIGINT, &before_int, NULL);
  sigaction(SIGTERM, &before_term, NULL);
  sigaction(SIGHUP, &before_hang_up, NULL);
  sigaction(SIGPIPE, &before_pipe, NULL);
  sigaction(SIGXFSZ, &before_size, NULL);
  atomic_store(&wake_function, (void (*)(void *))NULL);
}

int signals_pending(void) { return atomic_load_explicit(&pending, memory_order_relaxed); }

const char *signals_name(int number) {
  switch (number) {
  case SIGINT: return "SIGINT";
  case SIGTERM: return "SIGTERM";
  case SIGHUP: return "SIGHUP";
  case SIGQUIT: return "SIGQUIT";
  default: return "signal";
  }
}
