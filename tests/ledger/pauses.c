/* What long pauses of the launching thread leave behind: launching is slow at first. */
#include "gains_rig.h"

enum { OPERATION_NS = 20000 };

/* An operation that launches a kernel; when the next one begins. */
static int64_t add_operation(gains_rig *rig, int64_t at) {
  fake_range(rig->fake, PD_RANGE_OP, "aten::mm", rig->thread, at, at + OPERATION_NS);
  fake_call(rig->fake, PD_API_LAUNCH, "cudaLaunchKernel", rig->thread, at, at + OPERATION_NS, ++rig->correlation);
  fake_kernel(rig->fake, "k", rig->main, at + 12000, at + 16000, rig->correlation);
  return at + OPERATION_NS;
}

/* Steps of 40 operations, `pieces` silences of `quiet_ns` with `between` operations between two of them, ten
 * operations, and one of half a millisecond without a launch. What a step saves without the silences, in us. */
static double saved_us(uint32_t pieces, int64_t quiet_ns, uint32_t between) {
  enum { BEFORE = 40, BEHIND = 10, LAST_NS = 500000 };
  gains_rig rig;
  gains out;
  int64_t at = 0;
  begin(&rig);
  for (uint64_t s = 0; s < STEPS; s++) {
    const int64_t start = at;
    for (uint32_t i = 0; i < BEFORE; i++) at = add_operation(&rig, at);
    for (uint32_t p = 0; p < pieces; p++) {
      at += quiet_ns;
      for (uint32_t i = 0; i < (p + 1 < pieces ? between : BEHIND); i++) at = add_operation(&rig, at);
    }
    fake_range(rig.fake, PD_RANGE_OP, "aten::mm", rig.thread, at, at + LAST_NS);
    at += LAST_NS;
    fake_step(rig.fake, s, start, at);
  }
  judge(&rig, PD_FACT_OPERATIONS | PD_FACT_RECORDER_COST, &out);
  return out.causes[VERDICT_host_compute].gain * out.step_ns / 1000;
}

PD_TEST(gains, a_long_pause_is_worth_more_than_it_lasts) {
  cr_assert_float_eq(saved_us(1, 490000, 0), 490, 0.01);
  /* Half of ten operations. The last one ends later than the cold does, and stays whole. */
  cr_assert_float_eq(saved_us(1, 510000, 0), 510 + 100, 0.01);
}

PD_TEST(gains, pieces_of_a_pause_add_up_unless_more_than_one_launch_is_between_them) {
  cr_assert_float_eq(saved_us(2, 300000, 1), 600 + 100, 0.01);
  cr_assert_float_eq(saved_us(2, 300000, 2), 600, 0.01);
  cr_assert_float_eq(saved_us(6, 300000, 5), 1800, 0.01);
}
