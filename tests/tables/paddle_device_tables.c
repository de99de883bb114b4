/* Paddle's summaries of the device, of what users mark, and figures over steps; as test_paddle_tables.c has them. */
#include "analysis_rig.h"

PD_TEST(paddle_tables, kernels_tell_what_their_launches_share) {
  analysis_rig rig;
  rig_begin(&rig);
  uint32_t stream = fake_stream(rig.fake, 0, 1, 7);
  for (uint64_t i = 0; i < 2; i++) {
    fake_call(rig.fake, PD_API_LAUNCH, "cudaLaunchKernel", 0, (int64_t)i * 10, (int64_t)i * 10 + 5, i + 1);
    pd_device_row *row = fake_kernel(rig.fake, "k", stream, 100 + (int64_t)i * 100, 130 + (int64_t)i * 160, i + 1);
    row->detail.u.kernel.grid[0] = 4 + (uint32_t)i;
    row->detail.u.kernel.grid[1] = row->detail.u.kernel.grid[2] = 1;
    row->detail.u.kernel.block[0] = 128;
    row->detail.u.kernel.block[1] = row->detail.u.kernel.block[2] = 1;
    row->detail.u.kernel.registers = 32;
    row->detail.u.kernel.static_bytes = 1024;
    row->detail.u.kernel.dynamic_bytes = 512;
    row->detail.u.kernel.occupancy = i ? 0.5f : 0.25f;
    row->detail.u.kernel.blocks_per_sm = i ? 2.0f : 1.0f;
  }
  rig_finish(&rig);
  RIG_INT(&rig, "kernels", "k", "gpu_total", 30 + 90);
  RIG_INT(&rig, "kernels", "k", "gpu_max", 90);
  RIG_INT(&rig, "kernels", "k", "gpu_min", 30);
  RIG_DOUBLE(&rig, "kernels", "k", "gpu_ratio", 100.0);
  RIG_MISSING(&rig, "kernels", "k", "grid");
  const pd_table *table = rig_table(&rig, "kernels");
  cr_assert_str_eq(rig_text(table, rig_row(table, "k"), "block"), "128,1,1");
  RIG_INT(&rig, "kernels", "k", "registers", 32);
  RIG_INT(&rig, "kernels", "k", "shared_memory", 1536);
  RIG_DOUBLE(&rig, "kernels", "k", "occupancy", 100 * (0.25 * 30 + 0.5 * 90) / 120);
  RIG_DOUBLE(&rig, "kernels", "k", "blocks_per_sm", (1.0 * 30 + 2.0 * 90) / 120);
  rig_end(&rig);
}

PD_TEST(paddle_tables, copies_by_kind_with_bytes_and_bandwidth) {
  analysis_rig rig;
  rig_begin(&rig);
  uint32_t stream = fake_stream(rig.fake, 0, 1, 7);
  fake_call(rig.fake, PD_API_MEMCPY, "cudaMemcpyAsync", 0, 0, 10, 1);
  fake_copy(rig.fake, PD_MEMORY_PINNED, PD_MEMORY_DEVICE, 3000, stream, 100, 200, 1);
  fake_call(rig.fake, PD_API_MEMCPY, "cudaMemcpy", 0, 20, 60, 2);
  fake_copy(rig.fake, PD_MEMORY_PAGEABLE, PD_MEMORY_DEVICE, 500, stream, 200, 250, 2);
  fake_call(rig.fake, PD_API_MEMSET, "cudaMemsetAsync", 0, 70, 75, 3);
  fake_set(rig.fake, 64, stream, 250, 260, 3);
  fake_memory(rig.fake, 0, 5, 0x1000, 4096, 4096, 8192)->duration_ns = 7;
  fake_memory(rig.fake, 0, 6, 0x1000, -4096, 0, 8192)->duration_ns = 2;
  rig_finish(&rig);
  RIG_INT(&rig, "memcpy", "GpuMemcpyAsync:CUDAPinned->GPU", "bytes", 3000);
  RIG_INT(&rig, "memcpy", "GpuMemcpyAsync:CUDAPinned->GPU", "cpu_total", 10);
  RIG_INT(&rig, "memcpy", "GpuMemcpyAsync:CUDAPinned->GPU", "gpu_total", 100);
  RIG_DOUBLE(&rig, "memcpy", "GpuMemcpyAsync:CUDAPinned->GPU", "bandwidth", 30.0);
  RIG_INT(&rig, "memcpy", "GpuMemcpySync:CPU->GPU", "cpu_total", 40);
  RIG_INT(&rig, "memcpy", "GpuMemsetAsync:GPU", "bytes", 64);
  RIG_INT(&rig, "memcpy", "Allocation:GPU", "bytes", 4096);
  RIG_INT(&rig, "memcpy", "Allocation:GPU", "cpu_total", 7);
  RIG_INT(&rig, "memcpy", "Free:GPU", "cpu_total", 2);
  RIG_MISSING(&rig, "memcpy", "Free:GPU", "gpu_total");
  rig_end(&rig);
}

