/* Paddle's Distributed Summary: communication beside computation. One rank has none, and the table says 0. */
#include "facts/intervals.h"
#include "tables/tables.h"

static bool collect(const trace_facts *facts, intervals *communication, intervals *computation) {
  bool ok = true;
  for (uint64_t i = 0; ok && i < facts->activity_count; i++) {
    const pd_device_row *row = facts_activity(facts, i);
    if (row->detail.kind != PD_ACTIVITY_KERNEL) continue;
    ok = intervals_add(facts_is_communication(facts, row->name) ? communication : computation, row->start_ns,
                       row->end_ns);
  }
  for (uint64_t i = 0; ok && i < facts->range_count; i++) {
    const pd_range *range = facts_range(facts, i);
    if (facts_is_communication(facts, range->name)) ok = intervals_add(communication, range->start_ns, range->end_ns);
  }
  return ok && intervals_merge(communication) && intervals_merge(computation);
}

static void put_row(table_build *table, const char *name, int64_t time_ns, int64_t steps_ns) {
  table_row(table, 0);
  table_string(table, M_name, name);
  table_int(table, M_total_time, time_ns);
  table_percent(table, M_step_ratio, time_ns, steps_ns);
}

const pd_table *distributed_table(const table_work *work) {
  const trace_facts *facts = work->facts;
  intervals communication = {0}, computation = {0}, overlap = {0};
  const bool any = facts->has_communication; /* else every kernel is computation, and their union is known */
  const pd_table *done = NULL;
  table_build table;
  if (any &&
      (!collect(facts, &communication, &computation) || !intervals_intersect(&communication, &computation, &overlap))) {
    work->arena->failed = true;
    goto out;
  }
  table_begin(
      &table, work->arena, work->is_cuda, "distributed", "Distributed Summary",
      "Communication: collective ranges and kernels; computation: all other kernels; overlap: both at one time.");
  const bool device = facts->trace->profile == PD_PROFILE_FULL;
  if (!device) table_without_device(&table, facts->trace->profile_note);
  TABLE_COLUMNS(&table, M_name, M_total_time, M_step_ratio);
  put_row(&table, "ProfileStep", facts->steps_ns, facts->steps_ns);
  put_row(&table, "Communication", intervals_length(&communication), facts->steps_ns);
  if (device) {
    put_row(&table, "Computation", intervals_length(any ? &computation : &work->parts->lists[STEP_KERNEL]),
            facts->steps_ns);
    put_row(&table, "Overlap", intervals_length(&overlap), facts->steps_ns);
  }
  done = table_done(&table);
out:
  intervals_free(&communication);
  intervals_free(&computation);
  intervals_free(&overlap);
  return done;
}
