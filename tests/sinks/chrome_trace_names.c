/* The chrome_trace sink's names, tracks and arrows, and files without events. */
#include "chrome_trace_reader.h"

PD_TEST(sink_chrome_trace, calls_of_the_cpu_device_take_cudas_names_on_request) {
  written out;
  fake_trace *fake = open_fake();
  fake_step(fake, 1, 0, MS(10));
  fake_call(fake, PD_API_LAUNCH, "pdLaunchKernel", 0, MS(1), MS(2), 1);
  fake_call(fake, PD_API_OTHER, "pd", 0, MS(3), MS(4), 2);
  fake_range(fake, PD_RANGE_OP, "pdhost::op", 0, MS(5), MS(6));
  const pd_trace *trace = fake_trace_finish(fake);
  write_parsed(&out, trace, NULL);
  cr_assert_not_null(find(out.events, "X", "cuda_runtime", "pdLaunchKernel"));
  drop(&out);
  write_parsed(&out, trace, (const char *[]){"cuda_names=true", NULL});
  cr_assert_not_null(find(out.events, "X", "cuda_runtime", "cudaLaunchKernel"));
  cr_assert_not_null(find(out.events, "X", "cuda_runtime", "pd"));
  cr_assert_not_null(find(out.events, "X", "cpu_op", "pdhost::op"));
  drop(&out);
  fake_trace_close(fake);
}

/* HTA counts every row with a stream as work of the device. */
PD_TEST(sink_chrome_trace, waits_are_on_their_own_track_and_no_work) {
  written out;
  fake_trace *fake = open_fake();
  const uint32_t stream = fake_stream(fake, 0, 1, 7);
  fake_step(fake, 1, 0, MS(10));
  fake_other(fake, PD_ACTIVITY_SYNC, "Stream Sync", stream, MS(1), MS(3))->correlation = 77;
  fake_other(fake, PD_ACTIVITY_SYNC, "Stream Sync", stream, MS(2), MS(4));
  fake_other(fake, PD_ACTIVITY_SYNC, "Stream Wait Event", stream, MS(4), MS(5))->correlation = 78;
  fake_other(fake, PD_ACTIVITY_SYNC, "Context Sync", PD_NONE, MS(2), MS(4));
  fake_other(fake, PD_ACTIVITY_SYNC, "Whole Context", PD_NONE, MS(5), MS(6));
  fake_other(fake, PD_ACTIVITY_OVERHEAD, "Buffer Flush", PD_NONE, MS(1), MS(3));
  fake_other(fake, PD_ACTIVITY_OVERHEAD, "Instrumentation", PD_NONE, MS(2), MS(4));
  write_parsed(&out, fake_trace_finish(fake), NULL);
  const json_node *wait = find(out.events, "X", "cuda_sync", "Stream Sync");
  cr_assert_eq(number(wait, "tid"), 1000007);
  cr_assert_eq(argument(wait, "stream")->number, -1);
  cr_assert_eq(argument(wait, "wait on stream")->number, 7);
  cr_assert_eq(argument(wait, "correlation")->number, 77);
  cr_assert_null(find(out.events, "X", "cuda_sync", "Stream Wait Event"));
  const json_node *event_wait = find(out.events, "X", "cuda_sync", "Stream Wait");
  cr_assert_str_eq(argument(event_wait, "cuda_sync_kind")->text, "Stream Wait Event");
  cr_assert_eq(argument(event_wait, "stream")->number, -1);
  cr_assert_eq(argument(event_wait, "wait on stream")->number, 7);
  cr_assert_eq(argument(event_wait, "correlation")->number, 78);
  cr_assert_eq(number(find(out.events, "X", "cuda_sync", "Context Sync"), "tid"), 999999);
  cr_assert_eq(number(find(out.events, "X", "cuda_sync", "Whole Context"), "tid"), 999999);
  cr_assert_null(argument(find(out.events, "X", "cuda_sync", "Whole Context"), "wait on stream"));
  cr_assert_null(strstr(out.run.all[0]->data, "4294967295"));
  cr_assert_eq(number(find(out.events, "X", "overhead", NULL), "pid"), 16777226);
  cr_assert_eq(as_ns(find(out.events, "X", "overhead", "Instrumentation"), "ts"), MS(3));
  expect_nesting(out.events);
  drop(&out);
  fake_trace_close(fake);
}

