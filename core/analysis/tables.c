/* See tables.h. */
#include "tables.h"

typedef const pd_table *table_function(const table_work *work);

enum { MAX_TABLES = 32 };

const pd_table_set *tables_make(const table_work *work) {
  const pd_trace *trace = work->facts->trace;
  const pd_table **tables = arena_take(work->arena, MAX_TABLES * sizeof *tables);
  pd_table_set *set = arena_take(work->arena, sizeof *set);
  const struct {
    table_function *make;
    bool wanted;
  } all[] = {
      {operator_table, true},
      {breakdown_table, true},
      {device_figures_table, trace->profile != PD_PROFILE_NONE},
      {steps_table, true},
  };
  if (!tables || !set) return NULL;
  set->size = sizeof *set;
  set->tables = tables;
  for (uint32_t i = 0; i < sizeof all / sizeof all[0]; i++) {
    if (!all[i].wanted) continue;
    tables[set->count] = all[i].make(work);
    if (!tables[set->count++] || work->arena->failed) return NULL;
  }
  return set;
}
