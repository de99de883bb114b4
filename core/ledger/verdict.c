/* See verdict.h. */
#include "verdict.h"

static const char *const keys[VERDICT_COUNT] = {
#define X(key, text) #key,
    VERDICT_MAP(X)
#undef X
};
const char *verdict_key(uint32_t cause) { return keys[cause]; }

static const char *const texts[VERDICT_COUNT] = {
#define X(key, text) text,
    VERDICT_MAP(X)
#undef X
};
const char *verdict_text(uint32_t cause) { return texts[cause]; }

int64_t verdict_time(const int64_t *rows, uint32_t cause, uint64_t passes) {
  const int64_t launches = rows[LEDGER_launch] + rows[LEDGER_launch_gap];
  switch (cause) {
  case VERDICT_input_bound:
    return rows[LEDGER_input_io] + rows[LEDGER_input_cpu] + rows[LEDGER_input_handover] + rows[LEDGER_copy_late];
  case VERDICT_forced_sync: return rows[LEDGER_forced_sync] + rows[LEDGER_copy_read];
  case VERDICT_launch_bound: return launches + rows[LEDGER_tiny_kernels];
  case VERDICT_small_batch: return passes > 1 ? rows[LEDGER_passes] + launches - launches / (int64_t)passes : 0;
  case VERDICT_allocator: return rows[LEDGER_allocator] + rows[LEDGER_temporaries];
  case VERDICT_pageable_copy: return rows[LEDGER_copy_pageable] + rows[LEDGER_transfer];
  case VERDICT_pinned_copy: return rows[LEDGER_copy_pinned];
  case VERDICT_host_compute: return rows[LEDGER_host_compute];
  case VERDICT_serial_streams: return rows[LEDGER_serialised];
  case VERDICT_device_side: return rows[LEDGER_device_side];
  case VERDICT_profiler: return rows[LEDGER_profiler];
  default: return rows[LEDGER_compute] + rows[LEDGER_copy_device];
  }
}

bool verdict_applies(uint32_t cause, const verdict_basis *basis) {
  switch (cause) {
  case VERDICT_device_side: return basis->is_cuda;
  case VERDICT_launch_bound: return basis->passes < 2;
  case VERDICT_small_batch: return basis->passes > 1;
  default: return true;
  }
}

uint32_t verdict_of(const int64_t *rows, int64_t span_ns, const verdict_basis *basis) {
  const int64_t own =
      span_ns - rows[LEDGER_measurement] - rows[LEDGER_profiler] - (basis->is_cuda ? 0 : rows[LEDGER_device_side]);
  uint32_t best = VERDICT_none;
  int64_t most = 0;
  for (uint32_t cause = 0; cause < VERDICT_none; cause++) {
    const int64_t time = verdict_time(rows, cause, basis->passes);
    if (cause == VERDICT_profiler || time <= most || !verdict_applies(cause, basis)) continue;
    most = time;
    best = cause;
  }
  const double limit = basis->is_cuda ? VERDICT_MIN_SHARE_CUDA : VERDICT_MIN_SHARE_OTHER;
  if ((double)most >= limit * (double)own) return best;
  const int64_t sync = verdict_time(rows, VERDICT_forced_sync, basis->passes);
  if (basis->blocking && (double)sync >= VERDICT_MIN_SYNC_SHARE * (double)own) return VERDICT_forced_sync;
  if ((double)verdict_time(rows, VERDICT_small_batch, basis->passes) >= VERDICT_MIN_PASSES_SHARE * (double)own &&
      verdict_applies(VERDICT_small_batch, basis))
    return VERDICT_small_batch;
  return (double)rows[LEDGER_profiler] >= limit * (double)own ? VERDICT_profiler : VERDICT_none;
}
