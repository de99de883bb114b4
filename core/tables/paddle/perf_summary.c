/* Paddle's Perf Summary: wait for data, iteration and throughput. Every figure is over the same steps. */
#include "base/stats.h"
#include "tables/run_tables.h"

#include <inttypes.h>
#include <math.h>
#include <stdlib.h>

enum { FIGURE_COUNT = 4 };
enum { READER_RATIO, READER_COST, BATCH_COST, IPS };

typedef struct figures {
  double *values[FIGURE_COUNT]; /* of each step where there is one */
  uint64_t used[FIGURE_COUNT];
  uint64_t steps, first, last;
  int64_t reader_ns, batch_ns;
} figures;

static void collect(figures *self, const pd_run *run, const pd_summary *summary, bool active_only) {
  const double samples = (double)run->batch_size;
  for (uint64_t i = 0; i < summary->steps_all.count; i++) {
    const pd_step_stats *step = PD_AT(pd_step_stats, &summary->steps_all, i);
    const double reader_s = (double)step->data_wait_ns * 1e-9, batch_s = (double)step->batch_cost_ns * 1e-9;
    if (active_only && step->phase != PD_PHASE_ACTIVE) continue;
    if (!self->steps++) self->first = step->index;
    self->last = step->index;
    self->reader_ns += step->data_wait_ns;
    self->batch_ns += step->batch_cost_ns;
    self->values[READER_COST][self->used[READER_COST]++] = reader_s;
    self->values[BATCH_COST][self->used[BATCH_COST]++] = batch_s;
    /* A step without a duration has no rate: no infinity may come in. */
    if (step->batch_cost_ns <= 0) continue;
    self->values[READER_RATIO][self->used[READER_RATIO]++] = 100 * reader_s / batch_s;
    if (run->batch_size) self->values[IPS][self->used[IPS]++] = samples / batch_s;
  }
}

static void add_row(table_build *table, const figures *all, uint32_t figure, const char *unit, double average) {
  static const metric_id names[FIGURE_COUNT] = {M_reader_ratio, M_reader_cost, M_batch_cost, M_ips};
  static const metric_id columns[] = {M_avg, M_max, M_min, M_p50, M_p95};
  double *values = all->values[figure];
  const uint64_t count = all->used[figure];
  table_row(table, 0);
  table_string(table, M_name, registry_metric(names[figure], false)->heading);
  table_string(table, M_figure_unit, unit);
  table_int(table, M_step_count, (int64_t)count);
  if (!count) return;
  table_int(table, M_first_step, (int64_t)all->first);
  table_int(table, M_last_step, (int64_t)all->last);
  const uint32_t digits = stats_digits(values, count);
  const pd_spread spread = stats_spread(values, count);
  /* Rounding may carry an average past an extreme. */
  table_double(table, M_avg, fmin(fmax(average, spread.min), spread.max));
  table_double(table, M_max, spread.max);
  table_double(table, M_min, spread.min);
  table_double(table, M_p50, spread.median);
  table_double(table, M_p95, stats_quantile(values, count, 0.95));
  for (uint32_t c = 0; c < sizeof columns / sizeof *columns; c++) table_digits(table, columns[c], digits);
}

/* Paddle's Perf Summary, over one set of steps: the active ones, or all where none was active. NULL on no memory. */
static const pd_table *perf_summary_table(arena *pool, const pd_run *run, const pd_summary *summary) {
  const uint64_t all = summary->steps_all.count;
  double *values = malloc((FIGURE_COUNT * all + 1) * sizeof *values);
  figures of = {0};
  bool active = false;
  table_build table;
  if (!values) return NULL;
  for (uint32_t i = 0; i < FIGURE_COUNT; i++) of.values[i] = values + i * all;
  for (uint64_t i = 0; i < all; i++)
    active = active || PD_AT(pd_step_stats, &summary->steps_all, i)->phase == PD_PHASE_ACTIVE;
  collect(&of, run, summary, active);
  const char *note =
      of.steps
          ? arena_format(pool,
                         "Over %" PRIu64 " %ssteps, %" PRIu64 "..%" PRIu64
                         ". The average ips is total samples over total time, and the average Reader Ratio total "
                         "wait over total time.%s",
                         of.steps, active ? "active " : "", of.first, of.last,
                         run->sync_timing ? ""
                                          : " Without run.sync_timing the wait is the host's and the iteration the "
                                            "device's, so that one step's ratio can be above 100 %.")
          : "No step was done.";
  const double batch_s = (double)of.batch_ns * 1e-9, steps = (double)of.steps;
  table_begin(&table, pool, run->device && run->device->is_cuda, "perf_summary", "Perf Summary", note);
  TABLE_COLUMNS(&table, M_name, M_figure_unit, M_avg, M_max, M_min, M_p50, M_p95, M_step_count, M_first_step,
                M_last_step);
  add_row(&table, &of, READER_RATIO, "%", 100 * (double)of.reader_ns / (double)of.batch_ns);
  add_row(&table, &of, READER_COST, "s", (double)of.reader_ns * 1e-9 / steps);
  add_row(&table, &of, BATCH_COST, "s", batch_s / steps);
  add_row(&table, &of, IPS, "samples/s", steps * (double)run->batch_size / batch_s);
  free(values);
  return table_done(&table);
}

const pd_table_set *run_tables_make(arena *pool, const pd_run *run, const pd_summary *summary) {
  enum { TABLES = 1 };
  typedef struct table_list {
    const pd_table *at[TABLES];
  } table_list;
  table_list *list = arena_take(pool, sizeof *list);
  pd_table_set *set = arena_take(pool, sizeof *set);
  if (!list || !set) return NULL;
  list->at[0] = perf_summary_table(pool, run, summary);
  *set = (pd_table_set){.size = sizeof *set, .count = TABLES, .tables = list->at};
  return list->at[0] ? set : NULL;
}
