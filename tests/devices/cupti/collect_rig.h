/* What the tests of the collector share. */
#ifndef TESTS_DEVICES_CUPTI_COLLECT_RIG_H
#define TESTS_DEVICES_CUPTI_COLLECT_RIG_H

#include "collect_fixture.h"

#include <pdhost/clocks.h>

static inline void *finish_after_polls(void *polls) {
  uint32_t before = fake_get().flushes;
  while (fake_get().flushes - before < *(uint32_t *)polls) sched_yield();
  fake_finish(0);
  return NULL;
}

#endif
