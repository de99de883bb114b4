/* Runs the tests of criterion/criterion.h beside this. Exit 0: all passed. */
#include <criterion/criterion.h>

#include <sys/wait.h>
#include <unistd.h>

static plain_test *tests;

void plain_add(plain_test *test) {
  test->next = tests;
  tests = test;
}

int main(void) {
  int count = 0, failed = 0;
  for (plain_test *test = tests; test; test = test->next, count++) {
    int ended = 0;
    fflush(NULL);
    const pid_t child = fork();
    if (child < 0) return perror("fork"), 1;
    if (!child) {
      alarm(60);
      test->body();
      exit(0);
    }
    if (waitpid(child, &ended, 0) != child) return perror("waitpid"), 1;
    if (!ended) continue;
    failed++;
    printf("FAILED: %s: %s %d\n", test->name, WIFSIGNALED(ended) ? "signal" : "exit",
           WIFSIGNALED(ended) ? WTERMSIG(ended) : WEXITSTATUS(ended));
  }
  printf("%d tests, %d failed\n", count, failed);
  return failed || !count;
}
