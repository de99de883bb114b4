/* The events of the chrome_trace sink, loaded as the host loads it: where they stand. Names, arrows and files without
 * events are chrome_trace_names.c's. */
#include "chrome_trace_reader.h"

#include "golden.h"

#include <math.h>

PD_TEST(sink_chrome_trace, the_file_is_as_in_the_tree) {
  written out;
  fake_trace *fake = open_fake();
  fake_trace_training(fake, 2, 2);
  write_parsed(&out, fake_trace_finish(fake), NULL);
  const memory_file *file = out.run.all[0];
  cr_assert_str_eq(file->path, "traces/fakehost_4242.0.1790857026001000000.pt.trace.json");
  cr_assert_eq(out.run.count, 1);
  cr_assert(golden_equal(GOLDEN_DIR "/chrome_trace.json", file->data, file->bytes));
  expect_nesting(out.events);
  expect_flows(out.events, "ac2g", 16, 16); /* two of them to waits */
  expect_flows(out.events, "fwdbwd", 2, 2);
  drop(&out);
  fake_trace_close(fake);
}

PD_TEST(sink_chrome_trace, steps_are_back_to_back_first_and_never_on_the_device) {
  written out;
  fake_trace *fake = open_fake();
  fake_trace_training(fake, 7, 3);
  /* The loop's own range is narrower than the step; the step is what readers get. */
  fake_range(fake, PD_RANGE_STEP, "ProfilerStep#7", 0, MS(1.001), MS(10.999));
  fake_call(fake, PD_API_LAUNCH, "cudaLaunchKernel", 0, MS(10.9), MS(10.91), 999);
  fake_kernel(fake, "late()", 0, MS(10.95), MS(10.96), 999);
  write_parsed(&out, fake_trace_finish(fake), NULL);
  const json_node *first = find(out.events, "X", NULL, NULL);
  cr_assert(is_event(first, "X", "user_annotation", "ProfilerStep#7"));
  long long end = as_ns(first, "ts");
  for (int n = 7; n < 10; n++) {
    char name[32];
    snprintf(name, sizeof name, "ProfilerStep#%d", n);
    cr_assert_eq(count(out.events, "X", NULL, name), 1);
    const json_node *step = find(out.events, "X", "user_annotation", name);
    cr_assert_eq(as_ns(step, "ts"), end);
    end += as_ns(step, "dur");
  }
  const json_node *call = find(out.events, "X", "kernel", "late()");
  cr_assert_eq(argument(call, "External id")->number, argument(first, "External id")->number,
               "work outside any other range is the step's");
  expect_nesting(out.events);
  drop(&out);
  fake_trace_close(fake);
}

PD_TEST(sink_chrome_trace, the_span_holds_what_the_device_does_after_the_window) {
  written out;
  fake_trace *fake = open_fake();
  const uint32_t stream = fake_stream(fake, 0, 1, 7);
  fake_step(fake, 1, MS(1), MS(3));
  fake_call(fake, PD_API_LAUNCH, "cudaLaunchKernel", 0, MS(1.1), MS(1.2), 5);
  fake_kernel(fake, "k()", stream, MS(2), MS(20), 5);
  fake_call(fake, PD_API_SYNC, "cudaStreamSynchronize", 0, MS(2.1), MS(2.9), 6);
  fake_other(fake, PD_ACTIVITY_SYNC, "Stream Sync", stream, MS(2), MS(19));
  write_parsed(&out, fake_trace_finish(fake), NULL);
  const json_node *span = find(out.events, "X", "Trace", NULL);
  cr_assert_eq(as_ns(span, "ts"), MS(1));
  cr_assert_eq(as_ns(span, "dur"), MS(19));
  cr_assert_eq(as_ns(find(out.events, "i", NULL, "Record Window End"), "ts"), MS(20));
  drop(&out);
  fake_trace_close(fake);
}

PD_TEST(sink_chrome_trace, a_slow_copy_has_a_bandwidth_above_zero) {
  written out;
  fake_trace *fake = open_fake();
  const uint32_t stream = fake_stream(fake, 0, 1, 7);
  fake_step(fake, 1, 0, MS(100));
  fake_call(fake, PD_API_MEMCPY, "cudaMemcpyAsync", 0, MS(1), MS(2), 5);
  fake_copy(fake, PD_MEMORY_DEVICE, PD_MEMORY_PINNED, 4, stream, MS(10), MS(90), 5);
  write_parsed(&out, fake_trace_finish(fake), NULL);
  const json_node *copy = find(out.events, "X", "gpu_memcpy", NULL);
  cr_assert_str_eq(argument(copy, "memory bandwidth (GB/s)")->text, "0.00000005");
  drop(&out);
  fake_trace_close(fake);
}

