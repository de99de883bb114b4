/* The published rules of other tools on steps made by hand: what each says on both sides of its thresholds. */
#include "score/rivals/rivals.h"
#include "score/rivals/shares.h"

#include "fake_trace.h"
#include "pd_test.h"

#include <string.h>

enum { MS = 1000000 };

/* One step of 100 ms: a wait for data, then one launch whose kernel ends with the step, and what a test adds. */
typedef struct step_rig {
  fake_trace *fake;
  uint32_t stream;
} step_rig;

static step_rig rig_of(int64_t wait_ms, int64_t kernel_ms) {
  step_rig rig = {.fake = fake_trace_open()};
  cr_assert_not_null(rig.fake);
  pd_trace_step *step = fake_step(rig.fake, 2, 0, 100 * MS);
  step->data_wait_ns = wait_ms * MS;
  rig.stream = fake_stream(rig.fake, 0, 1, 7);
  if (wait_ms) fake_range(rig.fake, PD_RANGE_DATALOADER, "next", 0, 0, wait_ms * MS);
  fake_range(rig.fake, PD_RANGE_USER, "train_step", 0, wait_ms * MS, 99 * MS);
  pd_range *forward = fake_range(rig.fake, PD_RANGE_OP, "conv", 0, wait_ms * MS + 1000, wait_ms * MS + 3000);
  forward->part = PD_PART_FORWARD;
  fake_call(rig.fake, PD_API_LAUNCH, "launch", 0, wait_ms * MS + 1500, wait_ms * MS + 2000, 1);
  if (kernel_ms) fake_kernel(rig.fake, "k", rig.stream, (100 - kernel_ms) * MS, 100 * MS, 1);
  return rig;
}

/* What each of them says, in the order of rival_all; the rig goes. */
static void say(step_rig *rig, const char *tb_plugin, const char *xprof, const char *traceml, const char *nsys,
                const char *paddle) {
  const char *const want[RIVAL_COUNT] = {tb_plugin, xprof, traceml, nsys, paddle};
  pd_trace *trace = fake_trace_finish(rig->fake);
  cr_assert_not_null(trace);
  trace_facts *facts = facts_open(trace);
  cr_assert_not_null(facts);
  for (uint32_t i = 0; i < RIVAL_COUNT; i++) {
    const char *got = rival_all[i]->judge(facts);
    cr_assert_str_eq(got, want[i], "%s says %s, not %s", rival_all[i]->key, got, want[i]);
  }
  facts_close(facts);
  fake_trace_close(rig->fake);
}

PD_TEST(rivals, a_busy_device_is_no_ones_concern) {
  step_rig rig = rig_of(2, 98);
  say(&rig, "none", "none", "none", "none", "none");
}

PD_TEST(rivals, a_wait_for_data_is_seen_by_all_that_look_for_it) {
  step_rig rig = rig_of(50, 50);
  say(&rig, "input_bound", "input_bound", "input_bound", "none", "input_bound");
}

PD_TEST(rivals, each_has_its_own_limit_for_waits) {
  step_rig small = rig_of(7, 93), middle = rig_of(12, 88);
  say(&small, "input_bound", "input_bound", "none", "none", "none");
  say(&middle, "input_bound", "input_bound", "input_bound", "none", "none");
}

PD_TEST(rivals, an_idle_device_without_a_reason) {
  /* Nothing runs on the host either from 3 us on: all others, and low utilization. Its part of the step is under half.
   */
  step_rig rig = rig_of(0, 40);
  say(&rig, "small_batch", "host_compute", "unnamed", "none", "none");
}

PD_TEST(rivals, launching_for_long) {
  step_rig rig = rig_of(0, 60);
  fake_call(rig.fake, PD_API_LAUNCH, "launch", 0, 1 * MS, 39 * MS, 2);
  pd_device_row *kernel = fake_kernel(rig.fake, "k", rig.stream, 99 * MS, 99 * MS + 1, 2);
  cr_assert_not_null(kernel);
  say(&rig, "none", "launch_bound", "unnamed", "none", "none");
}

