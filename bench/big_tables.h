/* An analysis of a big trace, with all tables that a run of a GPU has. */
#ifndef BENCH_BIG_TABLES_H
#define BENCH_BIG_TABLES_H

#include "tables/window_tables.h"

/* As analysis_open. */
static inline pd_status big_tables_open(analysis **out) {
  static const pd_device_props device = {.size = sizeof device, .is_cuda = 1};
  const analysis_context context = {.device = &device,
                                    .batch_size = 64,
                                    .with_flops = true,
                                    .with_modules = true,
                                    .profile_memory = true,
                                    .cores = 1};
  return analysis_open(&context, out);
}

#endif
