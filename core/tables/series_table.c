/* What was looked at in equal spans; see tables.h. */
#include "tables.h"

#include "facts/series_names.h"
#include "facts/series_use.h"

#include <pdhost/series_counters.h>

const pd_table *series_table(const table_work *work) {
  series_use series;
  table_build table;
  table_begin(&table, work->arena, work->is_cuda, "series", "Series",
              "What profile.series_every looked at, over the window; what is not known has no row.");
  TABLE_COLUMNS(&table, M_series_name, M_series_unit, M_series_looks, M_series_min, M_series_mean, M_series_max,
                M_series_resolution);
  const bool ok = series_use_open(work->facts->trace, &series);
  for (uint32_t i = 0; ok && i < series.count; i++) {
    const series_row *row = &series.rows[i];
    const char *name = facts_text(work->facts, row->name), *unit = pd_series_unit(name);
    const char *resolution = series_resolution(name);
    table_row(&table, 0);
    table_string(&table, M_series_name, arena_text(work->arena, name, (uint64_t)(unit - name) - 2));
    table_string(&table, M_series_unit, unit);
    table_int(&table, M_series_looks, (int64_t)row->looks);
    table_double(&table, M_series_min, row->least);
    table_double(&table, M_series_mean, row->sum / (double)row->looks);
    table_double(&table, M_series_max, row->most);
    if (resolution) table_string(&table, M_series_resolution, resolution);
  }
  series_use_free(&series);
  return ok ? table_done(&table) : NULL;
}
