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

/* A scenario that calls the parts of the step is trained without a graph. */
PD_TEST(offers, a_graph_is_for_scenarios_that_train_whole_steps) {
  const pd_tensor_ops tensor = {.size = sizeof tensor};
  const pd_stream_ops streams = {.size = sizeof streams,
                                 .capture_begin = begin,
                                 .capture_end = end,
                                 .graph_launch = launch,
                                 .graph_destroy = destroy};
  const pd_device_ops ops = {.size = sizeof ops, .tensor = &tensor, .stream = &streams};
  const pd_device_access device = {.size = sizeof device, .ops = &ops};
  pd_scenario_ops scenario = {.size = sizeof scenario, .whole_step = 1};
  const pd_plugin table = {.size = sizeof table, .ops = {.scenario = &scenario}};
  const plugin loaded = {.table = &table};
  config settings = {.scenario = {.plugin = &loaded}};
  cr_assert(offers_of(&device, &settings) & PD_OFFER_CUDA_GRAPH);
  cr_assert_not(offers_of(&device, &settings) & PD_OFFER_UNREAD_GRAPH);
  settings.train.scaler_sync = true; /* of float32 there is no scaler */
  cr_assert(offers_of(&device, &settings) & PD_OFFER_CUDA_GRAPH);
  scenario.whole_step = 0;
  cr_assert_not(offers_of(&device, &settings) & PD_OFFER_CUDA_GRAPH);
}

/* A graph cannot hold the host's read of what the loss scaler found: it is offered with a scaler that reads nothing. */
PD_TEST(offers, a_graph_of_a_scaled_step_comes_with_a_scaler_that_reads_nothing) {
  const pd_tensor_ops tensor = {.size = sizeof tensor, .supports = supports};
  const pd_stream_ops streams = {.size = sizeof streams,
                                 .capture_begin = begin,
                                 .capture_end = end,
                                 .graph_launch = launch,
                                 .graph_destroy = destroy};
  const pd_device_ops ops = {.size = sizeof ops, .tensor = &tensor, .stream = &streams};
  const pd_device_access device = {.size = sizeof device, .ops = &ops};
  pd_scenario_ops scenario = {.size = sizeof scenario, .whole_step = 1};
  const pd_plugin table = {.size = sizeof table, .ops = {.scenario = &scenario}};
  const plugin loaded = {.table = &table};
  config settings = {.scenario = {.plugin = &loaded}, .train = {.amp = true, .scaler_sync = true}};
  cr_assert_eq(offers_of(&device, &settings) & (PD_OFFER_CUDA_GRAPH | PD_OFFER_UNREAD_GRAPH), PD_OFFER_UNREAD_GRAPH);
  settings.train.scaler_sync = false;
  cr_assert_eq(offers_of(&device, &settings) & (PD_OFFER_CUDA_GRAPH | PD_OFFER_UNREAD_GRAPH), PD_OFFER_CUDA_GRAPH);
  settings.train.scaler_sync = settings.train.cuda_graph = true;
  cr_assert_not(offers_of(&device, &settings) & (PD_OFFER_CUDA_GRAPH | PD_OFFER_UNREAD_GRAPH));
  settings.train.cuda_graph = false;
  scenario.whole_step = 0;
  cr_assert_not(offers_of(&device, &settings) & PD_OFFER_UNREAD_GRAPH);
}
