/* The fast walk of the stack against the C library's: from plain, aligned, deep and foreign frames, and from threads.
 */
#include "pd_test.h"

#include "trace/stacks/frame_rules.h"
#include "trace/stacks/unwind.h"

#include <alloca.h>
#include <dlfcn.h>
#include <pthread.h>
#include <signal.h>
#include <stdint.h>
#include <stdlib.h>
#include <string.h>

enum { ROOM = 200 };

/* The C library's own: a sanitizer puts one with a frame more before it. */
static int (*real_backtrace)(void **frames, int room);
__attribute__((constructor)) static void find_backtrace(void) {
  void *library = dlopen("libc.so.6", RTLD_LAZY), *found = library ? dlsym(library, "backtrace") : NULL;
  memcpy(&real_backtrace, &found, sizeof found); /* C has no cast from an object to a function pointer */
}

static int walks;
static volatile unsigned sink;

/* Both from one call's place: the innermost addresses differ, what called this function is the same. */
static __attribute__((noinline)) void compare_walks(void) {
  void *theirs[ROOM], *ours[ROOM];
  const int expected = real_backtrace(theirs, ROOM);
  const size_t found = unwind_stack(ours, ROOM);
  cr_assert_gt(expected, 2);
  cr_assert_eq(found, (size_t)expected, "%zu frames, %d of the C library", found, expected);
  for (int i = 1; i < expected; i++) cr_assert_eq(ours[i], theirs[i], "frame %d of %d", i, expected);
  walks++;
}

/* NOLINTNEXTLINE(misc-no-recursion) */
static __attribute__((noinline)) void plain(unsigned depth) {
  if (depth)
    plain(depth - 1);
  else
    compare_walks();
  sink = depth;
}

/* A frame of a size that the compiler cannot know keeps a frame pointer; an aligned one needs an expression for it. */
/* NOLINTNEXTLINE(misc-no-recursion) */
static __attribute__((noinline)) void variable(unsigned depth, size_t bytes) {
  char *some = alloca(bytes + 1);
  memset(some, (int)depth, bytes + 1);
  if (depth)
    variable(depth - 1, bytes + 24);
  else
    compare_walks();
  sink = (unsigned)some[bytes];
}

/* NOLINTNEXTLINE(misc-no-recursion) */
static __attribute__((noinline)) void aligned(unsigned depth, size_t bytes) {
  _Alignas(64) char line[192];
  char *some = alloca(bytes + 1);
  memset(line, (int)depth, sizeof line);
  memset(some, (int)depth, bytes + 1);
  cr_assert_eq((uintptr_t)line % 64, 0);
  if (depth)
    aligned(depth - 1, bytes + 8);
  else
    plain(2);
  sink = (unsigned)line[bytes % sizeof line] + (unsigned)some[bytes / 2];
}

static int by_value(const void *a, const void *b) {
  compare_walks();
  return *(const int *)a - *(const int *)b;
}

static void *in_a_thread(void *unused) {
  (void)unused;
  plain(3);
  aligned(3, 40);
  return NULL;
}

static void *theirs_there[ROOM], *ours_there[ROOM];
static int expected_there;
static size_t found_there;

/* unwind_prepare has made both walks safe in a handler. */
static void on_signal(int number) {
  (void)number;
  expected_there = real_backtrace(theirs_there, ROOM); /* NOLINT(bugprone-signal-handler,cert-sig30-c) */
  found_there = unwind_stack(ours_there, ROOM);        /* NOLINT(bugprone-signal-handler,cert-sig30-c) */
}

PD_TEST(unwind, finds_what_the_c_library_finds) {
  unwind_prepare();
  for (int again = 0; again < 3; again++) {
    plain(0);
    plain(20);
    variable(7, 100);
    aligned(5, 30);
    int numbers[] = {5, 3, 9, 1, 7};
    qsort(numbers, 5, sizeof numbers[0], by_value);
    pthread_t thread;
    cr_assert_eq(pthread_create(&thread, NULL, in_a_thread, NULL), 0);
    cr_assert_eq(pthread_join(thread, NULL), 0);
    unwind_prepare();
  }
  cr_assert_geq(walks, 3 * 10);
}

/* A signal's frame has no rule: the C library walks it. */
PD_TEST(unwind, signals_are_walked_too) {
#ifdef PD_TEST_LSAN
  cr_skip_test("AddressSanitizer has frames of its own around a handler");
#endif
  unwind_prepare();
  cr_assert_neq(signal(SIGUSR1, on_signal), SIG_ERR);
  cr_assert_eq(raise(SIGUSR1), 0);
  cr_assert_gt(expected_there, 3);
  cr_assert_eq(found_there, (size_t)expected_there);
  for (int i = 1; i < expected_there; i++) cr_assert_eq(ours_there[i], theirs_there[i], "frame %d", i);
}

PD_TEST(unwind, no_more_than_asked_for) {
  void *frames[3] = {NULL, NULL, (void *)&walks};
  unwind_prepare();
  cr_assert_eq(unwind_stack(frames, 2), 2, "a walk ends where the room does");
  cr_assert_eq(frames[2], (void *)&walks);
}

PD_TEST(unwind, what_is_no_code_has_no_rule) {
  cr_assert_eq(frame_rule_find(1).kind, FRAME_UNKNOWN);
  cr_assert_eq(frame_rule_find((uintptr_t)&walks).kind, FRAME_UNKNOWN);
  cr_assert_eq(frame_rule_find(UINTPTR_MAX).kind, FRAME_UNKNOWN);
}

#if defined(__x86_64__)
/* That the fast walk is the one that is tested. */
PD_TEST(unwind, functions_have_rules) {
  void *frames[ROOM];
  const int found = real_backtrace(frames, ROOM);
  for (int i = 0; i < found; i++)
    cr_assert_neq(frame_rule_find((uintptr_t)frames[i]).kind, FRAME_UNKNOWN, "frame %d of %d", i, found);
  cr_assert_eq(frame_rule_find((uintptr_t)frames[found - 1]).kind, FRAME_LAST);
}
#endif
