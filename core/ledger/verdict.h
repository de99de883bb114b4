/*
 * The verdict on a window: which cause takes the largest share of the steps' time, from the ledger (ledger.h) alone. It
 * knows nothing of what the scenario injects.
 *
 * It rests on the steps without the slowest of every VERDICT_TRIM: a stall of the machine hits single steps, what a
 * step does hits all. A bottleneck is the cause with the largest share, at least VERDICT_MIN_SHARE_* of the steps' own
 * time: their spans without the measurement's own synchronisations and, on a device of threads, without the time in
 * which it was not scheduled. Blocking calls are counted, not inferred, and the measurement's own synchronisations hide
 * most of what they cost: where every step makes one and no other cause reaches its share, VERDICT_MIN_SYNC_SHARE will
 * do. So are passes through the model, and most of what many small ones cost lies in their kernels, where it is not
 * told from work: VERDICT_MIN_PASSES_SHARE. Else there is none.
 *
 * Without the measurement's synchronisations ([run] sync_timing) the device follows at its own pace. The steps are then
 * judged from the first on that begins after the device has begun with their work: before, what it does is earlier
 * steps', of which there is no record. Nothing is said where less than VERDICT_MIN_WITHIN of the work is done while the
 * steps last on the host.
 *
 * Shares are of the steps without what the profiler adds to them (LEDGER_profiler), as they would be without it; it is
 * named itself only where nothing else reaches its share.
 *
 * Launches that cost more than their work are a small batch's where a step has several passes, but those
 * that one pass would need, and launch-bound else.
 */
#ifndef CORE_LEDGER_VERDICT_H
#define CORE_LEDGER_VERDICT_H

#include "ledger.h"

/* Of a GPU: set on the calibration part of corpus/h200.ini, where a baseline's largest share that is not the device's
 * is 4.6 %, and the smallest of an effect of 5 % is 5.7 %. Of a device of threads, whose kernels the host's threads
 * slow down: on runs of small steps, 4 to 16 images of 16 to 24 pixels a side. */
#define VERDICT_MIN_SHARE_CUDA 0.05
#define VERDICT_MIN_SHARE_OTHER 0.10
#define VERDICT_MIN_SYNC_SHARE 0.001
#define VERDICT_MIN_PASSES_SHARE 0.02
/* One step of the usual eight. */
#define VERDICT_TRIM 8
/* Below these nothing is said. */
#define VERDICT_MIN_COVERAGE 0.999
#define VERDICT_MIN_STEPS 5
#define VERDICT_MIN_WITHIN 0.5

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

/* What a trace's rows are judged by. */
typedef struct verdict_basis {
  bool blocking;   /* each step has a blocking call */
  uint64_t passes; /* through the model in each step */
  bool is_cuda; /* a device of threads that does not begin what is queued was not scheduled: no fault of the step's */
} verdict_basis;

/* The cause that `rows` (LEDGER_CAUSE_COUNT) of `span_ns` name. */
uint32_t verdict_of(const int64_t *rows, int64_t span_ns, const verdict_basis *basis);
/* Whether a trace judged by `basis` can show the cause at all. */
bool verdict_applies(uint32_t cause, const verdict_basis *basis);
/* As scenarios spell it. */
const char *verdict_key(uint32_t cause);
/* What a reader sees. */
const char *verdict_text(uint32_t cause);
/* The cause's time in `rows`, of steps with `passes` through the model each. */
int64_t verdict_time(const int64_t *rows, uint32_t cause, uint64_t passes);

#endif
