/* Floating point work per operation. */
#include "span_groups.h"

#include <pdhost/array.h>

#include <stdlib.h>
#include <string.h>

/* PD_F16 or PD_BF16, else PD_F32. */
static pd_dtype precision_of(const trace_facts *facts, const pd_range *range) {
  const pd_dtype dtype =
      range->shape_count ? PD_AT(pd_shape, &facts->trace->shapes, range->shape_first)->dtype : PD_F32;
  return dtype == PD_F16 || dtype == PD_BF16 ? dtype : PD_F32;
}

/* Float32 work may use TF32 where the run lets it and the device has it; its peak is then the one to compare with. */
static double peak_of(const table_work *work, pd_dtype precision, const char **kind) {
  const pd_device_props *device = work->context->device;
  const bool tf32 = work->context->tf32 && device && device->peak_tf32_flops > 0;
  const bool half = precision != PD_F32; /* both kinds have one peak */
  *kind = precision == PD_F16 ? "float16" : half ? "bfloat16" : tf32 ? "tf32" : "float32";
  if (!device) return 0;
  return half ? device->peak_f16_flops : tf32 ? device->peak_tf32_flops : device->peak_f32_flops;
}

typedef struct work_sum {
  uint64_t flops;
} work_sum;

/* The sum beside group `index`; NULL on no memory. */
/* NOLINTNEXTLINE(readability-non-const-parameter): PD_ARRAY_FIT writes to `room` */
static work_sum *work_at(work_sum **rows, uint32_t *room, uint32_t index) {
  return PD_ARRAY_FIT_ZERO(*rows, *room, index + 1) ? *rows + index : NULL;
}

static void put_flops(table_build *table, const table_work *work, uint64_t flops, int64_t gpu_ns) {
  uint64_t steps = work->facts->step_count ? work->facts->step_count : 1;
  table_int(table, M_flops, (int64_t)flops);
  table_int(table, M_flops_per_step, (int64_t)(flops / steps));
  if (work->facts->trace->profile == PD_PROFILE_FULL) table_int(table, M_gpu_total, gpu_ns);
  if (gpu_ns > 0) table_double(table, M_flops_per_s, (double)flops * 1e9 / (double)gpu_ns);
}

const pd_table *flops_table(const table_work *work) {
  const trace_facts *facts = work->facts;
  span_groups sums = {0};
  work_sum *flops = NULL;
  uint32_t *order = NULL, room = 0;
  const pd_table *done = NULL;
  uint64_t total = 0;
  int64_t gpu_ns = 0;
  table_build table;
  for (uint64_t i = 0; i < facts->range_count; i++) {
    const pd_range *range = facts_range(facts, i);
    span_group *group;
    work_sum *sum;
    if (!range->flops) continue;
    group = span_groups_at(&sums, PD_NONE, PD_NONE, precision_of(facts, range), range->name);
    sum = group ? work_at(&flops, &room, (uint32_t)(group - sums.rows)) : NULL;
    if (!sum) goto out;
    span_stats_add(&group->stats, facts_span(range->start_ns, range->end_ns), facts->device_total_ns[i]);
    sum->flops += range->flops;
    total += range->flops;
    gpu_ns += facts->device_total_ns[i];
  }
  order = span_order(&sums, "GPUTotal");
  if (!order) goto out;
  table_begin(
      &table, work->arena, work->is_cuda, "flops", "Floating point work",
      "Convolutions and matrix products, 2 per multiply-add, from their shapes; the rate is over the device time of "
      "the same operations.");
  if (facts->trace->profile != PD_PROFILE_FULL) table_without_device(&table, facts->trace->profile_note);
  TABLE_COLUMNS(&table, M_name, M_calls, M_flops_per_step, M_gpu_total, M_flops_per_s, M_peak_percent, M_flops,
                M_peak_kind);
  for (uint32_t i = 0; i < sums.keys.count; i++) {
    const span_group *group = &sums.rows[order[i]];
    const char *kind;
    double peak = peak_of(work, group->kind, &kind);
    table_row(&table, 0);
    table_string(&table, M_name, facts_text(facts, group->name));
    table_int(&table, M_calls, group->stats.calls);
    put_flops(&table, work, flops[order[i]].flops, group->stats.gpu_ns);
    table_string(&table, M_peak_kind, kind);
    if (peak > 0 && group->stats.gpu_ns > 0)
      table_double(&table, M_peak_percent,
                   100 * (double)flops[order[i]].flops * 1e9 / (double)group->stats.gpu_ns / peak);
  }
  table_footer(&table, "Total");
  put_flops(&table, work, total, gpu_ns);
  done = table_done(&table);
out:
  if (!done) work->arena->failed = true;
  free(order);
  free(flops);
  span_groups_free(&sums);
  return done;
}