PD_TEST(sink_chrome_trace, waits_have_device_context_and_the_arrow_of_their_call) {
  written out;
  fake_trace *fake = open_fake();
  const uint32_t stream = fake_stream(fake, 2, 5, 7);
  fake_step(fake, 1, 0, MS(10));
  fake_call(fake, PD_API_SYNC, "cudaStreamSynchronize", 0, MS(1), MS(3), 77);
  fake_call(fake, PD_API_SYNC, "cudaDeviceSynchronize", 0, MS(4), MS(6), 78);
  fake_other(fake, PD_ACTIVITY_SYNC, "Stream Sync", stream, MS(1.5), MS(2.5))->correlation = 77;
  pd_other_row *context = fake_other(fake, PD_ACTIVITY_SYNC, "Context Sync", PD_NONE, MS(4.5), MS(5.5));
  context->correlation = 78;
  context->device = 2;
  context->context = 5;
  fake_other(fake, PD_ACTIVITY_SYNC, "Event Sync", PD_NONE, MS(4.5), MS(5.5))->correlation = 79; /* call not known */
  pd_other_row *covered = fake_other(fake, PD_ACTIVITY_SYNC, "Covered", PD_NONE, MS(4.6), MS(4.7));
  covered->correlation = 77;
  covered->device = 2;
  pd_trace *trace = fake_trace_finish(fake);
  cr_assert_not_null(trace);
  write_parsed(&out, trace, NULL);
  const json_node *wait = find(out.events, "X", "cuda_sync", "Context Sync");
  cr_assert_eq(number(wait, "pid"), 2);
  cr_assert_eq(argument(wait, "device")->number, 2);
  cr_assert_eq(argument(wait, "context")->number, 5);
  cr_assert_null(find(out.events, "X", "cuda_sync", "Covered"), "another wait on its track covers it");
  expect_flows(out.events, "ac2g", 2, 2);
  expect_nesting(out.events);
  drop(&out);
  write_parsed(&out, trace, (const char *[]){"flows=compact", NULL});
  expect_flows(out.events, "ac2g", 0, 0);
  drop(&out);
  fake_trace_close(fake);
}

PD_TEST(sink_chrome_trace, small_ids_of_a_container_meet_no_stream) {
  written out;
  fake_trace *fake = open_fake();
  fake_trace_training(fake, 2, 1);
  fake_thread(fake, 7, "collides with stream 7");
  pd_trace *trace = fake_trace_finish(fake);
  write_parsed(&out, trace, NULL);
  cr_assert_eq(number(find(out.events, "X", "cpu_op", "aten::conv2d"), "pid"), 4242 + 4194304);
  cr_assert_eq(number(find(out.events, "X", "cpu_op", "aten::conv2d"), "tid"), 4242 + 4194304);
  cr_assert_eq(number(find(out.events, "X", "kernel", NULL), "tid"), 7);
  cr_assert_eq(number(json_reader_get(out.root, "pdhost"), "host_id_offset"), 4194304);
  drop(&out);
  fake_trace_close(fake);
}

PD_TEST(sink_chrome_trace, flows_may_be_fewer_or_none) {
  written out;
  fake_trace *fake = open_fake();
  fake_trace_training(fake, 2, 1);
  const pd_trace *trace = fake_trace_finish(fake);
  write_parsed(&out, trace, (const char *[]){"flows=compact", NULL});
  expect_flows(out.events, "ac2g", 5, 5); /* two launches in the convolution, two in the optimiser */
  expect_flows(out.events, "fwdbwd", 1, 1);
  drop(&out);
  write_parsed(&out, trace, (const char *[]){"flows=none", NULL});
  expect_flows(out.events, "ac2g", 0, 0);
  expect_flows(out.events, "fwdbwd", 0, 0);
  drop(&out);
  fake_trace_close(fake);
}

/* tests/tools/check_profiler_plugin.py changes this word in files of other runs. */
PD_TEST(sink_chrome_trace, the_old_category_is_an_option_that_changes_nothing_else) {
  static const char word[] = "\"cat\":\"cuda_runtime\"", old_word[] = "\"cat\":\"runtime\"";
  written out, with_default;
  fake_trace *fake = open_fake();
  fake_trace_training(fake, 2, 1);
  const pd_trace *trace = fake_trace_finish(fake);
  write_parsed(&with_default, trace, NULL);
  write_parsed(&out, trace, (const char *[]){"runtime_category=runtime", NULL});
  cr_assert_eq(count(out.events, "X", "runtime", NULL), 8);
  cr_assert_eq(count(out.events, "X", "cuda_runtime", NULL), 0);
  const char *old = out.run.all[0]->data, *text = with_default.run.all[0]->data, *found;
  for (; (found = strstr(text, word)); text = found + strlen(word)) {
    const size_t before = (size_t)(found - text);
    cr_assert(!strncmp(old, text, before) && !strncmp(old + before, old_word, strlen(old_word)), "%.200s", text);
    old += before + strlen(old_word);
  }
  cr_assert_str_eq(old, text);
  drop(&with_default);
  drop(&out);
  fake_trace_close(fake);
}

