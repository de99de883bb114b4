/* Step-time breakdown and the device figures beside it; definitions of torch_tb_profiler. */
#include "devices.h"
#include "step_sums.h"
#include "tables.h"
#include "facts/step_parts.h"

#include <stdlib.h>
#include <string.h>

void step_parts_note(table_build *table, const trace_facts *facts) {
  if (facts->trace->profile == PD_PROFILE_FULL) return;
  table_without_device(table, facts->trace->profile_note);
  table_note(table, "Communication and DataLoader are whole: nothing is taken off them for work of the device.");
}

const pd_table *breakdown_table(const table_work *work) {
  static const char *const names[STEP_PART_COUNT] = {STEP_PART_NAMES};
  const trace_facts *facts = work->facts;
  table_build table;
  table_begin(&table, work->arena, work->is_cuda, "breakdown", "Step-time breakdown",
              "Each moment counts for the first class of this order that is busy then; the rows add up to the steps.");
  step_parts_note(&table, facts);
  if (facts->trace->profile == PD_PROFILE_FULL && !facts->trace->sync_timing)
    table_note(&table, "Without run.sync_timing the device may still be at work of the steps before when the window "
                       "begins: that work is not recorded, and the host's waits for it count as Runtime or CPU Exec of "
                       "the first step.");
  TABLE_COLUMNS(&table, M_category, M_total, M_per_step, M_share);
  for (uint32_t p = 0; p < STEP_PART_COUNT; p++) {
    table_row(&table, 0);
    table_string(&table, M_category, names[p]);
    if (step_part_is_known(facts, p)) step_sum_cells(&table, facts, work->parts->rows + p, STEP_PART_COUNT);
  }
  table_footer(&table, "Steps");
  step_sum_cells(&table, facts, NULL, 0);
  return table_done(&table);
}

/* ---- device figures ---------------------------------------------------------------------------------------- */

/* Where a kernel's blocks come or go. */
typedef struct change {
  int64_t at_ns;
  double blocks;
} change;

static int by_time(const void *a, const void *b) {
  const change *x = a, *y = b;
  return (x->at_ns > y->at_ns) - (x->at_ns < y->at_ns);
}

typedef struct figures {
  double sm_busy_ns; /* integral of min(1, blocks per SM of running kernels) */
  double occupancy_ns, occupancy_weight_ns;
  int64_t kernel_ns;
  bool has_blocks;
} figures;

/* Kernels come in the order of their starts; on one stream their ends are in order too. */
static void sort_changes(change *changes, uint64_t count) {
  bool sorted = true;
  for (uint64_t i = 1; i < count && sorted; i++) sorted = changes[i - 1].at_ns <= changes[i].at_ns;
  if (!sorted) qsort(changes, count, sizeof *changes, by_time);
}

static double integrate(const change *starts, const change *ends, uint64_t count) {
  double blocks = 0, sum = 0;
  uint64_t s = 0, e = 0;
  int64_t last = count ? starts[0].at_ns : 0;
  while (e < count) {
    const change *next = s < count && starts[s].at_ns <= ends[e].at_ns ? &starts[s] : &ends[e];
    /* What rounding leaves of a sum of changes is no block. */
    if (blocks > 1e-6) sum += (blocks < 1 ? blocks : 1) * (double)(next->at_ns - last);
    last = next->at_ns;
    if (s < count && next == &starts[s]) {
      blocks += next->blocks;
      s++;
    } else {
      blocks -= next->blocks;
      e++;
    }
  }
  return sum;
}

static bool compute_figures(const table_work *work, uint32_t device, int64_t from, int64_t to, figures *out) {
  const trace_facts *facts = work->facts;
  change *starts = malloc((facts->activity_count + 1) * sizeof *starts);
  change *ends = malloc((facts->activity_count + 1) * sizeof *ends);
  intervals kernels = {0};
  const bool only = devices_is_only(work, device);
  uint64_t count = 0;
  bool ok = starts && ends;
  *out = (figures){0};
  for (uint64_t i = 0; ok && i < facts->activity_count; i++) {
    const pd_device_row *row = facts_activity(facts, i);
    int64_t start = row->start_ns > from ? row->start_ns : from, end = row->end_ns < to ? row->end_ns : to;
    if (row->detail.kind != PD_ACTIVITY_KERNEL || row->detail.device != device || end <= start) continue;
    ok = only || intervals_add(&kernels, start, end);
    if (row->detail.u.kernel.blocks_per_sm > 0) {
      starts[count] = (change){start, (double)row->detail.u.kernel.blocks_per_sm};
      ends[count++] = (change){end, (double)row->detail.u.kernel.blocks_per_sm};
    }
    if (row->detail.u.kernel.occupancy >= 0) {
      out->occupancy_ns += (double)(end - start) * (double)row->detail.u.kernel.occupancy;
      out->occupancy_weight_ns += (double)(end - start);
    }
  }
  ok = ok && intervals_merge(&kernels);
  if (ok) {
    sort_changes(starts, count);
    sort_changes(ends, count);
    out->kernel_ns = only ? intervals_within(&work->parts->lists[STEP_KERNEL], from, to) : intervals_length(&kernels);
    out->has_blocks = count > 0;
    out->sm_busy_ns = integrate(starts, ends, count);
  }
  intervals_free(&kernels);
  free(starts);
  free(ends);
  return ok;
}

const pd_table *device_figures_table(const table_work *work) {
  const trace_facts *facts = work->facts;
  const pd_trace *trace = facts->trace;
  uint32_t devices[DEVICES_MOST];
  int64_t from = facts->step_count ? facts_step(facts, 0)->start_ns : trace->start_ns;
  int64_t to = facts->step_count ? facts_step(facts, facts->step_count - 1)->end_ns : trace->end_ns;
  table_build table;
  table_begin(
      &table, work->arena, work->is_cuda, "device_figures", "Device figures",
      "Kernels only: a copy is not work of the multiprocessors. Efficiency and occupancy are estimates from launch "
      "configurations; blank where the device has none.");
  TABLE_COLUMNS(&table, M_device, M_gpu_utilization, M_sm_efficiency, M_achieved_occupancy);
  const uint32_t count = devices_list(work, devices);
  for (uint32_t i = 0; i < count; i++) {
    figures of;
    if (!compute_figures(work, devices[i], from, to, &of)) {
      work->arena->failed = true;
      return NULL;
    }
    table_row(&table, 0);
    table_string(&table, M_device, devices_name(work, devices[i]));
    table_percent(&table, M_gpu_utilization, of.kernel_ns, facts_span(from, to));
    if (of.has_blocks && to > from) table_double(&table, M_sm_efficiency, 100 * of.sm_busy_ns / (double)(to - from));
    if (of.occupancy_weight_ns > 0)
      table_double(&table, M_achieved_occupancy, 100 * of.occupancy_ns / of.occupancy_weight_ns);
  }
  return table_done(&table);
}
