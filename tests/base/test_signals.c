/* Signals: the first is noted, wherever it arrives, and `wake` is called on the thread that installed the handlers. */
#include "base/signals.h"

#include <criterion/criterion.h>
#include <pthread.h>
#include <signal.h>
#include <stdatomic.h>
#include <unistd.h>

static pthread_t woken_on;
static atomic_int woken;

static void wake(void *argument) {
  woken_on = pthread_self();
  atomic_fetch_add((atomic_int *)argument, 1);
}

static void *take_signal(void *number) {
  pthread_kill(pthread_self(), *(int *)number);
  return NULL;
}

static void on_another_thread(int number) {
  pthread_t thread;
  cr_assert_eq(pthread_create(&thread, NULL, take_signal, &number), 0);
  pthread_join(thread, NULL);
}

Test(signals, one_on_this_thread_wakes_here) {
  signals_install(wake, &woken);
  raise(SIGTERM);
  cr_assert_eq(atomic_load(&woken), 1);
  cr_assert_eq(signals_pending(), SIGTERM);
  signals_restore();
}

Test(signals, one_on_another_thread_wakes_here_too) {
  signals_install(wake, &woken);
  on_another_thread(SIGINT);
  for (int i = 0; i < 1000 && !atomic_load(&woken); i++) usleep(1000);
  cr_assert_eq(atomic_load(&woken), 1);
  cr_assert(pthread_equal(woken_on, pthread_self()));
  cr_assert_eq(signals_pending(), SIGINT);
  signals_restore();
}

Test(signals, the_same_twice_at_once_is_one) {
  signals_install(wake, &woken);
  raise(SIGINT);
  raise(SIGINT);
  cr_assert_eq(atomic_load(&woken), 1);
  cr_assert_eq(signals_pending(), SIGINT);
  signals_restore();
}

Test(signals, a_second_one_ends_the_process, .exit_code = 128 + SIGTERM) {
  signals_install(wake, &woken);
  on_another_thread(SIGINT);
  on_another_thread(SIGTERM);
  cr_assert_fail("the second signal did not end the process");
}