/* One call, three copies and a kernel: its 90 ns on the host are counted once, and it does not wait. */
PD_TEST(paddle_tables, a_graph_launch_counts_once) {
  analysis_rig rig;
  rig_begin(&rig);
  uint32_t stream = fake_stream(rig.fake, 0, 1, 7);
  fake_call(rig.fake, PD_API_GRAPH_LAUNCH, "cudaGraphLaunch", 0, 10, 100, 1);
  fake_copy(rig.fake, PD_MEMORY_PINNED, PD_MEMORY_DEVICE, 100, stream, 200, 210, 1);
  fake_copy(rig.fake, PD_MEMORY_PINNED, PD_MEMORY_DEVICE, 100, stream, 210, 220, 1);
  fake_kernel(rig.fake, "k", stream, 220, 300, 1);
  fake_set(rig.fake, 64, stream, 300, 310, 1);
  rig_finish(&rig);
  RIG_INT(&rig, "memcpy", "GpuMemcpyAsync:CUDAPinned->GPU", "calls", 2);
  RIG_INT(&rig, "memcpy", "GpuMemcpyAsync:CUDAPinned->GPU", "cpu_total", 90);
  RIG_INT(&rig, "memcpy", "GpuMemcpyAsync:CUDAPinned->GPU", "cpu_min", 0);
  RIG_INT(&rig, "memcpy", "GpuMemcpyAsync:CUDAPinned->GPU", "gpu_total", 20);
  RIG_INT(&rig, "memcpy", "GpuMemsetAsync:GPU", "cpu_total", 0);
  cr_assert_eq(rig_table(&rig, "memcpy")->rows.count, 2);
  rig_end(&rig);
}

PD_TEST(paddle_tables, user_ranges_with_the_device_time_they_launched) {
  analysis_rig rig;
  rig_begin(&rig);
  uint32_t stream = fake_stream(rig.fake, 0, 1, 7);
  fake_range(rig.fake, PD_RANGE_USER, "mine", 0, 0, 100);
  fake_range(rig.fake, PD_RANGE_OP, "a", 0, 10, 30);
  fake_call(rig.fake, PD_API_LAUNCH, "cudaLaunchKernel", 0, 12, 14, 1);
  fake_kernel(rig.fake, "k", stream, 100, 140, 1);
  fake_range(rig.fake, PD_RANGE_USER, "mine", 0, 200, 260);
  rig_finish(&rig);
  RIG_INT(&rig, "userdefined", "mine", "calls", 2);
  RIG_INT(&rig, "userdefined", "mine", "cpu_total", 160);
  RIG_INT(&rig, "userdefined", "mine", "gpu_total", 40);
  RIG_INT(&rig, "userdefined", "mine", "gpu_min", 0);
  cr_assert(!rig_has_row(rig_table(&rig, "userdefined"), "a"));
  rig_end(&rig);
}

PD_TEST(paddle_tables, device_summary_bounds_every_share) {
  analysis_rig rig;
  rig_begin(&rig);
  uint32_t s7 = fake_stream(rig.fake, 0, 1, 7), s8 = fake_stream(rig.fake, 0, 1, 8);
  fake_step(rig.fake, 0, 0, 1000);
  fake_call(rig.fake, PD_API_LAUNCH, "cudaLaunchKernel", 0, 1, 2, 1);
  fake_call(rig.fake, PD_API_LAUNCH, "cudaLaunchKernel", 0, 3, 4, 2);
  fake_kernel(rig.fake, "k", s7, 100, 300, 1);
  fake_copy(rig.fake, PD_MEMORY_PINNED, PD_MEMORY_DEVICE, 1, s8, 200, 400, 2);
  rig_finish(&rig);
  RIG_DOUBLE(&rig, "device_summary", "GPU0", "utilization", 30.0);
  cr_assert(!rig_has_row(rig_table(&rig, "device_summary"), "CPU(Process)"), "not measured: no row");
  analysis_forget(rig.analysis, rig.trace);
  analysis_window_begin(rig.analysis);
  analysis_window_end(rig.analysis);
  const pd_table *table = rig_table(&rig, "device_summary");
  const pd_table_row *process = rig_row(table, "CPU(Process)");
  cr_assert_eq(rig_double(table, process, "utilization_bound"), 200);
  cr_assert(rig_double(table, process, "utilization") >= 0 && rig_double(table, process, "utilization") <= 200);
  rig_end(&rig);
}

