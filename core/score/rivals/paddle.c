/*
 * PaddlePaddle's profiler, the Reader Ratio of its benchmark mode.
 *
 * Source: paddle.profiler user guide, its case study of a slow data loader; formula in python/paddle/profiler/timer.py.
 * Rule: reader cost over batch cost, the means of all steps. The guide gives no threshold: it calls the loader the
 * bottleneck at the 38.3 % that it prints, and reads 1.8 % as healthy. The printed share is taken as the limit.
 * Mapping: from there on input_bound; it cannot name anything else.
 */
#include "rivals.h"

#define READER_RATIO 0.383

static const char *judge(const trace_facts *facts) {
  int64_t reader = 0;
  for (uint64_t s = 0; s < facts->step_count; s++) reader += facts_step(facts, s)->data_wait_ns;
  return (double)reader >= READER_RATIO * (double)facts->steps_ns && reader ? "input_bound" : RIVAL_SILENT;
}

const rival rival_paddle = {"paddle", "Paddle Reader Ratio", judge};
