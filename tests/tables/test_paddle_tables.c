/* Paddle's summaries on toy traces whose answers are worked out by hand: times and operators. The device's are
 * paddle_device_tables.c's. */
#include "analysis_rig.h"

PD_TEST(paddle_tables, overview_merges_overlaps_over_threads_and_streams) {
  analysis_rig rig;
  rig_begin(&rig);
  uint32_t second = fake_thread(rig.fake, 9, "second");
  uint32_t s7 = fake_stream(rig.fake, 0, 1, 7), s8 = fake_stream(rig.fake, 0, 1, 8);
  fake_step(rig.fake, 0, 0, 1000);
  fake_range(rig.fake, PD_RANGE_OP, "a", 0, 0, 100);
  fake_range(rig.fake, PD_RANGE_OP, "a", second, 50, 150);
  fake_range(rig.fake, PD_RANGE_OP_INNER, "in", second, 60, 70);
  fake_range(rig.fake, PD_RANGE_OP, "b", second, 80, 95); /* an operation's own kind, but inside another */
  fake_call(rig.fake, PD_API_LAUNCH, "cudaLaunchKernel", 0, 10, 20, 1);
  fake_call(rig.fake, PD_API_LAUNCH, "cudaLaunchKernel", 0, 30, 40, 2);
  fake_kernel(rig.fake, "k", s7, 200, 300, 1);
  fake_kernel(rig.fake, "ncclDevKernel_AllReduce", s8, 250, 320, 2);
  rig_finish(&rig);
  RIG_INT(&rig, "overview", "Operator", "cpu_time_union", 150);
  RIG_INT(&rig, "overview", "Operator", "calls", 2);
  RIG_INT(&rig, "overview", "OperatorInner", "cpu_time_union", 25);
  RIG_INT(&rig, "overview", "OperatorInner", "calls", 2);
  RIG_INT(&rig, "overview", "CudaRuntime", "cpu_time_union", 20);
  RIG_INT(&rig, "overview", "Kernel", "gpu_time_union", 120);
  RIG_INT(&rig, "overview", "Kernel", "calls", 2);
  RIG_INT(&rig, "overview", "Communication", "gpu_time_union", 70);
  RIG_DOUBLE(&rig, "overview", "Operator", "step_ratio", 15.0);
  RIG_INT(&rig, "overview", "ProfileStep", "cpu_time_union", 1000);
  RIG_MISSING(&rig, "overview", "Kernel", "cpu_time_union");
  rig_end(&rig);
}

PD_TEST(paddle_tables, parts_count_where_they_begin) {
  analysis_rig rig;
  rig_begin(&rig);
  fake_step(rig.fake, 0, 0, 1000);
  fake_range(rig.fake, PD_RANGE_USER, "forward", 0, 100, 300)->part = PD_PART_FORWARD;
  fake_range(rig.fake, PD_RANGE_OP, "a", 0, 110, 150)->part = PD_PART_FORWARD;
  fake_range(rig.fake, PD_RANGE_OP, "b", 0, 400, 420)->part = PD_PART_FORWARD;
  rig_finish(&rig);
  RIG_INT(&rig, "overview", "Forward", "calls", 2);
  RIG_INT(&rig, "overview", "Forward", "cpu_time_union", 220);
  rig_end(&rig);
}

PD_TEST(paddle_tables, model_adds_up_to_the_step_on_both_sides) {
  analysis_rig rig;
  rig_begin(&rig);
  fake_trace_training(rig.fake, 2, 4);
  rig_finish(&rig);
  const pd_table *table = rig_table(&rig, "model");
  static const char *const parts[] = {"Dataloader", "Forward", "Backward", "Optimization", "Others"};
  int64_t cpu = 0, gpu = 0;
  double cpu_ratio = 0, gpu_ratio = 0;
  for (size_t i = 0; i < sizeof parts / sizeof *parts; i++) {
    const pd_table_row *row = rig_row(table, parts[i]);
    cpu += rig_int(table, row, "cpu_total");
    gpu += rig_int(table, row, "gpu_total");
    cpu_ratio += rig_double(table, row, "cpu_ratio");
    gpu_ratio += rig_double(table, row, "gpu_ratio");
  }
  cr_assert_eq(cpu, 4 * 10000000);
  cr_assert_eq(gpu, 4 * (3250000 + 510000 + 1000));
  cr_assert_float_eq(cpu_ratio, 100, 1e-9);
  cr_assert_float_eq(gpu_ratio, 100, 1e-9);
  RIG_INT(&rig, "model", "ProfileStep", "cpu_total", 4 * 10000000);
  RIG_INT(&rig, "model", "Dataloader", "cpu_avg", 1990000);
  RIG_INT(&rig, "model", "Forward", "gpu_total", 4 * 1500000);
  RIG_INT(&rig, "model", "Backward", "gpu_total", 4 * 1500000);
  RIG_INT(&rig, "model", "Optimization", "gpu_total", 4 * 251000);
  rig_end(&rig);
}