PD_TEST(paddle_tables, an_idle_device_has_a_row) {
  analysis_rig rig;
  rig_begin(&rig);
  fake_step(rig.fake, 0, 0, 1000);
  fake_range(rig.fake, PD_RANGE_USER, "mine", 0, 0, 100);
  rig_finish(&rig);
  RIG_DOUBLE(&rig, "device_summary", "GPU0", "utilization", 0.0);
  RIG_DOUBLE(&rig, "device_figures", "GPU0", "gpu_utilization", 0.0);
  RIG_MISSING(&rig, "device_figures", "GPU0", "achieved_occupancy");
  rig_end(&rig);
  /* Beside another one that worked, too; and where nobody knows, nothing is said. */
  rig_begin(&rig);
  fake_step(rig.fake, 0, 0, 1000);
  fake_call(rig.fake, PD_API_LAUNCH, "cudaLaunchKernel", 0, 1, 2, 1);
  fake_kernel(rig.fake, "k", fake_stream(rig.fake, 1, 1, 7), 100, 300, 1)->detail.device = 1;
  rig_finish(&rig);
  RIG_DOUBLE(&rig, "device_summary", "GPU1", "utilization", 20.0);
  RIG_DOUBLE(&rig, "device_summary", "GPU0", "utilization", 0.0);
  RIG_DOUBLE(&rig, "device_figures", "GPU1", "gpu_utilization", 20.0);
  RIG_DOUBLE(&rig, "device_figures", "GPU0", "gpu_utilization", 0.0);
  analysis_forget(rig.analysis, rig.trace);
  rig.trace->profile = PD_PROFILE_EVENTS;
  cr_assert_eq(rig_table(&rig, "device_summary")->rows.count, 0);
  cr_assert(strstr(rig_table(&rig, "device_summary")->note, "missing"));
  rig_end(&rig);
}

/* Figures over steps carry the digits of the steps' spread: fake_trace.h has equal steps, here one varies by half. */
PD_TEST(paddle_tables, digits_of_figures_over_steps) {
  static const struct {
    const char *id, *row, *key;
  } cells[] = {{"breakdown", "Kernel", "per_step"},
               {"breakdown", "Steps", "total"},
               {"model", "Dataloader", "cpu_avg"},
               {"model", "ProfileStep", "gpu_max"},
               {"ledger", "Kernels", "share"}};
  for (int varies = 0; varies < 2; varies++) {
    analysis_rig rig;
    rig_begin(&rig);
    for (uint64_t s = 0; s < 4; s++) {
      const int64_t at = (int64_t)s * 10000000, k = varies && s % 2 ? 3000000 : 2000000;
      fake_step(rig.fake, s, at, at + 10000000 - (int64_t)varies * (int64_t)(s % 2) * 2000000);
      fake_range(rig.fake, PD_RANGE_DATALOADER, "wait", 0, at + 10, at + k);
      fake_call(rig.fake, PD_API_LAUNCH, "cudaLaunchKernel", 0, at + 3500000, at + 3500100, s + 1);
      fake_kernel(rig.fake, "k", fake_stream(rig.fake, 0, 1, 7), at + 4000000, at + 4000000 + k, s + 1);
    }
    rig_finish(&rig);
    for (size_t i = 0; i < sizeof cells / sizeof *cells; i++) {
      const pd_table *table = rig_table(&rig, cells[i].id);
      uint64_t row = 0;
      while (row < table->rows.count && strcmp(rig_row_at(table, row)->cells[0].v.text, cells[i].row)) row++;
      const uint32_t digits = pd_table_digits(table, row, rig_column(table, cells[i].key));
      cr_assert_eq(digits, varies ? 3u : 5u, "%s[%s].%s: %u digits", cells[i].id, cells[i].row, cells[i].key, digits);
    }
    const pd_table *steps = rig_table(&rig, "active_steps");
    cr_assert_eq(pd_table_digits(steps, 0, rig_column(steps, "step_kernel")), varies ? 3u : 5u);
    cr_assert_eq(pd_table_digits(steps, 3, rig_column(steps, "step_span")), varies ? 3u : 5u);
    cr_assert_eq(pd_table_digits(steps, 0, rig_column(steps, "launches")), 0);
    rig_end(&rig);
  }
}

