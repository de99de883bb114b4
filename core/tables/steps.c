/* The steps of the window, one row each: what the loop measured and how the step's time divides. */
#include "step_sums.h"
#include "tables.h"
#include "facts/step_parts.h"

#include <math.h>

const pd_table *steps_table(const table_work *work) {
  static const metric_id times[] = {M_step_span,    M_step_time,       M_data_wait,     M_device_busy,
                                    M_step_kernel,  M_step_memcpy,     M_step_memset,   M_step_communication,
                                    M_step_runtime, M_step_dataloader, M_step_cpu_exec, M_step_other};
  const trace_facts *facts = work->facts;
  const bool device = facts->trace->profile == PD_PROFILE_FULL;
  table_build table;
  table_begin(&table, work->arena, work->is_cuda, "active_steps", "Active steps",
              facts->trace->sync_timing ? "Step times are bounded by device synchronisations."
                                        : "Step times are device times: no synchronisation around the step.");
  step_parts_note(&table, facts);
  TABLE_COLUMNS(&table, M_step, M_step_start, M_step_span, M_step_time, M_data_wait, M_launches, M_matched,
                M_device_records, M_device_busy, M_loss, M_step_kernel, M_step_memcpy, M_step_memset,
                M_step_communication, M_step_runtime, M_step_dataloader, M_step_cpu_exec, M_step_other);
  for (uint64_t i = 0; i < facts->step_count; i++) {
    const pd_trace_step *step = facts_step(facts, i);
    const int64_t *part = work->parts->rows + i * STEP_PART_COUNT;
    table_row(&table, 0);
    table_int(&table, M_step, (int64_t)step->number);
    table_int(&table, M_step_start, step->start_ns);
    table_int(&table, M_step_span, facts_span(step->start_ns, step->end_ns));
    table_int(&table, M_step_time, step->step_time_ns);
    table_int(&table, M_data_wait, step->data_wait_ns);
    table_double(&table, M_loss, step->loss);
    for (uint32_t p = 0; p < STEP_PART_COUNT; p++)
      if (step_part_is_known(facts, p)) table_int(&table, M_step_kernel + p, part[p]);
    if (!device) continue;
    table_int(&table, M_launches, (int64_t)step->launches);
    table_int(&table, M_matched, (int64_t)step->matched);
    table_int(&table, M_device_records, (int64_t)step->device_rows);
    table_int(&table, M_device_busy, part[STEP_KERNEL] + part[STEP_MEMCPY] + part[STEP_MEMSET]);
  }
  step_column_digits(&table, times, sizeof times / sizeof *times);
  return table_done(&table);
}
