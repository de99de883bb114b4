/* Paddle's Device Summary: CPU use from /proc between begin and end of the window, device use from the trace. */
#include "facts/step_parts.h"
#include "tables/devices.h"
#include "tables/tables.h"

/* For the only device, from the lists that the breakdown has made: kernels, copies without them, sets without both. */
static bool only_device_busy(const step_parts *parts, int64_t from, int64_t to, int64_t *busy_ns) {
  intervals alone = {0}, left = {0};
  bool ok = intervals_subtract(&parts->lists[STEP_MEMCPY], &parts->lists[STEP_KERNEL], &alone);
  *busy_ns = intervals_within(&parts->lists[STEP_KERNEL], from, to) + intervals_within(&alone, from, to);
  ok = ok && intervals_subtract(&parts->lists[STEP_MEMSET], &parts->lists[STEP_KERNEL], &left) &&
       intervals_subtract(&left, &parts->lists[STEP_MEMCPY], &alone);
  *busy_ns += ok ? intervals_within(&alone, from, to) : 0;
  intervals_free(&alone);
  intervals_free(&left);
  return ok;
}

/* The time within [from, to) in which the device had any record running. */
static bool device_busy(const trace_facts *facts, uint32_t device, int64_t from, int64_t to, int64_t *busy_ns) {
  intervals list = {0};
  bool ok = true;
  for (uint64_t i = 0; ok && i < facts->activity_count; i++) {
    const pd_device_row *row = facts_activity(facts, i);
    if (row->detail.device != device) continue;
    ok = intervals_add(&list, row->start_ns > from ? row->start_ns : from, row->end_ns < to ? row->end_ns : to);
  }
  ok = ok && intervals_merge(&list);
  *busy_ns = ok ? intervals_length(&list) : 0;
  intervals_free(&list);
  return ok;
}

const pd_table *device_summary_table(const table_work *work) {
  const trace_facts *facts = work->facts;
  const pd_trace *trace = facts->trace;
  uint32_t devices[DEVICES_MOST];
  const double cores = work->context->cores ? work->context->cores : 1;
  table_build table;
  table_begin(
      &table, work->arena, work->is_cuda, "device_summary", "Device Summary",
      "CPU(Process) is CPU time over elapsed time, so it reaches 100 % per core; CPU(System) is the busy share of "
      "all cores, every process counted; a device's is the time with any of this process's work on it.");
  if (trace->profile != PD_PROFILE_FULL) table_without_device(&table, trace->profile_note);
  TABLE_COLUMNS(&table, M_device, M_utilization, M_utilization_bound);
  if (work->usage && work->usage->elapsed_ns > 0) {
    const proc_usage *usage = work->usage;
    double process = 100 * (double)usage->process_ns / (double)usage->elapsed_ns;
    table_row(&table, 0);
    table_string(&table, M_device, "CPU(Process)");
    /* Two clocks: rounding may carry the share past its bound. */
    table_double(&table, M_utilization, process < 100 * cores ? process : 100 * cores);
    table_double(&table, M_utilization_bound, 100 * cores);
    table_row(&table, 0);
    table_string(&table, M_device, "CPU(System)");
    table_percent(&table, M_utilization, (int64_t)usage->busy, (int64_t)(usage->busy + usage->idle));
    table_double(&table, M_utilization_bound, 100);
  }
  const uint32_t count = devices_list(work, devices);
  for (uint32_t i = 0; i < count; i++) {
    int64_t busy_ns;
    if (!(devices_is_only(work, devices[i])
              ? only_device_busy(work->parts, trace->start_ns, trace->end_ns, &busy_ns)
              : device_busy(facts, devices[i], trace->start_ns, trace->end_ns, &busy_ns))) {
      work->arena->failed = true;
      return NULL;
    }
    table_row(&table, 0);
    table_string(&table, M_device, devices_name(work, devices[i]));
    table_percent(&table, M_utilization, busy_ns, facts_span(trace->start_ns, trace->end_ns));
    table_double(&table, M_utilization_bound, 100);
  }
  return table_done(&table);
}
