/* Tests that fail, each in its way; test_harness.c runs them one by one and expects the failure. */
#include "pd_test.h"

#include <stdlib.h>
#include <unistd.h>

PD_TEST(failures, an_assertion_fails) { cr_assert_eq(getpid(), 0); }

PD_TEST(failures, a_crash) { abort(); }

/* Volatile, so that the leak is no dead store; lost before the body ends, so that it is no pointer on the stack. */
static void *volatile lost;
PD_TEST(failures, a_leak) {
  lost = malloc(64);
  lost = NULL;
  cr_assert_null(lost);
}

PD_TEST_WITH(failures, no_end, .timeout = 1) {
  for (;;) pause();
}

PD_TEST(failures, none) { cr_assert(true); }
