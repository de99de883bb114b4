/* See record_live.h. */
#include "record_live.h"

#include "trace/kept/shared_file.h"

#include <sys/mman.h>
#include <unistd.h>

/* What happened so long ago is all there: CUPTI is flushed five times a second. */
#define SETTLED_NS INT64_C(500000000)
#define SECOND_BUCKETS (INT64_C(1000000000) / RECORD_LIVE_BUCKET_NS)

record_live *record_live_open(void) {
  const int file = shared_file_make(RECORD_LIVE_FILE, sizeof(record_live)); /* stays open: others find it by that */
  if (file < 0) return NULL;
  void *at = mmap(NULL, sizeof(record_live), PROT_READ | PROT_WRITE, MAP_SHARED, file, 0);
  if (at != MAP_FAILED) return at;
  (void)close(file);
  return NULL;
}

void record_live_close(record_live *self) {
  if (self) (void)munmap(self, sizeof *self);
}

/* NULL: of a time before all that are kept. */
static record_live_bucket *bucket_of(record_live *self, int64_t number) {
  record_live_bucket *bucket = &self->buckets[(uint64_t)number % RECORD_LIVE_BUCKETS];
  const int64_t kept = atomic_load_explicit(&bucket->number, memory_order_relaxed);
  if (kept == number) return bucket;
  if (kept > number) return NULL;
  atomic_store_explicit(&bucket->number, 0, memory_order_release);
  atomic_store_explicit(&bucket->launches, 0, memory_order_relaxed);
  atomic_store_explicit(&bucket->devices, 0, memory_order_relaxed);
  for (int i = 0; i < RECORD_LIVE_PARTS; i++) atomic_store_explicit(&bucket->ns[i], 0, memory_order_relaxed);
  atomic_store_explicit(&bucket->number, number, memory_order_release);
  return bucket;
}

/* A long row reaches over many buckets, of which the newest are kept. */
static void spread(record_live *self, record_live_part part, int64_t start_ns, int64_t end_ns, uint64_t device) {
  const int64_t least = end_ns - (RECORD_LIVE_BUCKETS - 1) * RECORD_LIVE_BUCKET_NS;
  if (start_ns < least) start_ns = least;
  while (start_ns < end_ns) {
    const int64_t number = start_ns / RECORD_LIVE_BUCKET_NS;
    const int64_t bound = (number + 1) * RECORD_LIVE_BUCKET_NS, to = end_ns < bound ? end_ns : bound;
    record_live_bucket *bucket = bucket_of(self, number);
    if (bucket) {
      atomic_fetch_add_explicit(&bucket->ns[part], to - start_ns, memory_order_relaxed);
      atomic_fetch_or_explicit(&bucket->devices, device, memory_order_relaxed);
    }
    start_ns = to;
  }
}

static record_live_part part_of(const pd_activity *row) {
  switch (row->kind) {
  case PD_ACTIVITY_KERNEL: return RECORD_LIVE_KERNELS;
  case PD_ACTIVITY_MEMCPY: return RECORD_LIVE_COPIES;
  case PD_ACTIVITY_MEMSET: return RECORD_LIVE_SETS;
  case PD_ACTIVITY_RUNTIME:
  case PD_ACTIVITY_DRIVER:
    if (row->u.api.api >= PD_API_LAUNCH && row->u.api.api <= PD_API_GRAPH_LAUNCH) return RECORD_LIVE_LAUNCHING;
    if (row->u.api.api == PD_API_SYNC) return RECORD_LIVE_WAITING;
    if (row->u.api.api == PD_API_ALLOC || row->u.api.api == PD_API_FREE) return RECORD_LIVE_ALLOCATING;
    return RECORD_LIVE_PARTS;
  default: return RECORD_LIVE_PARTS;
  }
}

static void add_work(record_live *self, uint32_t slot, record_live_process *process, const pd_activity *row,
                     record_live_part part) {
  const uint32_t device = row->device % RECORD_LIVE_DEVICES;
  int64_t *until_ns = &process->until_ns[device];
  const int64_t from_ns = row->start > *until_ns ? row->start : *until_ns;
  if (row->end <= from_ns) return;
  spread(self, part, from_ns, row->end, UINT64_C(1) << (slot * 8 + device) % 64);
  *until_ns = row->end;
}

