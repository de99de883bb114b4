/* What the suites that run under ThreadSanitizer use of Criterion, which does not start there: each test in a process
 * of its own, one after another. An assertion that fails ends its test; its message is the expression. */
#ifndef TESTS_SUPPORT_PLAIN_CRITERION_H
#define TESTS_SUPPORT_PLAIN_CRITERION_H

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

typedef struct plain_test {
  const char *name;
  void (*body)(void);
  struct plain_test *next;
} plain_test;

/* Adds a test to this program; called before main. */
void plain_add(plain_test *test);

#define Test(suite, name, ...)                                                                                         \
  static void suite##_##name##_test(void);                                                                             \
  __attribute__((constructor)) static void suite##_##name##_add(void) {                                                \
    static plain_test test = {#suite "::" #name, suite##_##name##_test, NULL};                                         \
    plain_add(&test);                                                                                                  \
  }                                                                                                                    \
  static void suite##_##name##_test(void)

#define plain_assert(ok, what)                                                                                         \
  do {                                                                                                                 \
    if (!(ok)) {                                                                                                       \
      fprintf(stderr, "%s:%d: %s\n", __FILE__, __LINE__, what);                                                        \
      exit(1);                                                                                                         \
    }                                                                                                                  \
  } while (0)
#define cr_assert(ok, ...) plain_assert(ok, #ok)
#define cr_assert_not(wrong, ...) plain_assert(!(wrong), "not " #wrong)
#define cr_assert_eq(a, b, ...) plain_assert((a) == (b), #a " == " #b)
#define cr_assert_neq(a, b, ...) plain_assert((a) != (b), #a " != " #b)
#define cr_assert_gt(a, b, ...) plain_assert((a) > (b), #a " > " #b)
#define cr_assert_geq(a, b, ...) plain_assert((a) >= (b), #a " >= " #b)
#define cr_assert_lt(a, b, ...) plain_assert((a) < (b), #a " < " #b)
#define cr_assert_leq(a, b, ...) plain_assert((a) <= (b), #a " <= " #b)
#define cr_assert_null(a, ...) plain_assert(!(a), #a " is NULL")
#define cr_assert_not_null(a, ...) plain_assert(a, #a " is not NULL")
#define cr_assert_str_eq(a, b, ...) plain_assert(!strcmp(a, b), #a " is " #b)

#endif