PD_TEST(sink_chrome_trace, a_driver_launch_counts_as_runtime_for_its_readers) {
  written out;
  fake_trace *fake = open_fake();
  const uint32_t stream = fake_stream(fake, 0, 1, 7);
  fake_step(fake, 1, 0, MS(10));
  fake_call(fake, PD_API_LAUNCH, "cuLaunchKernel", 0, MS(1), MS(2), 1)->kind = PD_ACTIVITY_DRIVER;
  fake_call(fake, PD_API_OTHER, "cuMemMap", 0, MS(3), MS(4), 2)->kind = PD_ACTIVITY_DRIVER;
  fake_kernel(fake, "k()", stream, MS(4), MS(5), 1);
  write_parsed(&out, fake_trace_finish(fake), NULL);
  cr_assert_not_null(find(out.events, "X", "cuda_runtime", "cuLaunchKernel"));
  cr_assert_not_null(find(out.events, "X", "cuda_driver", "cuMemMap"));
  drop(&out);
  fake_trace_close(fake);
}

PD_TEST(sink_chrome_trace, a_cpu_device_has_no_figures_of_a_gpu) {
  written out;
  fake_trace *fake = open_fake();
  const uint32_t stream = fake_stream(fake, 0, 1, 1);
  const pd_device_props props = {.size = sizeof props, .name = "CPU (oneDNN 2.6.3)"};
  fake_step(fake, 1, 0, MS(10));
  fake_call(fake, PD_API_LAUNCH, "cudaLaunchKernel", 0, MS(1), MS(2), 1);
  pd_device_row *row = fake_kernel(fake, "k()", stream, MS(4), MS(5), 1);
  row->detail.u.kernel.blocks_per_sm = row->detail.u.kernel.warps_per_sm = 0;
  row->detail.u.kernel.occupancy = row->detail.u.kernel.waves = -1;
  pd_trace *trace = fake_trace_finish(fake);
  trace->device = &props;
  write_parsed(&out, trace, NULL);
  const json_node *device = json_reader_at(json_reader_get(out.root, "deviceProperties"), 0);
  cr_assert_eq(device->count, 2);
  cr_assert(json_reader_is(json_reader_get(device, "name"), "CPU (oneDNN 2.6.3)"));
  const json_node *kernel = find(out.events, "X", "kernel", "k()");
  cr_assert_null(argument(kernel, "blocks per SM"));
  cr_assert_null(argument(kernel, "est. achieved occupancy %"));
  cr_assert_null(argument(kernel, "waves"));
  cr_assert_eq(argument(kernel, "device")->number, 0);
  cr_assert_null(json_reader_get(out.root, "cupti_version"));
  cr_assert_eq(count(out.events, "C", NULL, "GPU 0 busy"), 0);
  cr_assert_eq(count(out.events, "C", NULL, "device 0 busy"), 3); /* idle at the launch, busy, idle */
  drop(&out);
  fake_trace_close(fake);
}

PD_TEST(sink_chrome_trace, hostile_names_stay_json) {
  written out;
  fake_trace *fake = open_fake();
  char *long_name = malloc(65537);
  cr_assert_not_null(long_name);
  memset(long_name, '"', 65536);
  long_name[65536] = '\0';
  const uint32_t stream = fake_stream(fake, 0, 1, 7);
  fake_step(fake, 1, 0, MS(10));
  fake_range(fake, PD_RANGE_OP, "quote \" back \\ tab \t bell \a", 0, MS(1), MS(2));
  fake_range(fake, PD_RANGE_OP, long_name, 0, MS(2), MS(3));
  fake_range(fake, PD_RANGE_USER, "\xe2\x82\xac \xf0\x9f\x98\x80", 0, MS(3), MS(4));
  fake_range(fake, PD_RANGE_USER, "", 0, MS(4), MS(4.5));
  fake_call(fake, PD_API_LAUNCH, "cudaLaunchKernel", 0, MS(3.1), MS(3.2), 1);
  fake_kernel(fake, long_name, stream, MS(5), MS(6), 1);
  write_parsed(&out, fake_trace_finish(fake), NULL);
  cr_assert_not_null(find(out.events, "X", "cpu_op", "quote \" back \\ tab \t bell \a"));
  cr_assert_not_null(find(out.events, "X", "cpu_op", long_name));
  cr_assert_not_null(find(out.events, "X", "kernel", long_name));
  cr_assert_not_null(find(out.events, "X", "gpu_user_annotation", "\xe2\x82\xac \xf0\x9f\x98\x80"));
  expect_nesting(out.events);
  drop(&out);
  free(long_name);
  fake_trace_close(fake);
}

