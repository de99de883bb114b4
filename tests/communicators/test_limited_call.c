/* A call that waits for others: it returns, or is given up, and what it worked on is freed once. */
#include "pd_test.h"

#include "../../communicators/lib/limited_call.h"

#include <pdhost/clocks.h>

#include <stdatomic.h>
#include <time.h>

static struct {
  atomic_bool lets_go, given_up;
  atomic_int discarded;
} played;

static void nap(void) { nanosleep(&(struct timespec){.tv_nsec = 1000000}, NULL); }

static void run(void *work) {
  while (!atomic_load(&played.lets_go)) nap();
  ++*(int *)work;
}

static void discard(void *work) {
  cr_assert_eq(*(int *)work, 1);
  atomic_fetch_add(&played.discarded, 1);
}

static bool gives_up(const void *asked) { return atomic_load((const atomic_bool *)asked); }

static limited_call_end make(int64_t timeout_ns, int *work) {
  const limited_call how = {
      .run = run, .discard = discard, .gives_up = gives_up, .asked = &played.given_up, .timeout_ns = timeout_ns};
  return limited_call_make(&how, work);
}

static void await_discard(void) {
  atomic_store(&played.lets_go, true);
  while (!atomic_load(&played.discarded)) nap();
}

PD_TEST(limited_call, one_that_returns) {
  int work = 0;
  atomic_store(&played.lets_go, true);
  cr_assert_eq(make(INT64_C(10000000000), &work), LIMITED_CALL_ENDED);
  cr_assert(work == 1 && atomic_load(&played.discarded) == 0);
}

PD_TEST(limited_call, the_time_is_over) {
  static int work;
  const int64_t from_ns = pd_monotonic_ns();
  cr_assert_eq(make(INT64_C(200000000), &work), LIMITED_CALL_GOES_ON);
  const int64_t took_ns = pd_monotonic_ns() - from_ns;
  cr_assert(took_ns >= 200000000 && took_ns < INT64_C(5000000000), "%lld", (long long)took_ns);
  await_discard();
}

PD_TEST(limited_call, nobody_waits_any_more) {
  static int work;
  const int64_t from_ns = pd_monotonic_ns();
  atomic_store(&played.given_up, true);
  cr_assert_eq(make(INT64_C(60000000000), &work), LIMITED_CALL_GOES_ON);
  cr_assert_lt(pd_monotonic_ns() - from_ns, INT64_C(10000000000));
  await_discard();
}
