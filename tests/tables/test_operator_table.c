/* The operator table on toy traces whose answers are worked out by hand. */
#include "analysis_rig.h"

#define OPERATORS(rig, name, key, value) RIG_INT(rig, "operators", name, key, value)

PD_TEST(operator_table, self_is_total_minus_direct_children) {
  analysis_rig rig;
  rig_begin(&rig);
  fake_range(rig.fake, PD_RANGE_OP, "a", 0, 0, 100);
  fake_range(rig.fake, PD_RANGE_OP, "b", 0, 10, 40);
  fake_range(rig.fake, PD_RANGE_OP, "c", 0, 20, 30);
  fake_range(rig.fake, PD_RANGE_OP, "d", 0, 50, 60);
  fake_call(rig.fake, PD_API_SYNC, "cudaStreamSynchronize", 0, 70, 75, 1);
  rig_finish(&rig);
  OPERATORS(&rig, "a", "cpu_time_total", 100);
  OPERATORS(&rig, "a", "self_cpu_time_total", 100 - 30 - 10 - 5);
  OPERATORS(&rig, "b", "self_cpu_time_total", 20);
  OPERATORS(&rig, "c", "self_cpu_time_total", 10);
  OPERATORS(&rig, "d", "self_cpu_time_total", 10);
  OPERATORS(&rig, "cudaStreamSynchronize", "self_cpu_time_total", 5);
  const pd_table *table = rig_table(&rig, "operators");
  cr_assert_eq(rig_int(table, table->footer, "self_cpu_time_total"), 100);
  RIG_DOUBLE(&rig, "operators", "a", "self_cpu_percent", 55.0);
  RIG_DOUBLE(&rig, "operators", "a", "cpu_total_percent", 100.0);
  RIG_MISSING(&rig, "operators", "cudaStreamSynchronize", "self_device_time_total");
  rig_end(&rig);
}

PD_TEST(operator_table, a_recursive_name_counts_its_outermost_span_once) {
  analysis_rig rig;
  rig_begin(&rig);
  uint32_t stream = fake_stream(rig.fake, 0, 1, 7);
  fake_range(rig.fake, PD_RANGE_OP, "r", 0, 0, 100);
  fake_range(rig.fake, PD_RANGE_OP, "x", 0, 10, 90);
  fake_range(rig.fake, PD_RANGE_OP, "r", 0, 20, 80);
  fake_call(rig.fake, PD_API_LAUNCH, "cudaLaunchKernel", 0, 30, 40, 1);
  fake_kernel(rig.fake, "k", stream, 50, 57, 1);
  fake_range(rig.fake, PD_RANGE_OP, "r", 0, 200, 210);
  rig_finish(&rig);
  OPERATORS(&rig, "r", "count", 3);
  OPERATORS(&rig, "r", "cpu_time_total", 110);
  OPERATORS(&rig, "r", "self_cpu_time_total", 20 + 50 + 10);
  OPERATORS(&rig, "r", "device_time_total", 7);
  OPERATORS(&rig, "r", "self_device_time_total", 7);
  OPERATORS(&rig, "x", "device_time_total", 7);
  OPERATORS(&rig, "x", "self_device_time_total", 0);
  OPERATORS(&rig, "r", "cpu_time", 110 / 3);
  rig_end(&rig);
}

PD_TEST(operator_table, one_name_on_two_threads_adds_up) {
  analysis_rig rig;
  rig_begin(&rig);
  uint32_t second = fake_thread(rig.fake, 99, "second");
  fake_range(rig.fake, PD_RANGE_OP, "a", 0, 0, 100);
  fake_range(rig.fake, PD_RANGE_OP, "a", second, 50, 90);
  fake_range(rig.fake, PD_RANGE_OP, "b", second, 60, 70);
  rig_finish(&rig);
  OPERATORS(&rig, "a", "cpu_time_total", 140);
  OPERATORS(&rig, "a", "self_cpu_time_total", 130);
  OPERATORS(&rig, "a", "count", 2);
  rig_end(&rig);
}