/* A name that means something to the analysers is kept by what it is for, and by nothing else. */
PD_TEST(sink_chrome_trace, names_with_a_meaning_to_readers_are_kept_from_others) {
  written out;
  fake_trace *fake = open_fake();
  const uint32_t stream = fake_stream(fake, 0, 1, 7);
  fake_step(fake, 1, 0, MS(10));
  fake_range(fake, PD_RANGE_USER, "ProfilerStep#x", 0, MS(1), MS(2));
  fake_range(fake, PD_RANGE_OP, "my \"ProfilerStep#ProfilerStep#7", 0, MS(2), MS(3));
  fake_range(fake, PD_RANGE_DATALOADER, "enumerate(DataLoader)#_pdhost.__next__", 0, MS(3), MS(4));
  fake_range(fake, PD_RANGE_OP, "enumerate(DataLoader)#mine.__next__", 0, MS(4), MS(5));
  fake_range(fake, PD_RANGE_DATALOADER, "ProfilerStep#y", 0, MS(5), MS(5.5));
  fake_range(fake, PD_RANGE_USER, "Record Window End", 0, MS(6), MS(7));
  fake_range(fake, PD_RANGE_USER, "Iteration Start: now", 0, MS(7), MS(8));
  fake_call(fake, PD_API_LAUNCH, "ProfilerStep#2", 0, MS(1.1), MS(1.2), 1);
  fake_kernel(fake, "ProfilerStep#3", stream, MS(5), MS(6), 1);
  fake_counter(fake, "Iteration Start: counter", MS(1), 1);
  write_parsed(&out, fake_trace_finish(fake), NULL);
  cr_assert_eq(count(out.events, "X", "user_annotation", "ProfilerStep#1"), 1);
  static const struct {
    const char *phase, *category, *name;
  } wanted[] = {{"X", "user_annotation", "Profiler Step#x"},
                {"X", "gpu_user_annotation", "Profiler Step#x"},
                {"X", "cpu_op", "my \"Profiler Step#Profiler Step#7"},
                {"X", "cpu_op", "enumerate(DataLoader)#_pdhost.__next__"},
                {"X", "cpu_op", "enumerate (DataLoader)#mine.__next__"},
                {"X", "cpu_op", "Profiler Step#y"},
                {"X", "user_annotation", "Record window end"},
                {"X", "user_annotation", "Iteration start: now"},
                {"X", "cuda_runtime", "Profiler Step#2"},
                {"X", "kernel", "Profiler Step#3"},
                {"C", NULL, "Iteration start: counter"}};
  for (size_t i = 0; i < sizeof wanted / sizeof *wanted; i++)
    cr_assert_eq(count(out.events, wanted[i].phase, wanted[i].category, wanted[i].name), 1, "%s", wanted[i].name);
  cr_assert_eq(count(out.events, NULL, NULL, "Record Window End"), 1, "the window's own");
  drop(&out);
  fake_trace_close(fake);
}

PD_TEST(sink_chrome_trace, an_empty_window_is_a_valid_file) {
  written out;
  fake_trace *fake = open_fake();
  write_parsed(&out, fake_trace_finish(fake), NULL);
  cr_assert_eq(count(out.events, "X", "Trace", NULL), 1);
  cr_assert_eq(count(out.events, "X", NULL, NULL), 1);
  drop(&out);
  fake_trace_close(fake);
}

PD_TEST(sink_chrome_trace, one_event_without_steps_is_a_valid_file) {
  written out;
  fake_trace *fake = open_fake();
  fake_range(fake, PD_RANGE_OP, "alone", 0, 5, 6);
  write_parsed(&out, fake_trace_finish(fake), NULL);
  cr_assert_not_null(find(out.events, "X", "cpu_op", "alone"));
  drop(&out);
  fake_trace_close(fake);
}

PD_TEST(sink_chrome_trace, a_window_without_kernels_is_a_valid_file) {
  written out;
  fake_trace *fake = open_fake();
  fake_step(fake, 1, 0, MS(1));
  fake_range(fake, PD_RANGE_OP, "host only", 0, MS(0.1), MS(0.2));
  write_parsed(&out, fake_trace_finish(fake), NULL);
  cr_assert_eq(count(out.events, "X", "kernel", NULL), 0);
  cr_assert_eq(count(out.events, "f", NULL, NULL), 0);
  drop(&out);
  fake_trace_close(fake);
}