PD_TEST(paddle_tables, flops_rates_and_share_of_the_peak) {
  const int64_t dims[] = {8, 8};
  analysis_rig rig;
  rig_begin(&rig);
  uint32_t stream = fake_stream(rig.fake, 0, 1, 7);
  fake_step(rig.fake, 0, 0, 1000);
  fake_step(rig.fake, 1, 1000, 2000);
  for (uint64_t i = 0; i < 2; i++) {
    pd_range *range = fake_range(rig.fake, PD_RANGE_OP, "aten::mm", 0, 10 + (int64_t)i * 1000, 50 + (int64_t)i * 1000);
    range->flops = 1000000;
    fake_shape(rig.fake, i ? PD_F16 : PD_F32, 2, dims);
    fake_call(rig.fake, PD_API_LAUNCH, "cudaLaunchKernel", 0, 12 + (int64_t)i * 1000, 14 + (int64_t)i * 1000, i + 1);
    fake_kernel(rig.fake, "gemm", stream, 100 + (int64_t)i * 1000, 200 + (int64_t)i * 1000, i + 1);
  }
  rig_finish(&rig);
  const pd_table *table = rig_table(&rig, "flops");
  cr_assert_eq(table->rows.count, 2, "half and single precision apart");
  for (int i = 0; i < 2; i++) {
    const pd_table_row *row = rig_row_n(table, "aten::mm", i);
    bool half = !strcmp(rig_text(table, row, "peak_kind"), "float16");
    cr_assert_eq(rig_int(table, row, "flops"), 1000000);
    cr_assert_eq(rig_int(table, row, "flops_per_step"), 500000);
    cr_assert_float_eq(rig_double(table, row, "flops_per_s"), 1e13, 1);
    cr_assert_float_eq(rig_double(table, row, "peak_percent"), half ? 1e15 / 989e12 : 1e15 / 494e12, 1e-9);
  }
  cr_assert_eq(rig_int(table, table->footer, "flops"), 2000000);
  RIG_INT(&rig, "operators", "aten::mm", "flops", 2000000);
  rig_end(&rig);
}

PD_TEST(paddle_tables, without_tf32_the_peak_is_that_of_float32) {
  const analysis_context context = {.device = fake_device(), .with_flops = true, .cores = 2};
  analysis_rig rig;
  rig_begin(&rig);
  uint32_t stream = fake_stream(rig.fake, 0, 1, 7);
  fake_step(rig.fake, 0, 0, 1000);
  fake_range(rig.fake, PD_RANGE_OP, "aten::mm", 0, 10, 50)->flops = 1000000;
  fake_call(rig.fake, PD_API_LAUNCH, "cudaLaunchKernel", 0, 12, 14, 1);
  fake_kernel(rig.fake, "gemm", stream, 100, 200, 1);
  rig_finish(&rig);
  analysis_close(rig.analysis);
  cr_assert_eq(analysis_open(&context, &rig.analysis), PD_OK);
  const pd_table *table = rig_table(&rig, "flops");
  const pd_table_row *row = rig_row(table, "aten::mm");
  cr_assert_str_eq(rig_text(table, row, "peak_kind"), "float32");
  cr_assert_float_eq(rig_double(table, row, "peak_percent"), 1e15 / fake_device()->peak_f32_flops, 1e-9);
  rig_end(&rig);
}

