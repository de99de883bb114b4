/* Threads of a recorded program wait for one another, and none for longer than it said. */
#include "inject/inject_wait.h"

#include "pd_test.h"

#include <pdhost/clocks.h>

#include <pthread.h>
#include <stdatomic.h>
#include <unistd.h>

#define MS INT64_C(1000000)

PD_TEST(inject_wait, ends_when_its_patience_does) {
  inject_event event = 0;
  const int64_t begun_ns = pd_monotonic_ns();
  cr_assert_not(inject_wait_for(&event, 50 * MS));
  const int64_t took_ns = pd_monotonic_ns() - begun_ns;
  cr_assert_geq(took_ns, 50 * MS);
  cr_assert_lt(took_ns, 5000 * MS);
  cr_assert_not(inject_wait_for(&event, 0));
  cr_assert_not(inject_wait_for(&event, -1));
}

PD_TEST(inject_wait, what_has_happened_is_not_waited_for) {
  inject_event event = 0;
  inject_wait_tell(&event);
  for (int i = 0; i < 3; i++) cr_assert(inject_wait_for(&event, 0));
  cr_assert(inject_wait_turn(&event, 0));
  cr_assert_not(inject_wait_for(&event, 0), "who has the turn keeps it");
}

static void *tell_later(void *event) {
  usleep(50000);
  inject_wait_tell(event);
  return NULL;
}

/* One that nobody wakes looks again after a second. A machine that does other things may be late, but not each time. */
PD_TEST(inject_wait, is_woken) {
  enum { TRIES = 5 };
  int64_t soonest_ns = INT64_MAX;
  for (int i = 0; i < TRIES; i++) {
    inject_event event = 0;
    pthread_t thread;
    const int64_t begun_ns = pd_monotonic_ns();
    cr_assert_eq(pthread_create(&thread, NULL, tell_later, &event), 0);
    cr_assert(inject_wait_for(&event, 60000 * MS));
    const int64_t took_ns = pd_monotonic_ns() - begun_ns;
    if (took_ns < soonest_ns) soonest_ns = took_ns;
    pthread_join(thread, NULL);
  }
  cr_assert_lt(soonest_ns, 900 * MS);
}

enum { THREADS = 4, TURNS = 2000 };
static inject_event turn;
static uint64_t turns_taken;
static atomic_uint inside, most_inside;

static void *take_turns(void *unused) {
  for (int i = 0; i < TURNS; i++) {
    if (!inject_wait_turn(&turn, 60000 * MS)) return NULL;
    const unsigned here = atomic_fetch_add(&inside, 1) + 1;
    if (here > atomic_load(&most_inside)) atomic_store(&most_inside, here);
    turns_taken++;
    atomic_fetch_sub(&inside, 1);
    inject_wait_tell(&turn);
  }
  return unused;
}

PD_TEST(inject_wait, one_thread_at_a_time_has_the_turn) {
  pthread_t threads[THREADS];
  turn = 1;
  for (int i = 0; i < THREADS; i++) cr_assert_eq(pthread_create(&threads[i], NULL, take_turns, &turn), 0);
  for (int i = 0; i < THREADS; i++) {
    void *ended;
    pthread_join(threads[i], &ended);
    cr_assert_not_null(ended);
  }
  cr_assert_eq(turns_taken, THREADS * TURNS);
  cr_assert_eq(atomic_load(&most_inside), 1);
  cr_assert(inject_wait_turn(&turn, 0));
  cr_assert_not(inject_wait_turn(&turn, 20 * MS));
}
