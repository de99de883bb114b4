/* What the suites rely on: a test that fails in any way makes its runner's exit status non-zero. */
#include "pd_test.h"

#include <fcntl.h>
#include <spawn.h>
#include <stdio.h>
#include <sys/wait.h>
#include <unistd.h>

/* Exit status of the runner of failures.c with the test `name` alone. */
static int status_of(const char *name) {
  char filter[128];
  int status = -1;
  pid_t child;
  posix_spawn_file_actions_t quiet;
  snprintf(filter, sizeof filter, "failures/%s", name);
  /* Criterion tells its children by the environment that they are children; this one is none of its own. */
  char *const environment[] = {NULL};
  char *const arguments[] = {FAILURES, "--jobs", "1", "--filter", filter, NULL};
  cr_assert_eq(posix_spawn_file_actions_init(&quiet), 0);
  posix_spawn_file_actions_addopen(&quiet, STDERR_FILENO, "/dev/null", O_WRONLY, 0);
  posix_spawn_file_actions_addopen(&quiet, STDOUT_FILENO, "/dev/null", O_WRONLY, 0);
  cr_assert_eq(posix_spawn(&child, FAILURES, &quiet, NULL, arguments, environment), 0);
  posix_spawn_file_actions_destroy(&quiet);
  cr_assert_eq(waitpid(child, &status, 0), child);
  cr_assert(WIFEXITED(status), "%s: the runner itself ended by signal %d", name, WTERMSIG(status));
  return WEXITSTATUS(status);
}

PD_TEST(harness, a_test_that_passes_is_status_0) { cr_assert_eq(status_of("none"), 0); }
PD_TEST(harness, a_failed_assertion_is_seen) { cr_assert_neq(status_of("an_assertion_fails"), 0); }
PD_TEST(harness, a_crash_is_seen) { cr_assert_neq(status_of("a_crash"), 0); }
PD_TEST(harness, a_test_without_end_is_seen) { cr_assert_neq(status_of("no_end"), 0); }
#ifdef PD_TEST_LSAN
PD_TEST(harness, a_leak_is_seen) { cr_assert_neq(status_of("a_leak"), 0); }
#endif
