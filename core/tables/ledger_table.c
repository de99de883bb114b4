/* The ledger as tables: over all steps, and step by step. */
#include "step_sums.h"
#include "tables.h"

const pd_table *ledger_table(const table_work *work) {
  static const struct {
    const char *state, *text;
  } rows[LEDGER_OWNER_COUNT] = {
#define X(key, state, text) {state, text},
      LEDGER_MAP(X)
#undef X
  };
  const trace_facts *facts = work->facts;
  table_build table;
  table_begin(&table, work->arena, work->is_cuda, "ledger", "Ledger of the device's time",
              "Each moment of a step has one owner; the rows add up to the steps exactly.");
  if (facts->has_communication)
    table_note(&table,
               "How much of the communication is a wait for other ranks, all ranks together show: ranks_ledger.");
  TABLE_COLUMNS(&table, M_category, M_cause, M_state, M_total, M_per_step, M_share);
  for (uint32_t cause = 0; cause < LEDGER_OWNER_COUNT; cause++) {
    table_row(&table, 0);
    table_string(&table, M_category, rows[cause].text);
    table_string(&table, M_cause, ledger_key(cause));
    table_string(&table, M_state, rows[cause].state);
    step_sum_cells(&table, facts, work->ledger->rows + cause, LEDGER_OWNER_COUNT);
  }
  table_footer(&table, "Steps");
  step_sum_cells(&table, facts, NULL, 0);
  return table_done(&table);
}

const pd_table *ledger_steps_table(const table_work *work) {
  static const metric_id metrics[LEDGER_OWNER_COUNT] = {
#define X(key, state, text) M_ledger_##key,
      LEDGER_MAP(X)
#undef X
  };
  const trace_facts *facts = work->facts;
  table_build table;
  table_begin(&table, work->arena, work->is_cuda, "ledger_steps", "Ledger of each step",
              "The causes of a step add up to its span exactly.");
  TABLE_COLUMNS(&table, M_step, M_step_span);
  table_columns(&table, metrics, LEDGER_OWNER_COUNT);
  for (uint64_t s = 0; s < facts->step_count; s++) {
    const pd_trace_step *step = facts_step(facts, s);
    table_row(&table, 0);
    table_int(&table, M_step, (int64_t)step->number);
    table_int(&table, M_step_span, facts_span(step->start_ns, step->end_ns));
    for (uint32_t cause = 0; cause < LEDGER_OWNER_COUNT; cause++)
      table_int(&table, metrics[cause], work->ledger->rows[s * LEDGER_OWNER_COUNT + cause]);
  }
  step_column_digits(&table, (const metric_id[]){M_step_span}, 1);
  step_column_digits(&table, metrics, LEDGER_OWNER_COUNT);
  return table_done(&table);
}