PD_TEST(paddle_tables, model_gives_overlapping_parts_of_two_threads_one_owner) {
  analysis_rig rig;
  rig_begin(&rig);
  uint32_t autograd = fake_thread(rig.fake, 9, "autograd"), stream = fake_stream(rig.fake, 0, 1, 7);
  fake_step(rig.fake, 0, 0, 1000);
  fake_range(rig.fake, PD_RANGE_OP, "f", 0, 100, 300)->part = PD_PART_FORWARD;
  fake_range(rig.fake, PD_RANGE_OP, "b", autograd, 200, 500)->part = PD_PART_BACKWARD;
  fake_call(rig.fake, PD_API_LAUNCH, "cudaLaunchKernel", autograd, 210, 220, 1);
  fake_kernel(rig.fake, "k", stream, 900, 940, 1);
  rig_finish(&rig);
  RIG_INT(&rig, "model", "Forward", "cpu_total", 200);
  RIG_INT(&rig, "model", "Backward", "cpu_total", 200);
  RIG_INT(&rig, "model", "Others", "cpu_total", 600);
  RIG_INT(&rig, "model", "Backward", "gpu_total", 40);
  rig_end(&rig);
}

PD_TEST(paddle_tables, reader_ratio_is_the_dataloader_ratio) {
  /* timer_only's Reader Ratio of the same steps is data_wait over batch_cost: 2 of 10 ms; the traced range lasts 1.99.
   */
  analysis_rig rig;
  rig_begin(&rig);
  fake_trace_training(rig.fake, 2, 4);
  rig_finish(&rig);
  const pd_table *steps = rig_table(&rig, "active_steps"), *model = rig_table(&rig, "model");
  int64_t wait = 0, span = 0;
  for (uint64_t i = 0; i < steps->rows.count; i++) {
    wait += rig_int(steps, rig_row_at(steps, i), "data_wait");
    span += rig_int(steps, rig_row_at(steps, i), "step_span");
  }
  double reader = 100.0 * (double)wait / (double)span;
  cr_assert_float_eq(reader, rig_double(model, rig_row(model, "Dataloader"), "cpu_ratio"), 1.0);
  rig_end(&rig);
}

PD_TEST(paddle_tables, distributed_intersects_communication_and_computation) {
  analysis_rig rig;
  rig_begin(&rig);
  uint32_t s7 = fake_stream(rig.fake, 0, 1, 7), s8 = fake_stream(rig.fake, 0, 1, 8);
  fake_step(rig.fake, 0, 0, 1000);
  fake_range(rig.fake, PD_RANGE_OP, "nccl:all_reduce", 0, 100, 150);
  fake_call(rig.fake, PD_API_LAUNCH, "cudaLaunchKernel", 0, 110, 120, 1);
  fake_kernel(rig.fake, "ncclDevKernel_AllReduce", s8, 140, 300, 1);
  fake_call(rig.fake, PD_API_LAUNCH, "cudaLaunchKernel", 0, 130, 135, 2);
  fake_kernel(rig.fake, "gemm", s7, 200, 400, 2);
  rig_finish(&rig);
  RIG_INT(&rig, "distributed", "Communication", "total_time", 200);
  RIG_INT(&rig, "distributed", "Computation", "total_time", 200);
  RIG_INT(&rig, "distributed", "Overlap", "total_time", 100);
  rig_end(&rig);
}

PD_TEST(paddle_tables, one_rank_has_no_communication) {
  analysis_rig rig;
  rig_begin(&rig);
  fake_trace_training(rig.fake, 2, 2);
  rig_finish(&rig);
  RIG_INT(&rig, "distributed", "Communication", "total_time", 0);
  RIG_INT(&rig, "distributed", "Overlap", "total_time", 0);
  RIG_INT(&rig, "distributed", "Computation", "total_time", 2 * 3250000);
  rig_end(&rig);
}

static void nested_operator(analysis_rig *rig) {
  uint32_t stream = fake_stream(rig->fake, 0, 1, 7), second = fake_thread(rig->fake, 9, "second");
  fake_range(rig->fake, PD_RANGE_OP, "conv", 0, 0, 100);
  fake_range(rig->fake, PD_RANGE_OP_INNER, "compute", 0, 20, 70);
  fake_range(rig->fake, PD_RANGE_OP_INNER, "deeper", 0, 30, 60);
  fake_call(rig->fake, PD_API_LAUNCH, "cudaLaunchKernel", 0, 35, 40, 1);
  fake_kernel(rig->fake, "k", stream, 200, 230, 1);
  fake_call(rig->fake, PD_API_LAUNCH, "cudaLaunchKernel", 0, 80, 85, 2);
  fake_kernel(rig->fake, "k", stream, 230, 240, 2);
  fake_range(rig->fake, PD_RANGE_OP, "conv", second, 300, 420);
  fake_range(rig->fake, PD_RANGE_OP, "relu", 0, 500, 540);
}