/* Two calls of one number count as one launch, with the time of the outer one. */
static void add_call(record_live *self, record_live_process *process, const pd_activity *row, record_live_part part) {
  const bool is_same = row->correlation && row->correlation == process->correlation;
  if (is_same && row->start <= process->call_start_ns && row->end >= process->call_end_ns) {
    spread(self, part, row->start, process->call_start_ns, 0);
    spread(self, part, process->call_end_ns, row->end, 0);
  } else if (!is_same) {
    spread(self, part, row->start, row->end, 0);
  }
  process->correlation = row->correlation;
  process->call_start_ns = row->start;
  process->call_end_ns = row->end;
  if (is_same || part != RECORD_LIVE_LAUNCHING) return;
  atomic_fetch_add_explicit(&self->launches, 1, memory_order_relaxed);
  record_live_bucket *bucket = bucket_of(self, row->start / RECORD_LIVE_BUCKET_NS);
  if (bucket) atomic_fetch_add_explicit(&bucket->launches, 1, memory_order_relaxed);
}

void record_live_add(record_live *self, uint32_t slot, record_live_process *process, const pd_activity *rows,
                     uint32_t count) {
  for (uint32_t i = 0; self && i < count; i++) {
    const pd_activity *row = &rows[i];
    const record_live_part part = part_of(row);
    if (row->start <= 0 || row->end < row->start || part == RECORD_LIVE_PARTS) continue;
    if (!atomic_load_explicit(&self->since_ns, memory_order_relaxed))
      atomic_store_explicit(&self->since_ns, row->start, memory_order_relaxed);
    if (part < RECORD_LIVE_LAUNCHING)
      add_work(self, slot, process, row, part);
    else
      add_call(self, process, row, part);
  }
}

void record_live_step(record_live *self, int64_t end_ns) {
  if (!self) return;
  const uint64_t number = atomic_load_explicit(&self->step_count, memory_order_relaxed);
  atomic_store_explicit(&self->step_ends_ns[number % RECORD_LIVE_STEPS], end_ns, memory_order_relaxed);
  atomic_store_explicit(&self->step_count, number + 1, memory_order_release);
}

static int64_t step_end(const record_live *self, uint64_t number) {
  return atomic_load_explicit(&self->step_ends_ns[number % RECORD_LIVE_STEPS], memory_order_relaxed);
}

/* From the newest back; the older half of the places may be written meanwhile. */
static void take_steps(const record_live *self, int64_t from_ns, int64_t to_ns, record_live_second *out) {
  const uint64_t count = atomic_load_explicit(&self->step_count, memory_order_acquire);
  const uint64_t kept = count < RECORD_LIVE_STEPS / 2 ? count : RECORD_LIVE_STEPS / 2;
  int64_t newest_ns = 0;
  for (uint64_t i = 1; i < kept; i++) {
    const int64_t end_ns = step_end(self, count - i), before_ns = step_end(self, count - i - 1);
    const bool is_of_second = end_ns > from_ns;
    if (end_ns > to_ns) continue;
    if (!is_of_second && out->steps) break;
    if (!newest_ns) newest_ns = end_ns;
    out->step_ns = (double)(newest_ns - before_ns) / (double)(out->steps + 1);
    if (!is_of_second) break;
    out->steps++;
  }
}

record_live_second record_live_last(const record_live *self, int64_t now_realtime_ns) {
  return record_live_before(self, now_realtime_ns - SETTLED_NS);
}

record_live_second record_live_before(const record_live *self, int64_t end_realtime_ns) {
  record_live_second out = {0};
  const int64_t last = end_realtime_ns / RECORD_LIVE_BUCKET_NS; /* the first that is not of it */
  uint64_t devices = 0;
  for (int64_t number = last - SECOND_BUCKETS; number < last; number++) {
    const record_live_bucket *bucket = &self->buckets[(uint64_t)number % RECORD_LIVE_BUCKETS];
    if (atomic_load_explicit(&bucket->number, memory_order_acquire) != number) continue;
    out.launches += atomic_load_explicit(&bucket->launches, memory_order_relaxed);
    devices |= atomic_load_explicit(&bucket->devices, memory_order_relaxed);
    for (int i = 0; i < RECORD_LIVE_PARTS; i++)
      out.share[i] += 1e-9 * (double)atomic_load_explicit(&bucket->ns[i], memory_order_relaxed);
  }
  for (; devices; devices &= devices - 1) out.devices++;
  for (int i = 0; i < RECORD_LIVE_LAUNCHING && out.devices; i++) {
    out.share[i] /= (double)out.devices;
    out.busy += out.share[i];
  }
  take_steps(self, (last - SECOND_BUCKETS) * RECORD_LIVE_BUCKET_NS, last * RECORD_LIVE_BUCKET_NS, &out);
  return out;
}