PD_TEST(sink_chrome_trace, annotations_on_the_device_are_a_nanosecond_wider) {
  written out;
  fake_trace *fake = open_fake();
  fake_trace_training(fake, 2, 1);
  write_parsed(&out, fake_trace_finish(fake), NULL);
  cr_assert_eq(count(out.events, "X", "gpu_user_annotation", NULL), 2);
  const json_node *outer = find(out.events, "X", "gpu_user_annotation", "train_step");
  cr_assert_eq(as_ns(outer, "ts"), MS(1 + 2.3) - 1);
  cr_assert_eq(as_ns(outer, "ts") + as_ns(outer, "dur"), MS(1 + 6.51) + 1);
  const json_node *inner = find(out.events, "X", "gpu_user_annotation", "Optimizer.step#AdamW.step");
  cr_assert_eq(as_ns(inner, "ts"), MS(1 + 6.1) - 1);
  cr_assert_eq(as_ns(inner, "dur"), MS(0.35) + 2);
  drop(&out);
  fake_trace_close(fake);
}

PD_TEST(sink_chrome_trace, neighbouring_annotations_give_way) {
  written out;
  fake_trace *fake = open_fake();
  const uint32_t stream = fake_stream(fake, 0, 1, 7);
  fake_step(fake, 1, 0, MS(10));
  for (int i = 0; i < 3; i++) { /* kernels that touch: none leaves room for the extra nanosecond */
    char name[16];
    snprintf(name, sizeof name, "range %d", i);
    fake_range(fake, PD_RANGE_USER, name, 0, MS(i), MS(i + 1));
    fake_call(fake, PD_API_LAUNCH, "cudaLaunchKernel", 0, MS(i + 0.1), MS(i + 0.2), 10 + (uint64_t)i);
    fake_kernel(fake, "k()", stream, MS(4 + i), MS(5 + i), 10 + (uint64_t)i);
  }
  write_parsed(&out, fake_trace_finish(fake), NULL);
  cr_assert_eq(count(out.events, "X", "gpu_user_annotation", NULL), 3);
  expect_nesting(out.events);
  drop(&out);
  fake_trace_close(fake);
}

PD_TEST(sink_chrome_trace, rows_that_overlap_on_a_stream_get_tracks_of_their_own) {
  written out;
  fake_trace *fake = open_fake();
  const uint32_t stream = fake_stream(fake, 0, 1, 7);
  fake_step(fake, 1, 0, MS(10));
  fake_call(fake, PD_API_GRAPH_LAUNCH, "cudaGraphLaunch", 0, MS(1), MS(2), 5);
  fake_kernel(fake, "a()", stream, MS(3), MS(5), 5);
  fake_kernel(fake, "b()", stream, MS(4), MS(6), 5);
  fake_kernel(fake, "c()", stream, MS(4.5), MS(7), 5);
  fake_kernel(fake, "d()", stream, MS(5), MS(8), 5);
  write_parsed(&out, fake_trace_finish(fake), NULL);
  cr_assert_eq(number(find(out.events, "X", "kernel", "a()"), "tid"), 7);
  cr_assert_eq(number(find(out.events, "X", "kernel", "b()"), "tid"), 20000007);
  cr_assert_eq(number(find(out.events, "X", "kernel", "c()"), "tid"), 21000007);
  cr_assert_eq(number(find(out.events, "X", "kernel", "d()"), "tid"), 7);
  cr_assert_eq(argument(find(out.events, "X", "kernel", "b()"), "stream")->number, 7);
  expect_nesting(out.events);
  expect_flows(out.events, "ac2g", 1, 4);
  drop(&out);
  fake_trace_close(fake);
}

PD_TEST(sink_chrome_trace, rows_of_an_unknown_stream_have_a_track) {
  written out;
  fake_trace *fake = open_fake();
  const uint32_t stream = fake_stream(fake, 0, 1, PD_STREAM_UNKNOWN);
  fake_step(fake, 1, 0, MS(10));
  fake_range(fake, PD_RANGE_USER, "mine", 0, 0, MS(9));
  fake_call(fake, PD_API_GRAPH_LAUNCH, "cudaGraphLaunch", 0, MS(1), MS(2), 5);
  fake_kernel(fake, "a()", stream, MS(3), MS(5), 5);
  fake_kernel(fake, "b()", stream, MS(4), MS(6), 5);
  write_parsed(&out, fake_trace_finish(fake), NULL);
  cr_assert_eq(number(find(out.events, "X", "kernel", "a()"), "tid"), 999998);
  cr_assert_eq(number(find(out.events, "X", "kernel", "b()"), "tid"), 20999998);
  cr_assert_eq(argument(find(out.events, "X", "kernel", "b()"), "stream")->number, 999998);
  cr_assert_eq(number(find(out.events, "X", "gpu_user_annotation", "mine"), "tid"), 999998);
  cr_assert_not_null(strstr(out.run.all[0]->data, "\"unknown stream (overlapping, 1)\""));
  cr_assert_null(strstr(out.run.all[0]->data, "4294967295"));
  expect_nesting(out.events);
  drop(&out);
  fake_trace_close(fake);
}