PD_TEST(operator_table, empty_and_equal_stamps_lose_nothing) {
  analysis_rig rig;
  rig_begin(&rig);
  fake_range(rig.fake, PD_RANGE_OP, "outer", 0, 5, 25);
  fake_range(rig.fake, PD_RANGE_OP, "same", 0, 5, 25);
  fake_range(rig.fake, PD_RANGE_OP, "empty", 0, 5, 5);
  fake_range(rig.fake, PD_RANGE_OP, "empty", 0, 25, 25);
  fake_range(rig.fake, PD_RANGE_OP, "next", 0, 25, 30);
  rig_finish(&rig);
  const pd_table *table = rig_table(&rig, "operators");
  cr_assert_eq(rig_int(table, rig_row(table, "outer"), "self_cpu_time_total") +
                   rig_int(table, rig_row(table, "same"), "self_cpu_time_total"),
               20);
  OPERATORS(&rig, "empty", "count", 2);
  OPERATORS(&rig, "empty", "cpu_time_total", 0);
  OPERATORS(&rig, "empty", "self_cpu_time_total", 0);
  OPERATORS(&rig, "next", "self_cpu_time_total", 5);
  cr_assert_eq(rig_int(table, table->footer, "self_cpu_time_total"), 25);
  rig_end(&rig);
}

PD_TEST(operator_table, a_call_that_sticks_out_of_its_range_ends_where_the_next_begins) {
  analysis_rig rig;
  rig_begin(&rig);
  fake_range(rig.fake, PD_RANGE_OP, "a", 0, 0, 100);
  fake_call(rig.fake, PD_API_SYNC, "late", 0, 90, 105, 1);
  fake_range(rig.fake, PD_RANGE_OP, "b", 0, 103, 120);
  rig_finish(&rig);
  OPERATORS(&rig, "a", "self_cpu_time_total", 90);
  OPERATORS(&rig, "late", "self_cpu_time_total", 13);
  OPERATORS(&rig, "late", "cpu_time_total", 15);
  OPERATORS(&rig, "b", "self_cpu_time_total", 17);
  rig_end(&rig);
}

PD_TEST(operator_table, a_driver_call_is_the_child_of_its_runtime_call) {
  analysis_rig rig;
  rig_begin(&rig);
  fake_range(rig.fake, PD_RANGE_OP, "a", 0, 0, 100);
  fake_call(rig.fake, PD_API_LAUNCH, "cudaLaunchKernel", 0, 10, 40, 1);
  fake_call(rig.fake, PD_API_OTHER, "cuLaunchKernel", 0, 15, 35, 2)->kind = PD_ACTIVITY_DRIVER;
  rig_finish(&rig);
  OPERATORS(&rig, "a", "self_cpu_time_total", 70);
  OPERATORS(&rig, "cudaLaunchKernel", "self_cpu_time_total", 10);
  OPERATORS(&rig, "cuLaunchKernel", "self_cpu_time_total", 20);
  rig_end(&rig);
}

PD_TEST(operator_table, one_launch_with_many_kernels_over_two_streams) {
  analysis_rig rig;
  rig_begin(&rig);
  uint32_t s7 = fake_stream(rig.fake, 0, 1, 7), s8 = fake_stream(rig.fake, 0, 1, 8);
  fake_range(rig.fake, PD_RANGE_USER, "train_step", 0, 0, 100);
  fake_range(rig.fake, PD_RANGE_OP, "graph", 0, 10, 50);
  fake_call(rig.fake, PD_API_GRAPH_LAUNCH, "cudaGraphLaunch", 0, 20, 30, 1);
  fake_kernel(rig.fake, "k1", s7, 40, 140, 1);
  fake_kernel(rig.fake, "k1", s8, 60, 160, 1);
  fake_kernel(rig.fake, "k2", s7, 150, 180, 1);
  rig_finish(&rig);
  /* The sum, though 140 ns of wall time hold all of it; and none of it is the step's own. */
  OPERATORS(&rig, "graph", "self_device_time_total", 230);
  OPERATORS(&rig, "train_step", "device_time_total", 230);
  OPERATORS(&rig, "train_step", "self_device_time_total", 0);
  RIG_DOUBLE(&rig, "operators", "train_step", "self_device_percent", 0.0);
  const pd_table *kernels = rig_table(&rig, "kernels");
  cr_assert_eq(rig_int(kernels, rig_row(kernels, "k1"), "gpu_total"), 200);
  const pd_table *table = rig_table(&rig, "operators");
  cr_assert_eq(rig_int(table, table->footer, "self_device_time_total"), 230);
  /* Kernels are no rows here, and the column adds up to its total once. */
  int64_t sum = 0;
  for (uint64_t i = 0; i < table->rows.count; i++) {
    const pd_cell *cell = rig_cell(table, rig_row_at(table, i), "self_device_time_total");
    cr_assert_str_neq(rig_text(table, rig_row_at(table, i), "kind"), "kernel");
    if (!cell->missing) sum += cell->v.i;
  }
  cr_assert_eq(sum, 230);
  cr_assert_not_null(strstr(table->note, "span streams"));
  rig_end(&rig);
}

