/* The verdict on steps of several passes on a device of threads, whose kernels say nothing of how full it was. */
#include "verdict_rig.h"

#include <pdhost/device.h>

/* Five steps of 8 passes, each with a product of 100 us over 16 rows; its shapes may not be recorded. */
static void expect(bool shapes, const char *cause, int64_t cost_ns) {
  enum { PASSES = 8, PASS_NS = 100000, STEPS = 5 };
  static const int64_t rows[] = {16, 256}, weights[] = {256, 256};
  analysis_rig rig;
  pd_device_props device = *fake_device();
  const pd_table *table;
  rig_begin(&rig);
  const uint32_t stream = fake_stream(rig.fake, 0, 1, 7);
  for (uint64_t s = 0; s < STEPS; s++) {
    const int64_t at = (int64_t)s * PASSES * PASS_NS, end = at + (int64_t)PASSES * PASS_NS;
    fake_step(rig.fake, s, at, end);
    fake_range(rig.fake, PD_RANGE_USER, "train_step", 0, at, end);
    for (uint64_t p = 0; p < PASSES; p++) {
      const int64_t from = at + (int64_t)p * PASS_NS;
      const uint64_t number = 2 * (s * PASSES + p) + 1;
      fake_range(rig.fake, PD_RANGE_USER, "forward", 0, from, from + 10)->part = PD_PART_FORWARD;
      fake_call(rig.fake, PD_API_LAUNCH, "launch", 0, from, from + 10, number);
      fake_kernel(rig.fake, "relu", stream, from, from, number)->detail.u.kernel.waves = -1;
      fake_range(rig.fake, PD_RANGE_OP, "aten::mm", 0, from + 20, from + 100)->part = PD_PART_BACKWARD;
      if (shapes) fake_shape(rig.fake, PD_F32, 2, rows);
      if (shapes) fake_shape(rig.fake, PD_F32, 2, weights);
      fake_call(rig.fake, PD_API_LAUNCH, "launch", 0, from + 30, from + 40, number + 1);
      fake_kernel(rig.fake, "dnnl_sgemm", stream, from, from + PASS_NS, number + 1)->detail.u.kernel.waves = -1;
    }
  }
  rig_finish(&rig);
  device.is_cuda = 0;
  rig.trace->device = &device;
  const pd_table_row *row = verdict_row(&rig, &table);
  cr_assert_str_eq(rig_text(table, row, "verdict_cause"), cause);
  RIG_INT(&rig, "ledger", "Cost of more passes than one", "total", STEPS * cost_ns);
  const char *said = rig_text(table, row, "verdict_evidence");
  const char *want = shapes ? "without it 450 us"
                            : "what 8 passes through the model a step cost is not known without profile.record_shapes";
  cr_assert(strstr(said, want), "%s", said);
  rig_end(&rig);
}

/* Weights take half of the time of 16 rows: one pass takes 50 us for them and 8 times 50 for the rows. */
PD_TEST(verdict, one_pass_reads_its_weights_once) { expect(true, "small_batch", 7 * 50000); }
PD_TEST(verdict, passes_whose_weights_are_not_known_are_not_blamed) { expect(false, "none", 0); }
