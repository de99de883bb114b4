/* The step-time breakdown and the device figures on toy traces. */
#include "analysis_rig.h"

static void total(analysis_rig *rig, const char *category, int64_t want) {
  RIG_INT(rig, "breakdown", category, "total", want);
}

PD_TEST(breakdown, each_moment_counts_for_the_first_class_that_is_busy) {
  analysis_rig rig;
  rig_begin(&rig);
  uint32_t stream = fake_stream(rig.fake, 0, 1, 7), other = fake_stream(rig.fake, 0, 1, 8);
  fake_step(rig.fake, 2, 0, 1000);
  fake_range(rig.fake, PD_RANGE_DATALOADER, "enumerate(DataLoader)#_pdhost.__next__", 0, 0, 300);
  fake_range(rig.fake, PD_RANGE_USER, "train_step", 0, 350, 900);
  fake_range(rig.fake, PD_RANGE_OP, "nccl:all_reduce", 0, 700, 800);
  fake_call(rig.fake, PD_API_LAUNCH, "cudaLaunchKernel", 0, 400, 420, 1);
  fake_kernel(rig.fake, "k", stream, 410, 500, 1);
  fake_call(rig.fake, PD_API_MEMCPY, "cudaMemcpyAsync", 0, 430, 440, 2);
  fake_copy(rig.fake, PD_MEMORY_PINNED, PD_MEMORY_DEVICE, 64, other, 450, 560, 2);
  fake_call(rig.fake, PD_API_MEMSET, "cudaMemsetAsync", 0, 441, 445, 3);
  fake_set(rig.fake, 64, stream, 555, 580, 3);
  /* A copy during the wait takes from it; a runtime call inside the collective is the collective's. */
  fake_call(rig.fake, PD_API_SYNC, "cudaStreamSynchronize", 0, 760, 850, 4);
  fake_call(rig.fake, PD_API_MEMCPY, "cudaMemcpyAsync", 0, 100, 110, 5);
  fake_copy(rig.fake, PD_MEMORY_PINNED, PD_MEMORY_DEVICE, 64, other, 200, 240, 5);
  rig_finish(&rig);
  total(&rig, "Kernel", 90);
  total(&rig, "Memcpy", 60 + 40);
  total(&rig, "Memset", 20);
  total(&rig, "Communication", 100);
  total(&rig, "Runtime", 10 + 10 + 50);
  total(&rig, "DataLoader", 300 - 40 - 10);
  total(&rig, "CPU Exec", 550 - 10 - 90 - 60 - 20 - 100 - 50);
  total(&rig, "Other", 50 + 100);
  const pd_table *table = rig_table(&rig, "breakdown");
  cr_assert_eq(rig_int(table, table->footer, "total"), 1000);
  rig_end(&rig);
}

PD_TEST(breakdown, each_step_adds_up_to_its_span) {
  static const char *const parts[] = {"step_kernel",  "step_memcpy",     "step_memset",   "step_communication",
                                      "step_runtime", "step_dataloader", "step_cpu_exec", "step_other"};
  analysis_rig rig;
  rig_begin(&rig);
  fake_trace_training(rig.fake, 2, 5);
  rig_finish(&rig);
  const pd_table *table = rig_table(&rig, "active_steps");
  cr_assert_eq(table->rows.count, 5);
  for (uint64_t s = 0; s < 5; s++) {
    const pd_table_row *row = rig_row_at(table, s);
    int64_t sum = 0;
    for (size_t p = 0; p < sizeof parts / sizeof *parts; p++) sum += rig_int(table, row, parts[p]);
    cr_assert_eq(sum, rig_int(table, row, "step_span"));
    cr_assert_eq(rig_int(table, row, "step"), (int64_t)(2 + s));
    cr_assert_eq(rig_int(table, row, "step_kernel"), 3250000); /* fake_trace.h: 1 + 0.5 + 1.5 + 0.25 ms */
    cr_assert_eq(rig_int(table, row, "device_busy"), 3250000 + 510000 + 1000);
    cr_assert_eq(rig_int(table, row, "data_wait"), 2000000);
    cr_assert_eq(rig_int(table, row, "step_time"), 7500000);
  }
  rig_end(&rig);
}

PD_TEST(breakdown, work_that_crosses_a_step_is_divided_between_them) {
  analysis_rig rig;
  rig_begin(&rig);
  uint32_t stream = fake_stream(rig.fake, 0, 1, 7);
  fake_step(rig.fake, 0, 0, 100);
  fake_step(rig.fake, 1, 100, 250);
  fake_call(rig.fake, PD_API_LAUNCH, "cudaLaunchKernel", 0, 10, 20, 1);
  fake_kernel(rig.fake, "k", stream, 70, 180, 1);
  fake_call(rig.fake, PD_API_LAUNCH, "cudaLaunchKernel", 0, 200, 210, 2);
  fake_kernel(rig.fake, "k", stream, 240, 900, 2); /* most of it after the window */
  rig_finish(&rig);
  const pd_table *table = rig_table(&rig, "active_steps");
  cr_assert_eq(rig_int(table, rig_row_at(table, 0), "step_kernel"), 30);
  cr_assert_eq(rig_int(table, rig_row_at(table, 1), "step_kernel"), 80 + 10);
  RIG_DOUBLE(&rig, "device_figures", "GPU0", "gpu_utilization", 100.0 * 120 / 250);
  rig_end(&rig);
}

PD_TEST(breakdown, device_figures_are_torch_tb_profilers) {
  analysis_rig rig;
  rig_begin(&rig);
  uint32_t s7 = fake_stream(rig.fake, 0, 1, 7), s8 = fake_stream(rig.fake, 0, 1, 8);
  fake_step(rig.fake, 0, 0, 1000);
  fake_call(rig.fake, PD_API_LAUNCH, "cudaLaunchKernel", 0, 1, 2, 1);
  pd_device_row *row = fake_kernel(rig.fake, "a", s7, 100, 300, 1);
  row->detail.u.kernel.blocks_per_sm = 0.5f;
  row->detail.u.kernel.occupancy = 0.25f;
  fake_call(rig.fake, PD_API_LAUNCH, "cudaLaunchKernel", 0, 3, 4, 2);
  row = fake_kernel(rig.fake, "b", s8, 200, 600, 2);
  row->detail.u.kernel.blocks_per_sm = 0.75f;
  row->detail.u.kernel.occupancy = 0.5f;
  fake_call(rig.fake, PD_API_LAUNCH, "cudaLaunchKernel", 0, 5, 6, 3);
  row = fake_kernel(rig.fake, "unknown", s7, 700, 800, 3);
  row->detail.u.kernel.blocks_per_sm = 0;
  row->detail.u.kernel.occupancy = -1;
  rig_finish(&rig);
  /* Kernels run in [100,600) and [700,800). Blocks per SM: 0.5 to 200, 1.25 cut to 1 to 300, 0.75 to 600. */
  RIG_DOUBLE(&rig, "device_figures", "GPU0", "gpu_utilization", 60.0);
  RIG_DOUBLE(&rig, "device_figures", "GPU0", "sm_efficiency", 100 * (0.5 * 100 + 1 * 100 + 0.75 * 300) / 1000);
  RIG_DOUBLE(&rig, "device_figures", "GPU0", "achieved_occupancy", 100 * (0.25 * 200 + 0.5 * 400) / 600);
  rig_end(&rig);
}
