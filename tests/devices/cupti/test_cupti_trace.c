/* From the library to the trace: what CUPTI leaves out stands in the trace's losses, which every sink shows. */
#include "devices/cuda/cupti/cupti_collect.h"
#include "fake_cupti.h"
#include "pd_test.h"
#include "trace/recorder.h"

static cupti_api api;
static cupti_collect *collect;
static recorder *kept;
static const pd_record *table;

static void open_all(void) {
  const recorder_options options = {.max_bytes = 16 << 20};
  char why[512];
  cr_assert_eq(cupti_api_load(&api, FAKE_CUPTI_PATH, why, sizeof why), PD_OK, "%s", why);
  cr_assert_eq(recorder_open(&options, &kept), PD_OK);
  table = recorder_table(kept);
  const cupti_collect_config config = {
      .api = &api, .record = table, .max_bytes = 64 << 20, .between = CUPTI_BETWEEN_KEEP};
  cr_assert_eq(cupti_collect_open(&config, &collect, why, sizeof why), PD_OK, "%s", why);
}
static void close_all(void) {
  cupti_collect_close(collect);
  fake_join();
  recorder_close(kept);
}

/* A window of one step, in which a graph leaves `nodes` kernels. */
static pd_trace *window(uint32_t number, uint32_t nodes) {
  cupti_drained drained;
  pd_trace *trace = NULL;
  char why[512];
  cr_assert_eq(cupti_collect_start(collect, why, sizeof why), PD_OK, "%s", why);
  recorder_enable(kept, true);
  cr_assert_eq(recorder_window_begin(kept, number), PD_OK);
  const uint64_t from = table->ticks(table);
  table->begin(table, table->intern(table, "replay"), PD_RANGE_OP, NULL);
  fake_graph_launch(5, nodes);
  table->end(table);
  fake_finish(0);
  const uint64_t to = table->ticks(table);
  const recorder_step step = {
      .number = number, .start_ticks = from, .end_ticks = to, .train_start_ticks = from, .train_end_ticks = to};
  cr_assert_eq(recorder_step_done(kept, &step), PD_OK);
  cupti_collect_stop(collect);
  cupti_collect_drain(collect, 0, &drained);
  const recorder_window about = {.profile = PD_PROFILE_FULL};
  cr_assert_eq(recorder_window_end(kept, &about, &trace), PD_OK);
  cr_assert_eq(trace->activities.count, nodes);
  return trace;
}

PD_TEST(cupti_trace, counts_the_kernels_of_a_graph_that_left_no_record) {
  static const struct { uint32_t nodes, missing; } windows[] = {{1001, 0}, {1, 1000}, {998, 3}, {1001, 0}};
  open_all();
  for (uint32_t i = 0; i < sizeof windows / sizeof windows[0]; i++) {
    pd_trace *trace = window(i, windows[i].nodes);
    for (int loss = 0; loss < PD_LOSS_COUNT; loss++)
      cr_assert_eq(trace->losses[loss], loss == PD_LOSS_UNMATCHED_LAUNCH ? windows[i].missing : 0, "window %u, loss %d",
                   i, loss);
    trace_free(trace);
  }
  close_all();
}
