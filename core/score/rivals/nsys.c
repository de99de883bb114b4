/*
 * Nsight Systems, the expert rules of `nsys analyze`.
 *
 * Source: Nsight Systems user guide, "Expert Systems Analysis"; defaults of the rules as of 2025.
 * Rules, each a list of what it found, over the training steps (its --filter-nvtx, so that the loop's own
 * synchronisations are not its findings): copies from or to pageable memory (cuda_memcpy_async), host calls that block
 * (cuda_memcpy_sync, cuda_memset_sync, cuda_api_sync), gaps of at least 500 ms on the device (gpu_gaps), and fewer than
 * 50 % of the time in use in one of 30 equal parts (gpu_time_util).
 * Mapping: pageable copies to the device are pageable_copy; those to the host, which block it, and blocking calls are
 * forced_sync. The one of the two with the longer total is the verdict. Gaps and low use name no cause; they count
 * where neither of the two found anything.
 */
#include "rivals.h"

#include "facts/intervals.h"

#include <string.h>

#define GAP_NS INT64_C(500000000)
#define IN_USE 0.5
enum { PARTS = 30 };

static bool in_train_step(const intervals *train, int64_t at) {
  for (size_t i = 0; i < train->count; i++)
    if (train->rows[i].start <= at && at < train->rows[i].end) return true;
  return false;
}

static bool find_train(const trace_facts *facts, intervals *train) {
  bool ok = true;
  for (uint64_t i = 0; ok && i < facts->range_count; i++) {
    const pd_range *range = facts_range(facts, i);
    if (range->kind == PD_RANGE_USER && !strcmp(facts_text(facts, range->name), "train_step"))
      ok = intervals_add(train, range->start_ns, range->end_ns);
  }
  return ok && intervals_merge(train);
}

static void add_copies(const trace_facts *facts, const intervals *train, int64_t *to_device, int64_t *to_host) {
  for (uint64_t i = 0; i < facts->activity_count; i++) {
    const pd_device_row *row = facts_activity(facts, i);
    const pd_call *call = row->call < facts->call_count ? facts_call(facts, row->call) : NULL;
    if (row->detail.kind != PD_ACTIVITY_MEMCPY || !call || !in_train_step(train, call->start_ns)) continue;
    if (row->detail.u.copy.from == PD_MEMORY_PAGEABLE) *to_device += facts_span(row->start_ns, row->end_ns);
    if (row->detail.u.copy.to == PD_MEMORY_PAGEABLE) *to_host += facts_span(row->start_ns, row->end_ns);
  }
}

static int64_t blocking_ns(const trace_facts *facts, const intervals *train) {
  int64_t sum = 0;
  for (uint64_t i = 0; i < facts->call_count; i++) {
    const pd_call *call = facts_call(facts, i);
    if (call->api == PD_API_SYNC && in_train_step(train, call->start_ns))
      sum += facts_span(call->start_ns, call->end_ns);
  }
  return sum;
}

/* Gaps and parts of little use; false on no memory. */
static bool is_little_used(const trace_facts *facts, bool *little) {
  intervals busy = {0};
  bool ok = true;
  *little = false;
  for (uint64_t i = 0; ok && i < facts->activity_count; i++)
    ok = intervals_add(&busy, facts_activity(facts, i)->start_ns, facts_activity(facts, i)->end_ns);
  ok = ok && intervals_merge(&busy);
  for (size_t i = 1; ok && i < busy.count; i++) *little |= busy.rows[i].start - busy.rows[i - 1].end >= GAP_NS;
  const int64_t from = ok && busy.count ? busy.rows[0].start : 0,
                to = ok && busy.count ? busy.rows[busy.count - 1].end : 0;
  for (int part = 0; ok && busy.count && part < PARTS; part++) {
    const int64_t start = from + (to - from) / PARTS * part, end = start + (to - from) / PARTS;
    int64_t used = 0;
    for (size_t i = 0; i < busy.count; i++)
      used += facts_span(busy.rows[i].start > start ? busy.rows[i].start : start,
                         busy.rows[i].end < end ? busy.rows[i].end : end);
    *little |= (double)used < IN_USE * (double)(end - start);
  }
  intervals_free(&busy);
  return ok;
}

static const char *judge(const trace_facts *facts) {
  intervals train = {0};
  bool little = false;
  const bool ok = find_train(facts, &train) && is_little_used(facts, &little);
  int64_t pageable = 0, blocking = ok ? blocking_ns(facts, &train) : 0;
  if (ok) add_copies(facts, &train, &pageable, &blocking);
  intervals_free(&train);
  if (!ok) return NULL;
  if (pageable || blocking) return pageable >= blocking ? "pageable_copy" : "forced_sync";
  return little ? RIVAL_UNNAMED : RIVAL_SILENT;
}

const rival rival_nsys = {"nsys", "Nsight Systems expert rules", judge};