/* A GPU runs up to 128 grids at once; a device that runs more is told. */
PD_TEST(sink_chrome_trace, as_many_rows_as_run_at_once_overlap_no_other) {
  static const int grids[] = {128, 300}, crowded[] = {0, 300 - 256};
  for (int k = 0; k < 2; k++) {
    written out;
    fake_trace *fake = open_fake();
    const uint32_t stream = fake_stream(fake, 0, 1, 7);
    fake_step(fake, 1, 0, MS(10));
    fake_call(fake, PD_API_GRAPH_LAUNCH, "cudaGraphLaunch", 0, MS(1), MS(2), 5);
    for (int i = 0; i < grids[k]; i++) fake_kernel(fake, "k()", stream, MS(3) + i, MS(5) + i, 5);
    write_parsed(&out, fake_trace_finish(fake), NULL);
    if (!crowded[k]) expect_nesting(out.events);
    cr_assert_eq(count(out.events, "X", "kernel", "k()"), (size_t)grids[k]);
    cr_assert_eq(number(json_reader_get(out.root, "pdhost"), "overlapping_slices"), crowded[k]);
    drop(&out);
    fake_trace_close(fake);
  }
}

/* A device that divides by nothing, and a counter that is not a number. */
PD_TEST(sink_chrome_trace, what_is_no_number_stays_out) {
  const float odd[] = {(float)INFINITY, (float)NAN, -1, 1e30f};
  written out;
  fake_trace *fake = open_fake();
  const uint32_t stream = fake_stream(fake, 0, 1, 7);
  fake_step(fake, 1, 0, MS(10));
  for (int i = 0; i < 4; i++) {
    pd_device_row *row = fake_kernel(fake, "blocks()", stream, MS(1 + i), MS(1.5 + i), 1);
    row->detail.u.kernel.blocks_per_sm = row->detail.u.kernel.warps_per_sm = odd[i];
    row = fake_kernel(fake, "occupancy()", stream, MS(5 + i), MS(5.5 + i), 1);
    row->detail.u.kernel.occupancy = row->detail.u.kernel.waves = odd[i];
    fake_counter(fake, "odd", MS(1 + i), i == 3 ? 3.0 : (double)odd[i]);
  }
  write_parsed(&out, fake_trace_finish(fake), NULL);
  for (const json_node *event = out.events->first; event; event = event->next) {
    if (is_event(event, "X", "kernel", "blocks()")) cr_assert_null(argument(event, "blocks per SM"));
    if (is_event(event, "X", "kernel", "occupancy()")) cr_assert_null(argument(event, "waves"));
    if (is_event(event, "X", "kernel", NULL)) cr_assert_null(argument(event, "est. achieved occupancy %"));
  }
  cr_assert_eq(count(out.events, "X", "kernel", NULL), 8);
  cr_assert_eq(count(out.events, "C", NULL, "odd"), 2);
  drop(&out);
  fake_trace_close(fake);
}

PD_TEST(sink_chrome_trace, annotations_nest_as_deep_as_viewers_do) {
  enum { RANGES = 520 };
  written out;
  fake_trace *fake = open_fake();
  const uint32_t stream = fake_stream(fake, 0, 1, 7);
  fake_step(fake, 1, 0, MS(10));
  for (int i = 0; i < RANGES; i++) {
    fake_range(fake, PD_RANGE_USER, "range", 0, MS(1) + i * 10, MS(9) - i * 10);
    const uint64_t id =
        2 * (uint64_t)i + 1; /* the first and the last row of each: those of the inner ones lie between */
    fake_call(fake, PD_API_LAUNCH, "cudaLaunchKernel", 0, MS(1) + i * 10 + 1, MS(1) + i * 10 + 2, id);
    fake_kernel(fake, "k()", stream, MS(2) + i * 10, MS(2) + i * 10 + 5, id);
    fake_call(fake, PD_API_LAUNCH, "cudaLaunchKernel", 0, MS(9) - i * 10 - 2, MS(9) - i * 10 - 1, id + 1);
    fake_kernel(fake, "k()", stream, MS(9) - i * 10, MS(9) - i * 10 + 5, id + 1);
  }
  write_parsed(&out, fake_trace_finish(fake), NULL);
  cr_assert_eq(count(out.events, "X", "gpu_user_annotation", NULL), 512);
  cr_assert_geq(number(json_reader_get(out.root, "pdhost"), "clipped_slices"), RANGES - 512);
  expect_nesting(out.events);
  drop(&out);
  fake_trace_close(fake);
}

