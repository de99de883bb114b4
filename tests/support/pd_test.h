/* Every Criterion test is a PD_TEST: a time limit and, under AddressSanitizer, a leak check at the end of its body, the
 * only place where Criterion lets a leak count. */
#ifndef TESTS_SUPPORT_PD_TEST_H
#define TESTS_SUPPORT_PD_TEST_H

#include <criterion/criterion.h>

#if defined(__SANITIZE_ADDRESS__)
#define PD_TEST_LSAN 1
#elif defined(__has_feature)
#if __has_feature(address_sanitizer)
#define PD_TEST_LSAN 1
#endif
#endif
#ifdef PD_TEST_LSAN
#include <sanitizer/lsan_interface.h>
#define pd_test_no_leaks() cr_assert_eq(__lsan_do_recoverable_leak_check(), 0, "the test leaked memory")
#else
#define pd_test_no_leaks() ((void)0)
#endif

#define PD_TEST_WITH(suite, name, ...)                                                                                 \
  static void suite##_##name##_body(void);                                                                             \
  Test(suite, name, __VA_ARGS__) {                                                                                     \
    suite##_##name##_body();                                                                                           \
    pd_test_no_leaks();                                                                                                \
  }                                                                                                                    \
  static void suite##_##name##_body(void)
#define PD_TEST(suite, name) PD_TEST_WITH(suite, name, .timeout = 60)

#endif
