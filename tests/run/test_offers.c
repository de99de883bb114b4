/* What a verdict may suggest for a run. */
#include "pd_test.h"

#include "run/offers.h"

static pd_status begin(pd_device *device, pd_stream *stream) {
  (void)device, (void)stream;
  return PD_OK;
}

static pd_status end(pd_device *device, pd_stream *stream, pd_graph **out) {
  (void)device, (void)stream, (void)out;
  return PD_OK;
}

static pd_status launch(pd_device *device, pd_stream *stream, pd_graph *graph) {
  (void)device, (void)stream, (void)graph;
  return PD_OK;
}

static void destroy(pd_device *device, pd_graph *graph) { (void)device, (void)graph; }

static bool supports(pd_device *device, pd_dtype dtype, pd_layout layout) {
  (void)device, (void)dtype, (void)layout;
  return true;
}

/* The offers of a device that captures graphs and trains in float16. */
static pd_offers offers_with(train_config train, bool whole_step) {
  const pd_tensor_ops tensor = {.size = sizeof tensor, .supports = supports};
  const pd_stream_ops streams = {.size = sizeof streams,
                                 .capture_begin = begin,
                                 .capture_end = end,
                                 .graph_launch = launch,
                                 .graph_destroy = destroy};
  const pd_device_ops ops = {.size = sizeof ops, .tensor = &tensor, .stream = &streams};
  const pd_device_access device = {.size = sizeof device, .ops = &ops};
  const pd_scenario_ops scenario = {.size = sizeof scenario, .whole_step = whole_step};
  const pd_plugin table = {.size = sizeof table, .ops = {.scenario = &scenario}};
  const plugin loaded = {.table = &table};
  const config settings = {.scenario = {.plugin = &loaded}, .train = train};
  return offers_of(&device, &settings) & (PD_OFFER_CUDA_GRAPH | PD_OFFER_UNREAD_GRAPH | PD_OFFER_UNREAD_SCALER);
}

/* A scenario that calls the parts of the step is trained without a graph. */
PD_TEST(offers, a_graph_is_for_scenarios_that_train_whole_steps) {
  cr_assert_eq(offers_with((train_config){0}, true), PD_OFFER_CUDA_GRAPH);
  cr_assert_eq(offers_with((train_config){.scaler_sync = true}, true), PD_OFFER_CUDA_GRAPH, "float32 has no scaler");
  cr_assert_eq(offers_with((train_config){0}, false), 0);
}

/* A graph cannot hold the host's read of what the loss scaler found: it is offered with a scaler that reads nothing. */
PD_TEST(offers, a_graph_of_a_scaled_step_comes_with_a_scaler_that_reads_nothing) {
  const train_config reads = {.amp = true, .scaler_sync = true}, silent = {.amp = true},
                     captured = {.amp = true, .cuda_graph = true};
  cr_assert_eq(offers_with(reads, true), PD_OFFER_UNREAD_GRAPH | PD_OFFER_UNREAD_SCALER);
  cr_assert_eq(offers_with(silent, true), PD_OFFER_CUDA_GRAPH);
  cr_assert_eq(offers_with(captured, true), 0);
  cr_assert_eq(offers_with(reads, false), PD_OFFER_UNREAD_SCALER);
}

/* In bfloat16 there is no scaler. */
PD_TEST(offers, float16_is_offered_a_scaler_that_reads_nothing_back) {
  const train_config half = {.amp = true, .scaler_sync = true},
                     brain = {.amp = true, .amp_dtype = "bfloat16", .scaler_sync = true},
                     single = {.scaler_sync = true};
  cr_assert(offers_with(half, true) & PD_OFFER_UNREAD_SCALER);
  cr_assert(!(offers_with(brain, true) & PD_OFFER_UNREAD_SCALER));
  cr_assert(!(offers_with(single, true) & PD_OFFER_UNREAD_SCALER));
}
