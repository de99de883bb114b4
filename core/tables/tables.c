/* See tables.h. */
#include "tables.h"

#include "facts/series_use.h"

typedef const pd_table *table_function(const table_work *work);

enum { MAX_TABLES = 32 };
typedef struct table_list {
  const pd_table *at[MAX_TABLES];
} table_list;

/* Or the ledger, which is made from them. */
static bool needs_gains(table_function *make) {
  return make == verdict_table || make == gains_table || make == corrected_table || make == ledger_table ||
         make == ledger_steps_table;
}

const pd_table_set *tables_make(const table_work *given) {
  const pd_trace *trace = given->facts->trace;
  table_work filled = *given;
  const table_work *work = &filled;
  step_parts parts = {0};
  ledger owners = {0};
  stack_tree stacks = {0};
  table_list *list = arena_take(work->arena, sizeof *list), made = {{NULL}};
  pd_table_set *set = arena_take(work->arena, sizeof *set);
  const struct {
    table_function *make;
    bool wanted;
  } all[] = {
      {verdict_table, true},
      {operator_table, true},
      {breakdown_table, true},
      {gains_table, trace->profile == PD_PROFILE_FULL},
      {corrected_table, trace->profile == PD_PROFILE_FULL && work->request->corrected},
      {ledger_table, trace->profile == PD_PROFILE_FULL},
      {ledger_steps_table, trace->profile == PD_PROFILE_FULL},
      {idle_reasons_table, (trace->facts & PD_FACT_STATES) != 0},
      {idle_code_table, (trace->facts & PD_FACT_CODE) != 0},
      {children_table, (trace->facts & PD_FACT_CHILDREN) != 0},
      {series_table, series_are_in(trace)},
      {device_figures_table, trace->profile == PD_PROFILE_FULL},
      {steps_table, true},
      {device_summary_table, true},
      {overview_table, true},
      {model_table, true},
      {distributed_table, true},
      {operator_summary_table, true},
      {kernel_table, trace->profile == PD_PROFILE_FULL},
      {kernel_operators_table, trace->profile == PD_PROFILE_FULL},
      {memcpy_table, true},
      {userdefined_table, true},
      {memory_table, work->context->profile_memory},
      {memory_peak_table, work->context->profile_memory},
      {memory_churn_table, work->context->profile_memory},
      {memory_blocks_table, work->context->profile_memory},
      {flops_table, work->context->with_flops},
      {modules_table, work->context->with_modules || modules_are_in(work->facts)},
      {stacks_table, true},
      {stacks_device_table, trace->profile == PD_PROFILE_FULL},
  };
  _Static_assert(sizeof all / sizeof all[0] <= MAX_TABLES, "table_list has room for all");
  const uint32_t count = sizeof all / sizeof all[0];
  bool ok = list && set && step_parts_open(work->facts, &parts) && stack_tree_open(work->facts, &stacks);
  filled.parts = &parts;
  filled.stacks = &stacks;
  for (uint32_t i = 0; i < count && ok; i++)
    if (all[i].wanted && !needs_gains(all[i].make)) ok = (made.at[i] = all[i].make(work)) != NULL;
  ledger_draft *draft = ok ? ledger_begin(work->facts) : NULL;
  filled.gains = work->promise.wait(work->promise.of);
  ok = draft && filled.gains;
  if (ok)
    ok = ledger_end(draft, filled.gains, &owners);
  else
    ledger_drop(draft);
  filled.ledger = &owners;
  for (uint32_t i = 0; i < count && ok; i++)
    if (all[i].wanted && needs_gains(all[i].make)) ok = (made.at[i] = all[i].make(work)) != NULL;
  ok = ok && !work->arena->failed;
  if (ok) *set = (pd_table_set){.size = sizeof *set, .tables = list->at};
  for (uint32_t i = 0; i < count && ok; i++)
    if (made.at[i]) list->at[set->count++] = made.at[i];
  step_parts_free(&parts);
  ledger_free(&owners);
  stack_tree_free(&stacks);
  return ok ? set : NULL;
}
