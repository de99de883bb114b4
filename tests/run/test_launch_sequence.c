/* The launch sequence of windows made by hand: names and their order count, times and numbers do not. */
#include "pd_test.h"

#include "fake_trace.h"
#include "run/manifest/launch_sequence.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

typedef struct made {
  const char *names[3]; /* of the kernels; an operation around each has the same name with "op " before it */
  int64_t delay_ns;     /* of all of the second step's work */
  bool foreign;         /* another thread launches, too */
  bool copies_ahead, copy;
} made;

static void add_kernel(fake_trace *fake, const char *name, uint32_t thread, int64_t at, uint64_t correlation) {
  char operation[64];
  snprintf(operation, sizeof operation, "op %s", name);
  fake_range(fake, PD_RANGE_OP, operation, thread, at, at + 20);
  fake_call(fake, PD_API_LAUNCH, "launch", thread, at + 5, at + 10, correlation);
  fake_kernel(fake, name, fake_stream(fake, 0, 1, 7), at + 11, at + 15, correlation);
}

static launch_sequence sequence_of(const made *of, uint64_t *kernel_count) {
  launch_sequence out;
  fake_trace *fake = fake_trace_open();
  const uint32_t other = fake_thread(fake, 99, "worker");
  fake_step(fake, 0, 0, 1000);
  for (uint64_t i = 0; i < 3; i++) add_kernel(fake, of->names[i], 0, 100 + 200 * (int64_t)i + of->delay_ns, 10 + i);
  if (of->foreign) add_kernel(fake, "foreign", other, 200, 50);
  if (of->copy) {
    fake_range(fake, PD_RANGE_OP, "aten::to", 0, 800, 820);
    fake_call(fake, PD_API_MEMCPY, "copy", 0, 805, 810, 60);
    fake_copy(fake, PD_MEMORY_PINNED, PD_MEMORY_DEVICE, 64, fake_stream(fake, 0, 1, 7), 811, 815, 60);
  }
  add_kernel(fake, "after the last step", 0, 1200, 70);
  pd_trace *trace = fake_trace_finish(fake);
  cr_assert_not_null(trace);
  trace->copies_ahead = of->copies_ahead;
  cr_assert_eq(launch_sequence_find(trace, &out), PD_OK);
  *kernel_count = 0;
  for (uint64_t i = 0; i < trace->strings.count; i++)
    if (strcmp(pd_trace_string(trace, (uint32_t)i)->text, "gemm") == 0) *kernel_count = out.counts[i];
  free(out.counts);
  out.counts = NULL;
  fake_trace_close(fake);
  return out;
}

static const made plain = {.names = {"gemm", "add", "gemm"}};

PD_TEST(launch_sequence, counts_what_steps_of_the_loops_thread_launch) {
  uint64_t gemms;
  const launch_sequence of = sequence_of(&plain, &gemms);
  cr_assert_eq(of.launches, 3);
  cr_assert_eq(of.operations, 3);
  cr_assert_eq(gemms, 2);
}

PD_TEST(launch_sequence, times_and_other_threads_do_not_matter) {
  uint64_t count;
  const launch_sequence first = sequence_of(&plain, &count);
  made same = plain;
  same.delay_ns = 37;
  same.foreign = true;
  cr_assert_str_eq(sequence_of(&same, &count).sha256, first.sha256);
}

PD_TEST(launch_sequence, names_and_their_order_matter) {
  uint64_t count;
  const launch_sequence first = sequence_of(&plain, &count);
  const made turned = {.names = {"add", "gemm", "gemm"}}, renamed = {.names = {"gemm", "add", "gemm2"}};
  made more = plain;
  more.copy = true;
  cr_assert_str_neq(sequence_of(&turned, &count).sha256, first.sha256);
  cr_assert_str_neq(sequence_of(&renamed, &count).sha256, first.sha256);
  cr_assert_str_neq(sequence_of(&more, &count).sha256, first.sha256);
}

PD_TEST(launch_sequence, copies_ahead_come_when_they_are_ready) {
  uint64_t count;
  made without = plain, with = plain;
  without.copies_ahead = with.copies_ahead = with.copy = true;
  const launch_sequence first = sequence_of(&without, &count);
  cr_assert_str_eq(sequence_of(&with, &count).sha256, first.sha256);
  cr_assert_eq(first.launches, 3);
  cr_assert_eq(first.operations, 0);
}
