/*
 * The causes that a verdict may name. It names the one whose removal brings most (gains.h), and knows nothing of what
 * the scenario injects.
 *
 * A verdict is withheld where launches or device records are missing, where there are too few steps, and where the
 * replay with nothing removed does not give the steps as they were recorded.
 */
#ifndef CORE_LEDGER_VERDICT_H
#define CORE_LEDGER_VERDICT_H

#include <stdbool.h>
#include <stdint.h>

/* Below these nothing is said. */
#define VERDICT_MIN_COVERAGE 0.999
#define VERDICT_MIN_STEPS 5

/* X(key as scenarios spell their bottleneck, what a reader sees) */
#define VERDICT_MAP(X)                                                                                                 \
  X(input_bound, "input-bound: the device waits for data")                                                             \
  X(forced_sync, "forced synchronisation: a blocking call drains the device")                                          \
  X(launch_bound, "launch-bound: small launches cost more than their work")                                            \
  X(small_batch, "small batch: the samples go through the model in many small passes")                                 \
  X(allocator, "allocator: temporaries are made, filled and freed in each step")                                       \
  X(pageable_copy, "pageable copies: the device waits for pageable memory")                                            \
  X(pinned_copy, "transfer-bound: copies of pinned memory run alone")                                                  \
  X(host_compute, "host compute: the host works between launches")                                                     \
  X(serial_streams, "serialised streams: work that could overlap waits for an event")                                  \
  X(device_side, "device-side dependency: work is queued and waits")                                                   \
  X(profiler, "profiler overhead: the profiling library stops the host")                                               \
  X(none, "no bottleneck found")

enum {
#define X(key, text) VERDICT_##key,
  VERDICT_MAP(X)
#undef X
      VERDICT_COUNT
};

/* As scenarios spell it, and what a reader sees. */
const char *verdict_key(uint32_t cause);
const char *verdict_text(uint32_t cause);

#endif