PD_TEST(paddle_tables, modules_count_where_they_are_entered) {
  analysis_rig rig;
  rig_begin(&rig);
  uint32_t stream = fake_stream(rig.fake, 0, 1, 7);
  uint32_t net = fake_string(rig.fake, "SimpleCNN"), conv = fake_string(rig.fake, "SimpleCNN.conv1");
  fake_step(rig.fake, 0, 0, 200);
  fake_range(rig.fake, PD_RANGE_MODULE, "nn.Module: SimpleCNN_0", 0, 0, 100)->module = net;
  fake_range(rig.fake, PD_RANGE_MODULE, "nn.Module: Conv2d_0", 0, 10, 50)->module = conv;
  fake_range(rig.fake, PD_RANGE_OP, "aten::conv2d", 0, 15, 45)->module = conv;
  fake_call(rig.fake, PD_API_LAUNCH, "cudaLaunchKernel", 0, 20, 22, 1);
  fake_kernel(rig.fake, "k", stream, 60, 90, 1);
  /* Two operations of the module itself, and the backward pass of one of each, outside of every module's range. */
  fake_range(rig.fake, PD_RANGE_OP, "aten::mean", 0, 60, 70)->module = net;
  fake_range(rig.fake, PD_RANGE_OP, "aten::view", 0, 80, 90)->module = net;
  fake_range(rig.fake, PD_RANGE_OP, "autograd::engine: Mean", 0, 110, 120)->module = net;
  fake_range(rig.fake, PD_RANGE_OP, "autograd::engine: Conv", 0, 120, 180)->module = conv;
  fake_range(rig.fake, PD_RANGE_OP_INNER, "ConvBackward", 0, 130, 170)->module = conv;
  fake_call(rig.fake, PD_API_LAUNCH, "cudaLaunchKernel", 0, 140, 142, 2);
  fake_kernel(rig.fake, "k", stream, 150, 170, 2);
  rig_finish(&rig);
  RIG_INT(&rig, "modules", "SimpleCNN", "calls", 1);
  RIG_INT(&rig, "modules", "SimpleCNN", "cpu_total", 100 + 10 + 60);
  RIG_INT(&rig, "modules", "SimpleCNN", "gpu_total", 50);
  RIG_INT(&rig, "modules", "SimpleCNN.conv1", "calls", 1);
  RIG_INT(&rig, "modules", "SimpleCNN.conv1", "cpu_total", 40 + 60);
  RIG_INT(&rig, "modules", "SimpleCNN.conv1", "gpu_total", 50);
  RIG_DOUBLE(&rig, "modules", "SimpleCNN", "cpu_ratio", 85.0);
  rig_end(&rig);
}

/* Zero would be a figure. */
PD_TEST(paddle_tables, leave_out_what_only_device_records_tell) {
  analysis_rig rig;
  rig_begin(&rig);
  fake_step(rig.fake, 0, 0, 1000);
  fake_range(rig.fake, PD_RANGE_OP, "a", 0, 0, 100)->flops = 1000;
  fake_range(rig.fake, PD_RANGE_DATALOADER, "wait", 0, 200, 230);
  rig_finish(&rig);
  rig.trace->profile = PD_PROFILE_EVENTS;
  rig.trace->profile_note = "no libcupti";
  static const char *const kinds[] = {"CudaRuntime", "Kernel", "Memcpy", "Memset", "Communication"};
  for (size_t i = 0; i < sizeof kinds / sizeof kinds[0]; i++) {
    RIG_MISSING(&rig, "overview", kinds[i], "calls");
    RIG_MISSING(&rig, "overview", kinds[i], "cpu_time_union");
    RIG_MISSING(&rig, "overview", kinds[i], "gpu_time_union");
    RIG_MISSING(&rig, "overview", kinds[i], "step_ratio");
  }
  RIG_INT(&rig, "overview", "Operator", "calls", 1);
  static const char *const classes[] = {"Kernel", "Memcpy", "Memset", "Runtime", "CPU Exec", "Other"};
  for (size_t i = 0; i < sizeof classes / sizeof classes[0]; i++) {
    RIG_MISSING(&rig, "breakdown", classes[i], "total");
    RIG_MISSING(&rig, "breakdown", classes[i], "share");
  }
  const pd_table *steps = rig_table(&rig, "active_steps");
  static const char *const keys[] = {"launches",    "matched",     "device_records", "device_busy",   "step_kernel",
                                     "step_memcpy", "step_memset", "step_runtime",   "step_cpu_exec", "step_other"};
  for (size_t i = 0; i < sizeof keys / sizeof keys[0]; i++)
    cr_assert(rig_cell(steps, rig_row_at(steps, 0), keys[i])->missing, "%s", keys[i]);
  cr_assert_eq(rig_int(steps, rig_row_at(steps, 0), "step_span"), 1000);
  cr_assert_eq(rig_int(steps, rig_row_at(steps, 0), "step_dataloader"), 30);
  RIG_INT(&rig, "flops", "a", "flops", 1000);
  RIG_MISSING(&rig, "flops", "a", "gpu_total");
  RIG_MISSING(&rig, "flops", "a", "flops_per_s");
  RIG_INT(&rig, "breakdown", "DataLoader", "total", 30);
  static const char *const labelled[] = {"overview", "breakdown", "distributed",      "active_steps",
                                         "flops",    "model",     "operator_summary", "userdefined",
                                         "modules",  "memcpy",    "operators",        "device_summary"};
  for (size_t i = 0; i < sizeof labelled / sizeof labelled[0]; i++)
    cr_assert(strstr(rig_table(&rig, labelled[i])->note, "missing, no libcupti"), "%s",
              rig_table(&rig, labelled[i])->note);
  const pd_table *distributed = rig_table(&rig, "distributed");
  cr_assert_eq(distributed->rows.count, 2);
  rig_end(&rig);
}