PD_TEST(sink_chrome_trace, calls_that_stick_out_of_their_range_are_cut) {
  written out;
  fake_trace *fake = open_fake();
  const uint32_t stream = fake_stream(fake, 0, 1, 7);
  fake_step(fake, 1, 0, MS(10));
  fake_range(fake, PD_RANGE_OP, "first", 0, MS(1), MS(2));
  fake_range(fake, PD_RANGE_OP, "second", 0, MS(2) + 20, MS(3));
  fake_call(fake, PD_API_LAUNCH, "cudaLaunchKernel", 0, MS(1.5), MS(2) + 30, 1); /* ends in the next operation */
  fake_kernel(fake, "k()", stream, MS(4), MS(5), 1);
  pd_trace *trace = fake_trace_finish(fake);
  cr_assert_not_null(trace);
  write_parsed(&out, trace, NULL);
  expect_nesting(out.events);
  expect_flows(out.events, "ac2g", 1, 1);
  const json_node *call = find(out.events, "X", "cuda_runtime", NULL);
  cr_assert_eq(as_ns(call, "ts"), MS(1.5));
  cr_assert_eq(as_ns(call, "dur"), MS(0.5));
  cr_assert_eq(number(json_reader_get(out.root, "pdhost"), "clipped_slices"), 1);
  drop(&out);
  fake_trace_close(fake);
}

PD_TEST(sink_chrome_trace, ranges_that_run_into_a_step_end_there) {
  written out;
  fake_trace *fake = open_fake();
  fake_step(fake, 1, MS(1), MS(5));
  fake_step(fake, 2, MS(5), MS(9));
  fake_range(fake, PD_RANGE_USER, "across", 0, MS(2), MS(7));
  fake_range(fake, PD_RANGE_USER, "early", 0, MS(0), MS(2));
  write_parsed(&out, fake_trace_finish(fake), NULL);
  expect_nesting(out.events);
  cr_assert_eq(as_ns(find(out.events, "X", NULL, "ProfilerStep#1"), "dur"), MS(4));
  cr_assert_eq(as_ns(find(out.events, "X", NULL, "ProfilerStep#2"), "dur"), MS(4));
  cr_assert_eq(as_ns(find(out.events, "X", NULL, "across"), "dur"), MS(3));
  drop(&out);
  fake_trace_close(fake);
}

/* Readers add ts and dur as doubles: no sum may lie beyond the end of the slice around or the start of the next. */
PD_TEST(sink_chrome_trace, ends_are_in_order_as_sums_of_doubles_too) {
  written out;
  fake_trace *fake = open_fake();
  size_t cut = 0;
  fake_step(fake, 1, 0, MS(200));
  for (int64_t i = 0; i < 3000; i++) { /* touching neighbours, each with a child that ends with it */
    const int64_t start = 25205707 + i * 411, end = start + 411;
    fake_range(fake, PD_RANGE_OP, "outer", 0, start, end);
    fake_range(fake, PD_RANGE_OP, "inner", 0, start + 10, end);
  }
  write_parsed(&out, fake_trace_finish(fake), NULL);
  double next_ts = HUGE_VAL;
  const json_node **rows = calloc(out.events->count, sizeof *rows);
  size_t n = 0;
  for (const json_node *event = out.events->first; event; event = event->next)
    if (is_event(event, "X", "cpu_op", NULL)) rows[n++] = event;
  cr_assert_eq(n, 6000);
  for (size_t i = n; i-- > 0;) {
    const double end = number(rows[i], "ts") + number(rows[i], "dur");
    if (json_reader_is(json_reader_get(rows[i], "name"), "outer")) {
      const double inner_end = number(rows[i + 1], "ts") + number(rows[i + 1], "dur");
      cr_assert_leq(inner_end, end, "%.17g %.17g", inner_end, end);
      cr_assert_leq(end, next_ts);
      cut += as_ns(rows[i], "dur") != 411;
      cr_assert_geq(as_ns(rows[i], "dur"), 410);
      next_ts = number(rows[i], "ts");
    }
  }
  cr_assert(cut > 0 && cut < 3000, "%zu of 3000 were cut by a nanosecond", cut);
  free(rows);
  drop(&out);
  fake_trace_close(fake);
}
