/* Paddle's Memory Manipulation Summary: copies and sets by kind, allocations and frees, with bytes and bandwidth. */
#include "tables/span_groups.h"

#include <pdhost/array.h>

#include <stdlib.h>
#include <string.h>

enum { KIND_COPY, KIND_SET, KIND_ALLOCATION, KIND_FREE };

typedef struct moved {
  uint64_t bytes;
} moved;

static const char *end_name(const table_work *work, pd_memory_kind kind) {
  switch (kind) {
  case PD_MEMORY_PAGEABLE: return "CPU";
  case PD_MEMORY_PINNED: return work->is_cuda ? "CUDAPinned" : "Pinned";
  case PD_MEMORY_DEVICE: return work->is_cuda ? "GPU" : "Device";
  case PD_MEMORY_MANAGED: return "Managed";
  default: return "Unknown";
  }
}

/* A graph's copies never make the caller wait. */
static bool is_asynchronous(const trace_facts *facts, const pd_call *call) {
  return call && (call->api == PD_API_GRAPH_LAUNCH || strstr(facts_text(facts, call->name), "Async"));
}

/* What `name` holds of a group: both ends of a copy and whether its call was an asynchronous one. */
static uint32_t copy_key(const trace_facts *facts, const pd_device_row *row, const pd_call *call) {
  return (uint32_t)(row->detail.u.copy.from & 15) << 8 | (uint32_t)(row->detail.u.copy.to & 15) << 4 |
         is_asynchronous(facts, call);
}

static const char *group_name(const table_work *work, const span_group *group) {
  const char *device = work->is_cuda ? "Gpu" : "Device", *mode = group->name & 1 ? "Async" : "Sync";
  const char *from = end_name(work, group->name >> 8 & 15), *to = end_name(work, group->name >> 4 & 15);
  switch (group->kind) {
  case KIND_COPY: return arena_format(work->arena, "%sMemcpy%s:%s->%s", device, mode, from, to);
  case KIND_SET: return arena_format(work->arena, "%sMemset%s:%s", device, mode, to);
  case KIND_ALLOCATION: return arena_format(work->arena, "Allocation:%s", to);
  default: return arena_format(work->arena, "Free:%s", to);
  }
}

/* NOLINTNEXTLINE(readability-non-const-parameter): PD_ARRAY_FIT writes to `room` */
static bool add(span_groups *groups, moved **bytes, uint32_t *room, uint32_t kind, uint32_t name, int64_t cpu_ns,
                int64_t gpu_ns, uint64_t moved_bytes) {
  span_group *group = span_groups_at(groups, PD_NONE, PD_NONE, kind, name);
  uint32_t index;
  if (!group) return false;
  index = (uint32_t)(group - groups->rows);
  if (!PD_ARRAY_FIT_ZERO(*bytes, *room, index + 1)) return false;
  span_stats_add(&group->stats, cpu_ns, gpu_ns);
  (*bytes)[index].bytes += moved_bytes;
  return true;
}

/* A call counts with the first of its copies: a graph launch makes many. */
static int64_t call_time(const trace_facts *facts, const pd_device_row *row, bool *counted) {
  if (row->call >= facts->call_count || counted[row->call]) return 0;
  counted[row->call] = true;
  return facts_span(facts_call(facts, row->call)->start_ns, facts_call(facts, row->call)->end_ns);
}

static bool collect(const trace_facts *facts, span_groups *groups, moved **bytes) {
  bool *counted = calloc(facts->call_count + 1, sizeof *counted);
  uint32_t room = 0;
  bool ok = counted != NULL;
  for (uint64_t i = 0; ok && i < facts->activity_count; i++) {
    const pd_device_row *row = facts_activity(facts, i);
    const pd_call *call = row->call < facts->call_count ? facts_call(facts, row->call) : NULL;
    if (row->detail.kind != PD_ACTIVITY_MEMCPY && row->detail.kind != PD_ACTIVITY_MEMSET) continue;
    ok = add(groups, bytes, &room, row->detail.kind == PD_ACTIVITY_MEMCPY ? KIND_COPY : KIND_SET,
             copy_key(facts, row, call), call_time(facts, row, counted), facts_span(row->start_ns, row->end_ns),
             row->detail.bytes);
  }
  for (uint64_t i = 0; ok && i < facts->trace->memory.count; i++) {
    const pd_memory_row *row = PD_AT(pd_memory_row, &facts->trace->memory, i);
    uint32_t to = row->event.device_type ? PD_MEMORY_DEVICE : PD_MEMORY_PINNED;
    bool freed = row->event.bytes < 0;
    ok = add(groups, bytes, &room, freed ? KIND_FREE : KIND_ALLOCATION, to << 4, row->duration_ns, 0,
             freed ? 0 - (uint64_t)row->event.bytes : (uint64_t)row->event.bytes);
  }
  free(counted);
  return ok;
}

const pd_table *memcpy_table(const table_work *work) {
  const trace_facts *facts = work->facts;
  span_groups groups = {0};
  moved *bytes = NULL;
  uint32_t *order = NULL;
  const pd_table *done = NULL;
  int64_t cpu_ns = 0, gpu_ns = 0;
  table_build table;
  if (!collect(facts, &groups, &bytes) || !(order = span_order(&groups, work->request->sorted_by))) {
    work->arena->failed = true;
    goto out;
  }
  for (uint32_t i = 0; i < groups.keys.count; i++) {
    cpu_ns += groups.rows[i].stats.cpu_ns;
    gpu_ns += groups.rows[i].stats.gpu_ns;
  }
  table_begin(
      &table, work->arena, work->is_cuda, "memcpy", "Memory Manipulation Summary",
      "CPU time is that of the call, or the time in the allocator; a call with several copies, as a graph launch is, "
      "counts once, with the first of them. Ratios are of the sum over these rows. GB/s is bytes over device time.");
  if (facts->trace->profile != PD_PROFILE_FULL) table_without_device(&table, facts->trace->profile_note);
  TABLE_COLUMNS(&table, M_name, SPAN_COLUMNS, M_bytes, M_bandwidth);
  for (uint32_t i = 0; i < groups.keys.count; i++) {
    const span_group *group = &groups.rows[order[i]];
    bool device = group->kind == KIND_COPY || group->kind == KIND_SET;
    uint64_t moved_bytes = bytes[order[i]].bytes;
    table_row(&table, 0);
    table_string(&table, M_name, group_name(work, group));
    span_cells(&table, &group->stats, cpu_ns, gpu_ns, true, device);
    table_int(&table, M_bytes, (int64_t)moved_bytes);
    if (device && group->stats.gpu_ns > 0)
      table_double(&table, M_bandwidth, (double)moved_bytes / (double)group->stats.gpu_ns);
  }
  done = table_done(&table);
out:
  free(order);
  free(bytes);
  span_groups_free(&groups);
  return done;
}
