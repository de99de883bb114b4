/*
 * XProf (TensorFlow's and OpenXLA's profiler), input pipeline analyser.
 *
 * Source: openxla/xprof, xprof/convert/op_stats_to_input_pipeline_analysis.cc (thresholds, sentences), the order of its
 * event types in event_span.h.
 * Rules: a moment of a step belongs to the first of device compute, copy to the host, copy on the device, wait for
 * input, a host call that launches ("Kernel Launch"), copy to the device, other host work; "All Others" is the rest.
 * Input (wait and copies to the device): moderately from 5 %, highly from 20 %; output (copies to the host): the same;
 * kernel launch and all others: moderately from 3 %, highly from 15 %.
 * Mapping: input is input_bound, kernel launch launch_bound, all others ("could be due to Python execution overhead")
 * host_compute, output has no cause of ours. Several may be printed: "highly" goes before "moderately", then the
 * largest.
 */
#include "rivals.h"
#include "shares.h"

typedef struct finding {
  const char *cause;
  double share, moderate, high;
} finding;

static const char *judge(const trace_facts *facts) {
  static const uint32_t order[] = {SHARE_KERNEL,    SHARE_TO_HOST,   SHARE_ON_DEVICE, SHARE_DATALOADER,
                                   SHARE_LAUNCHING, SHARE_TO_DEVICE, SHARE_OPERATION};
  double shares[SHARE_COUNT];
  if (!shares_of(facts, order, sizeof order / sizeof order[0], shares)) return NULL;
  const finding all[] = {{"input_bound", shares[SHARE_DATALOADER] + shares[SHARE_TO_DEVICE], 0.05, 0.20},
                         {RIVAL_UNNAMED, shares[SHARE_TO_HOST], 0.05, 0.20},
                         {"launch_bound", shares[SHARE_LAUNCHING], 0.03, 0.15},
                         {"host_compute", shares[SHARE_REST], 0.03, 0.15}};
  const finding *best = NULL;
  for (size_t i = 0; i < sizeof all / sizeof all[0]; i++) {
    const finding *one = &all[i];
    if (one->share < one->moderate) continue;
    const bool is_high = one->share >= one->high, best_is_high = best && best->share >= best->high;
    if (!best || is_high > best_is_high || (is_high == best_is_high && one->share > best->share)) best = one;
  }
  return best ? best->cause : RIVAL_SILENT;
}

const rival rival_xprof = {"xprof", "XProf input pipeline analyser", judge};
