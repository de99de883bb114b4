/* Paddle's Overview Summary: time per type of event, overlaps over threads and streams counted once. */
#include "facts/step_parts.h"
#include "tables/tables.h"

#include <string.h>

enum {
  TYPE_RUNTIME,
  TYPE_USER,
  TYPE_DATALOADER,
  TYPE_FORWARD,
  TYPE_BACKWARD,
  TYPE_OPTIMIZATION,
  TYPE_OPERATOR,
  TYPE_INNER,
  TYPE_HOST_COUNT,
  TYPE_KERNEL = TYPE_HOST_COUNT,
  TYPE_MEMCPY,
  TYPE_MEMSET,
  TYPE_COMMUNICATION,
  TYPE_COUNT
};

typedef struct type_time {
  intervals spans;
  int64_t calls;
} type_time;

static bool add(type_time *types, uint32_t type, int64_t start, int64_t end) {
  types[type].calls++;
  return intervals_add(&types[type].spans, start, end);
}

/* A part's events are the ranges that begin it: those whose parent belongs to another part. */
static bool add_range(const trace_facts *facts, type_time *types, uint64_t i) {
  static const uint32_t parts[] = {TYPE_COUNT, TYPE_DATALOADER, TYPE_FORWARD, TYPE_BACKWARD, TYPE_OPTIMIZATION};
  const pd_range *range = facts_range(facts, i);
  const pd_range *parent = range->parent < i ? facts_range(facts, range->parent) : NULL;
  bool ok = true, begins = !parent || parent->part != range->part;
  if (range->kind == PD_RANGE_USER)
    ok = add(types, TYPE_USER, range->start_ns, range->end_ns);
  else if (range->kind == PD_RANGE_OP || range->kind == PD_RANGE_OP_INNER)
    ok = add(types, facts->operation[i] == i ? TYPE_OPERATOR : TYPE_INNER, range->start_ns, range->end_ns);
  if (ok && begins && range->part > PD_PART_NONE && range->part <= PD_PART_OPTIMIZATION &&
      range->kind != PD_RANGE_WORKER)
    ok = add(types, parts[range->part], range->start_ns, range->end_ns);
  return ok;
}

static bool collect(const trace_facts *facts, type_time *types) {
  bool ok = true;
  for (uint64_t i = 0; ok && i < facts->range_count; i++) ok = add_range(facts, types, i);
  for (uint64_t i = 0; ok && i < facts->call_count; i++)
    ok = add(types, TYPE_RUNTIME, facts_call(facts, i)->start_ns, facts_call(facts, i)->end_ns);
  for (uint64_t i = 0; ok && i < facts->activity_count; i++) {
    const pd_device_row *row = facts_activity(facts, i);
    uint32_t type = row->detail.kind == PD_ACTIVITY_MEMCPY   ? TYPE_MEMCPY
                    : row->detail.kind == PD_ACTIVITY_MEMSET ? TYPE_MEMSET
                                                             : TYPE_KERNEL;
    types[type].calls++;
    if (type == TYPE_KERNEL && facts_is_communication(facts, row->name))
      ok = add(types, TYPE_COMMUNICATION, row->start_ns, row->end_ns);
  }
  for (uint32_t t = 0; ok && t < TYPE_COUNT; t++) ok = intervals_merge(&types[t].spans);
  return ok;
}

const pd_table *overview_table(const table_work *work) {
  static const char *const names[TYPE_COUNT] = {"CudaRuntime", "UserDefined",  "Dataloader", "Forward",
                                                "Backward",    "Optimization", "Operator",   "OperatorInner",
                                                "Kernel",      "Memcpy",       "Memset",     "Communication"};
  const trace_facts *facts = work->facts;
  const bool device = facts->trace->profile == PD_PROFILE_FULL;
  const pd_table *done = NULL;
  type_time types[TYPE_COUNT];
  table_build table;
  memset(types, 0, sizeof types);
  if (!collect(facts, types)) {
    work->arena->failed = true;
    goto out;
  }
  table_begin(
      &table, work->arena, work->is_cuda, "overview", "Overview Summary",
      "A type's time has overlaps over threads or streams merged. Ratios are of the time of all steps and may add "
      "up to more than 100: types nest, and host and device run at the same time.");
  if (!device) table_without_device(&table, facts->trace->profile_note);
  TABLE_COLUMNS(&table, M_event_type, M_calls, M_cpu_time_union, M_gpu_time_union, M_step_ratio);
  table_row(&table, 0);
  table_string(&table, M_event_type, "ProfileStep");
  table_int(&table, M_calls, (int64_t)facts->step_count);
  table_int(&table, M_cpu_time_union, facts->steps_ns);
  table_percent(&table, M_step_ratio, facts->steps_ns, facts->steps_ns);
  for (uint32_t t = 0; t < TYPE_COUNT; t++) {
    const intervals *spans =
        t >= TYPE_KERNEL && t <= TYPE_MEMSET ? &work->parts->lists[STEP_KERNEL + t - TYPE_KERNEL] : &types[t].spans;
    int64_t length = intervals_length(spans);
    table_row(&table, 0);
    table_string(&table, M_event_type, t == TYPE_RUNTIME && !work->is_cuda ? "Runtime" : names[t]);
    if (!device && (t == TYPE_RUNTIME || t >= TYPE_HOST_COUNT)) continue;
    table_int(&table, M_calls, types[t].calls);
    table_int(&table, t < TYPE_HOST_COUNT ? M_cpu_time_union : M_gpu_time_union, length);
    table_percent(&table, M_step_ratio, length, facts->steps_ns);
  }
  done = table_done(&table);
out:
  for (uint32_t t = 0; t < TYPE_COUNT; t++) intervals_free(&types[t].spans);
  return done;
}
