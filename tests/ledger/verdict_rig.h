/* Suites of the verdict: its row, and what a row of a withheld one has. */
#ifndef TESTS_LEDGER_VERDICT_RIG_H
#define TESTS_LEDGER_VERDICT_RIG_H

#include "analysis_rig.h"
#include "ledger/verdict.h"

static inline const pd_table_row *verdict_row(const analysis_rig *rig, const pd_table **table) {
  *table = rig_table(rig, "verdict");
  cr_assert_eq((*table)->rows.count, 1);
  const pd_table_row *row = rig_row_at(*table, 0);
  cr_assert_eq(row->flags, PD_ROW_RECORD);
  return row;
}

static inline void withheld(analysis_rig *rig, const char *reason) {
  const pd_table *table;
  const pd_table_row *row = verdict_row(rig, &table);
  cr_assert_str_eq(rig_text(table, row, "verdict"), reason);
  cr_assert_str_eq(rig_text(table, row, "verdict_cause"), "withheld");
  cr_assert(rig_cell(table, row, "verdict_share")->missing);
  cr_assert(rig_cell(table, row, "verdict_next")->missing);
  cr_assert_gt(strlen(rig_text(table, row, "verdict_helps")), 20);
}

#endif