PD_TEST(operator_table, backward_on_another_thread_keeps_its_kernels) {
  analysis_rig rig;
  rig_begin(&rig);
  uint32_t stream = fake_stream(rig.fake, 0, 1, 7), autograd = fake_thread(rig.fake, 77, "autograd");
  fake_range(rig.fake, PD_RANGE_USER, "backward", 0, 0, 100);
  pd_range *range = fake_range(rig.fake, PD_RANGE_OP, "MmBackward0", autograd, 10, 40);
  range->part = PD_PART_BACKWARD;
  fake_call(rig.fake, PD_API_LAUNCH, "cudaLaunchKernel", autograd, 15, 20, 1);
  fake_kernel(rig.fake, "gemm", stream, 30, 90, 1);
  rig_finish(&rig);
  OPERATORS(&rig, "MmBackward0", "self_device_time_total", 60);
  OPERATORS(&rig, "backward", "device_time_total", 0);
  OPERATORS(&rig, "backward", "self_cpu_time_total", 100);
  rig_end(&rig);
}

PD_TEST(operator_table, steps_share_a_row_and_top_level_hides_nested_ranges) {
  analysis_rig rig;
  rig_begin(&rig);
  fake_range(rig.fake, PD_RANGE_STEP, "ProfilerStep#2", 0, 0, 100);
  fake_range(rig.fake, PD_RANGE_OP, "a", 0, 10, 20);
  fake_range(rig.fake, PD_RANGE_STEP, "ProfilerStep#3", 0, 100, 180);
  rig_finish(&rig);
  OPERATORS(&rig, "ProfilerStep*", "count", 2);
  OPERATORS(&rig, "ProfilerStep*", "cpu_time_total", 180);
  rig.request.top_level_events_only = 1;
  cr_assert_eq(rig_table(&rig, "operators")->rows.count, 1);
  cr_assert(rig_has_row(rig_table(&rig, "operators"), "ProfilerStep*"));
  rig_end(&rig);
}

PD_TEST(operator_table, grouping_by_shape_splits_and_merges_exactly) {
  const int64_t small[] = {2, 3}, large[] = {64, 3};
  analysis_rig rig;
  rig_begin(&rig);
  for (int i = 0; i < 4; i++) {
    fake_range(rig.fake, PD_RANGE_OP, "mm", 0, i * 10, i * 10 + 5);
    fake_shape(rig.fake, PD_F32, 2, i % 2 ? large : small);
    fake_shape(rig.fake, PD_F32, i == 2 ? 1 : 2, small);
  }
  rig_finish(&rig);
  cr_assert_eq(rig_table(&rig, "operators")->rows.count, 1);
  rig.request.group_by_input_shape = 1;
  const pd_table *table = rig_table(&rig, "operators");
  cr_assert_eq(table->rows.count, 3);
  int seen = 0;
  for (uint64_t i = 0; i < 3; i++) {
    const char *shapes = rig_text(table, rig_row_at(table, i), "input_shapes");
    int64_t count = rig_int(table, rig_row_at(table, i), "count");
    if (!strcmp(shapes, "[[2, 3], [2, 3]]")) seen |= count == 1 ? 1 : 0;
    if (!strcmp(shapes, "[[64, 3], [2, 3]]")) seen |= count == 2 ? 2 : 0;
    if (!strcmp(shapes, "[[2, 3], [2]]")) seen |= count == 1 ? 4 : 0;
  }
  cr_assert_eq(seen, 7);
  rig_end(&rig);
}

