/* What held up a device record: its launch, or its queue. */
#include "ledger/timeline.h"
#include "fake_trace.h"
#include "pd_test.h"

/* What held up the `index`th record of the step that `write` makes. */
static timeline_hold hold_of(void (*write)(fake_trace *fake, uint32_t thread, uint32_t stream), uint32_t index) {
  fake_trace *fake = fake_trace_open();
  timeline of;
  cr_assert_not_null(fake);
  const uint32_t thread = fake_thread(fake, 1, "loop"), stream = fake_stream(fake, 0, 1, 7);
  fake_step(fake, 0, 0, 200000);
  write(fake, thread, stream);
  trace_facts *facts = facts_open(fake_trace_finish(fake));
  cr_assert(facts && timeline_open(facts, &of) && index < of.record_count);
  const timeline_hold hold = of.records[index].hold;
  timeline_close(&of);
  facts_close(facts);
  fake_trace_close(fake);
  return hold;
}

/* The second kernel begins 2 us after its launch ended, and 3 us after the first one. */
static void launched_late(fake_trace *fake, uint32_t thread, uint32_t stream) {
  fake_call(fake, PD_API_LAUNCH, "cudaLaunchKernel", thread, 0, 5000, 1);
  fake_kernel(fake, "a", stream, 8000, 20000, 1);
  fake_call(fake, PD_API_LAUNCH, "cudaLaunchKernel", thread, 15000, 21000, 2);
  fake_kernel(fake, "b", stream, 23000, 30000, 2);
}

static void kernels_of_a_graph(fake_trace *fake, uint32_t thread, uint32_t stream) {
  fake_call(fake, PD_API_GRAPH_LAUNCH, "cudaGraphLaunch", thread, 0, 21000, 1);
  fake_kernel(fake, "a", stream, 8000, 20000, 1);
  fake_kernel(fake, "b", stream, 23000, 30000, 1);
}

/* A read that is called while the kernel runs, and waits for it. */
static void read_behind_a_kernel(fake_trace *fake, uint32_t thread, uint32_t stream) {
  fake_call(fake, PD_API_LAUNCH, "cudaLaunchKernel", thread, 0, 5000, 1);
  fake_kernel(fake, "a", stream, 8000, 20000, 1);
  fake_call(fake, PD_API_MEMCPY, "cudaMemcpyAsync", thread, 10000, 26000, 2);
  fake_copy(fake, PD_MEMORY_DEVICE, PD_MEMORY_PAGEABLE, 4, stream, 23000, 24000, 2);
}

PD_TEST(replay, a_kernel_that_begins_right_behind_its_launch_was_not_queued) {
  cr_assert_eq(hold_of(launched_late, 1), TIMELINE_BY_LAUNCH);
  cr_assert_eq(hold_of(kernels_of_a_graph, 1), TIMELINE_BY_STREAM);
  cr_assert_eq(hold_of(read_behind_a_kernel, 1), TIMELINE_BY_STREAM);
}
