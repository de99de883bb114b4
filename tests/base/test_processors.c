#include "pd_test.h"

#include <pdhost/processors.h>

PD_TEST(processors, are_those_that_the_thread_may_run_on) {
  cpu_set_t before, one;
  cr_assert_eq(sched_getaffinity(0, sizeof before, &before), 0);
  cr_assert_eq(pd_processors_allowed(), (uint32_t)CPU_COUNT(&before));
  CPU_ZERO(&one);
  for (size_t cpu = 0; cpu < CPU_SETSIZE && !CPU_COUNT(&one); cpu++)
    if (CPU_ISSET(cpu, &before)) CPU_SET(cpu, &one);
  cr_assert_eq(sched_setaffinity(0, sizeof one, &one), 0);
  cr_assert_eq(pd_processors_allowed(), 1);
}