PD_TEST(operator_table, grouping_by_stack_takes_the_innermost_frames) {
  analysis_rig rig;
  rig_begin(&rig);
  for (uint32_t i = 0; i < 3; i++) fake_range(rig.fake, PD_RANGE_OP, "mm", 0, i * 10, i * 10 + 5);
  uint32_t frames[3][2];
  pd_stack stacks[3];
  frames[0][0] = fake_string(rig.fake, "main (m.c:1)");
  frames[0][1] = fake_string(rig.fake, "forward (m.c:2)");
  frames[1][0] = fake_string(rig.fake, "other (m.c:3)");
  frames[1][1] = frames[0][1];
  frames[2][0] = frames[0][0];
  frames[2][1] = fake_string(rig.fake, "backward (m.c:4)");
  for (int i = 0; i < 3; i++) stacks[i] = (pd_stack){frames[i], 2};
  rig_finish(&rig);
  pd_range *ranges = (pd_range *)(uintptr_t)rig.trace->ranges.data;
  for (uint32_t i = 0; i < 3; i++) ranges[i].stack = i;
  rig.trace->stacks = (pd_array){stacks, 3, sizeof *stacks};
  rig.request.group_by_stack_n = 1;
  const pd_table *table = rig_table(&rig, "operators");
  cr_assert_eq(table->rows.count, 2);
  cr_assert_str_eq(rig_text(table, rig_row_at(table, 0), "source_location"), "forward (m.c:2)");
  cr_assert_eq(rig_int(table, rig_row_at(table, 0), "count"), 2);
  rig.request.group_by_stack_n = 2;
  table = rig_table(&rig, "operators");
  cr_assert_eq(table->rows.count, 3);
  cr_assert_str_eq(rig_text(table, rig_row_at(table, 0), "source_location"), "forward (m.c:2); main (m.c:1)");
  rig_end(&rig);
}

PD_TEST(operator_table, memory_is_allocated_minus_freed_inside) {
  analysis_rig rig;
  rig_begin(&rig);
  fake_range(rig.fake, PD_RANGE_OP, "outer", 0, 0, 100);
  fake_range(rig.fake, PD_RANGE_OP, "inner", 0, 20, 50);
  fake_memory(rig.fake, 0, 10, 0x1000, 4096, 4096, 8192);
  fake_memory(rig.fake, 0, 30, 0x2000, 512, 4608, 8192);
  fake_memory(rig.fake, 0, 40, 0x1000, -4096, 512, 8192);
  pd_memory_row *pinned = fake_memory(rig.fake, 0, 60, 0x3000, 64, 64, 64);
  pinned->event.device_type = 0;
  rig_finish(&rig);
  OPERATORS(&rig, "outer", "device_memory_usage", 512);
  OPERATORS(&rig, "outer", "self_device_memory_usage", 4096);
  OPERATORS(&rig, "inner", "device_memory_usage", 512 - 4096);
  OPERATORS(&rig, "inner", "self_device_memory_usage", 512 - 4096);
  OPERATORS(&rig, "outer", "cpu_memory_usage", 64);
  OPERATORS(&rig, "inner", "cpu_memory_usage", 0);
  rig_end(&rig);
}

static const char *first_row(analysis_rig *rig, const char *sort_by) {
  rig->request.sort_by = sort_by;
  return rig_row_at(rig_table(rig, "operators"), 0)->cells[0].v.text;
}