PD_TEST(rivals, pageable_copies_and_blocking_calls_are_weighed_by_their_time) {
  step_rig copies = rig_of(0, 60), waits = rig_of(0, 60);
  fake_call(copies.fake, PD_API_MEMCPY, "copy", 0, 1 * MS, 30 * MS, 2);
  fake_copy(copies.fake, PD_MEMORY_PAGEABLE, PD_MEMORY_DEVICE, 4096, copies.stream, 2 * MS, 32 * MS, 2);
  fake_call(copies.fake, PD_API_SYNC, "sync", 0, 30 * MS, 40 * MS, 3);
  say(&copies, "none", "launch_bound", "pageable_copy", "pageable_copy", "none");
  fake_call(waits.fake, PD_API_MEMCPY, "copy", 0, 1 * MS, 2 * MS, 2);
  fake_copy(waits.fake, PD_MEMORY_PAGEABLE, PD_MEMORY_DEVICE, 4096, waits.stream, 2 * MS, 3 * MS, 2);
  fake_call(waits.fake, PD_API_SYNC, "sync", 0, 3 * MS, 39 * MS, 3);
  say(&waits, "none", "host_compute", "unnamed", "forced_sync", "none");
}

PD_TEST(rivals, a_blocking_read_is_a_synchronisation_and_no_pageable_input) {
  step_rig rig = rig_of(0, 95);
  fake_call(rig.fake, PD_API_MEMCPY, "copy", 0, 1 * MS, 2 * MS, 2);
  fake_copy(rig.fake, PD_MEMORY_DEVICE, PD_MEMORY_PAGEABLE, 4, rig.stream, 3 * MS, 3 * MS + 2000, 2);
  say(&rig, "none", "host_compute", "none", "forced_sync", "none");
}

PD_TEST(rivals, nsys_leaves_the_loops_own_synchronisations_out_and_sees_gaps) {
  step_rig rig = rig_of(0, 98);
  fake_call(rig.fake, PD_API_SYNC, "sync", 0, 99 * MS, 100 * MS, 3); /* behind train_step */
  say(&rig, "none", "none", "none", "none", "none");
  step_rig gap = rig_of(0, 1);
  fake_call(gap.fake, PD_API_LAUNCH, "launch", 0, 1 * MS, 1 * MS + 1, 2);
  fake_kernel(gap.fake, "k", gap.stream, 2 * MS, 3 * MS, 2);
  say(&gap, "small_batch", "host_compute", "unnamed", "unnamed", "none");
}

PD_TEST(rivals, shares_of_a_step_belong_to_one_class_each_and_add_up) {
  static const uint32_t order[] = {SHARE_KERNEL, SHARE_TO_DEVICE, SHARE_DATALOADER};
  step_rig rig = rig_of(30, 50);
  fake_call(rig.fake, PD_API_MEMCPY, "copy", 0, 31 * MS, 32 * MS, 2);
  fake_copy(rig.fake, PD_MEMORY_PINNED, PD_MEMORY_DEVICE, 4096, rig.stream, 20 * MS, 60 * MS, 2);
  trace_facts *facts = facts_open(fake_trace_finish(rig.fake));
  double shares[SHARE_COUNT];
  cr_assert(shares_of(facts, order, 3, shares));
  cr_assert_float_eq(shares[SHARE_KERNEL], 0.5, 1e-12);
  cr_assert_float_eq(shares[SHARE_TO_DEVICE], 0.3, 1e-12); /* 20 to 50: the kernel has the rest */
  cr_assert_float_eq(shares[SHARE_DATALOADER], 0.2, 1e-12);
  cr_assert_float_eq(shares[SHARE_REST], 0.0, 1e-12);
  cr_assert_float_eq(shares[SHARE_RUNTIME], 0.0, 1e-12); /* not asked for */
  facts_close(facts);
  fake_trace_close(rig.fake);
}