PD_TEST(paddle_tables, operator_summary_shows_what_runs_inside) {
  analysis_rig rig;
  rig_begin(&rig);
  nested_operator(&rig);
  rig_finish(&rig);
  const pd_table *table = rig_table(&rig, "operator_summary");
  /* conv, [compute, [k]], [k], relu: parents before children, by CPU total. */
  static const char *const names[] = {"conv", "compute", "k", "k", "relu"};
  static const uint32_t levels[] = {0, 1, 2, 1, 0};
  cr_assert_eq(table->rows.count, 5);
  for (uint64_t i = 0; i < 5; i++) {
    cr_assert_str_eq(rig_row_at(table, i)->cells[0].v.text, names[i]);
    cr_assert_eq(rig_row_at(table, i)->level, levels[i]);
  }
  RIG_INT(&rig, "operator_summary", "conv", "calls", 2);
  RIG_INT(&rig, "operator_summary", "conv", "cpu_total", 220);
  RIG_INT(&rig, "operator_summary", "conv", "cpu_avg", 110);
  RIG_INT(&rig, "operator_summary", "conv", "cpu_max", 120);
  RIG_INT(&rig, "operator_summary", "conv", "cpu_min", 100);
  RIG_INT(&rig, "operator_summary", "conv", "gpu_total", 40);
  RIG_INT(&rig, "operator_summary", "conv", "gpu_max", 40);
  RIG_INT(&rig, "operator_summary", "conv", "gpu_min", 0);
  RIG_DOUBLE(&rig, "operator_summary", "conv", "cpu_ratio", 100.0 * 220 / 260);
  RIG_DOUBLE(&rig, "operator_summary", "compute", "cpu_ratio", 100.0 * 50 / 220);
  RIG_DOUBLE(&rig, "operator_summary", "compute", "gpu_ratio", 75.0);
  cr_assert_eq(rig_int(table, rig_row_n(table, "k", 0), "gpu_total"), 30);
  cr_assert_float_eq(rig_double(table, rig_row_n(table, "k", 0), "gpu_ratio"), 100.0, 1e-9);
  cr_assert_float_eq(rig_double(table, rig_row_n(table, "k", 1), "gpu_ratio"), 25.0, 1e-9);
  rig_end(&rig);
}

PD_TEST(paddle_tables, op_detail_and_thread_sep) {
  analysis_rig rig;
  rig_begin(&rig);
  nested_operator(&rig);
  rig_finish(&rig);
  rig.request.hide_op_detail = 1;
  const pd_table *table = rig_table(&rig, "operator_summary");
  cr_assert_eq(table->rows.count, 2);
  cr_assert_str_eq(rig_row_at(table, 1)->cells[0].v.text, "relu");
  rig.request.thread_sep = 1;
  table = rig_table(&rig, "operator_summary");
  cr_assert_eq(table->rows.count, 3);
  cr_assert_eq(rig_int(table, rig_row_n(table, "conv", 0), "cpu_total"), 100);
  cr_assert_str_eq(rig_text(table, rig_row_n(table, "conv", 0), "thread"), "pdhost");
  cr_assert_eq(rig_int(table, rig_row_n(table, "conv", 1), "cpu_total"), 120);
  cr_assert_str_eq(rig_text(table, rig_row_n(table, "conv", 1), "thread"), "second");
  rig_end(&rig);
}

PD_TEST(paddle_tables, sorted_by_orders_by_its_column) {
  static const struct {
    const char *key, *first;
  } cases[] = {{NULL, "often"},     {"CPUTotal", "often"}, {"CPUAvg", "long"}, {"CPUMax", "peaky"}, {"CPUMin", "long"},
               {"GPUTotal", "gpu"}, {"GPUAvg", "gpu"},     {"GPUMax", "gpu"},  {"GPUMin", "gpu"}};
  analysis_rig rig;
  rig_begin(&rig);
  uint32_t stream = fake_stream(rig.fake, 0, 1, 7);
  for (int i = 0; i < 10; i++) fake_range(rig.fake, PD_RANGE_OP, "often", 0, i * 100, i * 100 + 40);
  fake_range(rig.fake, PD_RANGE_OP, "long", 0, 2000, 2100);
  fake_range(rig.fake, PD_RANGE_OP, "peaky", 0, 3000, 3120);
  fake_range(rig.fake, PD_RANGE_OP, "peaky", 0, 3200, 3201);
  fake_range(rig.fake, PD_RANGE_OP, "gpu", 0, 4000, 4001);
  fake_call(rig.fake, PD_API_LAUNCH, "cudaLaunchKernel", 0, 4000, 4001, 1);
  fake_kernel(rig.fake, "k", stream, 5000, 5010, 1);
  rig_finish(&rig);
  for (size_t i = 0; i < sizeof cases / sizeof *cases; i++) {
    rig.request.sorted_by = cases[i].key;
    cr_assert_str_eq(rig_row_at(rig_table(&rig, "operator_summary"), 0)->cells[0].v.text, cases[i].first,
                     "sorted by %s", cases[i].key ? cases[i].key : "default");
  }
  rig_end(&rig);
}