PD_TEST(operator_table, every_sort_key_sorts_by_its_column) {
  analysis_rig rig;
  rig_begin(&rig);
  uint32_t stream = fake_stream(rig.fake, 0, 1, 7);
  fake_range(rig.fake, PD_RANGE_OP, "parent", 0, 0, 1000); /* most total time on both sides, little of its own */
  fake_range(rig.fake, PD_RANGE_OP, "own", 0, 10, 910);
  fake_call(rig.fake, PD_API_LAUNCH, "cudaLaunchKernel", 0, 20, 21, 1);
  fake_kernel(rig.fake, "k", stream, 30, 60, 1);
  fake_range(rig.fake, PD_RANGE_OP, "busy", 0, 920, 930);
  fake_call(rig.fake, PD_API_LAUNCH, "cudaLaunchKernel", 0, 921, 922, 2);
  fake_kernel(rig.fake, "k2", stream, 930, 970, 2);
  for (int i = 0; i < 9; i++) fake_range(rig.fake, PD_RANGE_OP, "many", 0, 2000 + i * 10, 2000 + i * 10 + 1);
  fake_range(rig.fake, PD_RANGE_OP, "device eater", 0, 3000, 3010);
  fake_memory(rig.fake, 0, 3005, 0x1000, 100, 100, 100);
  fake_range(rig.fake, PD_RANGE_OP, "host eater", 0, 3020, 3030);
  fake_memory(rig.fake, 0, 3025, 0x2000, 200, 200, 200)->event.device_type = 0;
  rig_finish(&rig);
  cr_assert_str_eq(first_row(&rig, NULL), "busy");
  cr_assert_str_eq(first_row(&rig, "self_cuda_time_total"), "busy");
  cr_assert_str_eq(first_row(&rig, "cuda_time_total"), "parent");
  cr_assert_str_eq(first_row(&rig, "cuda_time"), "parent");
  cr_assert_str_eq(first_row(&rig, "cpu_time_total"), "parent");
  cr_assert_str_eq(first_row(&rig, "cpu_time"), "parent");
  cr_assert_str_eq(first_row(&rig, "self_cpu_time_total"), "own");
  cr_assert_str_eq(first_row(&rig, "count"), "many");
  cr_assert_str_eq(first_row(&rig, "cpu_memory_usage"), "host eater");
  cr_assert_str_eq(first_row(&rig, "self_cpu_memory_usage"), "host eater");
  cr_assert_str_eq(first_row(&rig, "cuda_memory_usage"), "device eater");
  cr_assert_str_eq(first_row(&rig, "self_cuda_memory_usage"), "device eater");
  rig_end(&rig);
}

PD_TEST(operator_table, a_module_stands_where_all_calls_were_in_it) {
  analysis_rig rig;
  rig_begin(&rig);
  fake_range(rig.fake, PD_RANGE_OP, "conv", 0, 0, 100)->module = fake_string(rig.fake, "Net.conv1");
  fake_range(rig.fake, PD_RANGE_OP, "conv", 0, 100, 200)->module = fake_string(rig.fake, "Net.conv1");
  fake_range(rig.fake, PD_RANGE_OP, "relu", 0, 200, 300)->module = fake_string(rig.fake, "Net.conv1");
  fake_range(rig.fake, PD_RANGE_OP, "relu", 0, 300, 400)->module = fake_string(rig.fake, "Net.conv2");
  fake_range(rig.fake, PD_RANGE_OP, "half", 0, 400, 500);
  fake_range(rig.fake, PD_RANGE_OP, "half", 0, 500, 600)->module = fake_string(rig.fake, "Net.conv2");
  rig_finish(&rig);
  const pd_table *table = rig_table(&rig, "operators");
  cr_assert_str_eq(rig_text(table, rig_row(table, "conv"), "operator_module"), "Net.conv1");
  RIG_MISSING(&rig, "operators", "relu", "operator_module");
  RIG_MISSING(&rig, "operators", "half", "operator_module");
  rig_end(&rig);
}

PD_TEST(operator_table, without_device_records_their_columns_are_empty) {
  analysis_rig rig;
  rig_begin(&rig);
  fake_range(rig.fake, PD_RANGE_OP, "a", 0, 0, 100);
  rig_finish(&rig);
  rig.trace->profile = PD_PROFILE_NONE;
  RIG_MISSING(&rig, "operators", "a", "self_device_time_total");
  cr_assert(rig_table(&rig, "operators")
                ->footer->cells[rig_column(rig_table(&rig, "operators"), "self_device_time_total")]
                .missing);
  rig_end(&rig);
}

PD_TEST(operator_table, headings_name_the_device_that_was_measured) {
  analysis_rig rig;
  const analysis_context on_cpu = {.cores = 2};
  rig_begin(&rig);
  fake_range(rig.fake, PD_RANGE_OP, "a", 0, 0, 100);
  rig_finish(&rig);
  const pd_table *table = rig_table(&rig, "operators");
  cr_assert_str_eq(table->columns[rig_column(table, "self_device_time_total")]->heading, "Self CUDA");
  analysis_close(rig.analysis);
  cr_assert_eq(analysis_open(&on_cpu, &rig.analysis), PD_OK);
  table = rig_table(&rig, "operators");
  cr_assert_str_eq(table->columns[rig_column(table, "self_device_time_total")]->heading, "Self Device");
  rig_end(&rig);
}
