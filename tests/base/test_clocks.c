#include "pd_test.h"

#include <pdhost/clocks.h>

#include <signal.h>
#include <sys/wait.h>
#include <unistd.h>

PD_TEST(clocks, go_on) {
  const int64_t before = pd_monotonic_ns();
  const struct timespec after = pd_clock_after(CLOCK_MONOTONIC, 1500000000);
  cr_assert_gt(before, 0);
  cr_assert_geq((int64_t)after.tv_sec * 1000000000 + after.tv_nsec, before + 1500000000);
  cr_assert_lt(after.tv_nsec, 1000000000);
}

PD_TEST(clocks, of_a_process_that_has_ended_read_0) {
  clockid_t clock;
  const pid_t child = fork();
  if (child == 0) {
    for (;;) (void)pause();
  }
  cr_assert_gt(child, 0);
  cr_assert_eq(clock_getcpuclockid(child, &clock), 0);
  (void)kill(child, SIGKILL);
  cr_assert_eq(waitpid(child, NULL, 0), child);
  cr_assert_eq(pd_clock_ns(clock), 0);
}
