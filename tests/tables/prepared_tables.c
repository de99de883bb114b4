/* Tables whose making was begun on another thread before they were asked for, and tables that two threads make. */
#include "analysis_rig.h"
#include "big_trace.h"

#include <sched.h>

static void check_same_cell(const pd_table *table, uint32_t column, const pd_cell *cell, const pd_cell *other) {
  cr_assert_eq(cell->missing, other->missing, "%s: %s", table->id, table->columns[column]->key);
  if (cell->missing) return;
  if (table->columns[column]->unit == PD_UNIT_TEXT)
    cr_assert_str_eq(cell->v.text, other->v.text);
  else
    cr_assert_eq(cell->v.i, other->v.i, "%s: %s", table->id, table->columns[column]->key);
}

static void check_same(const pd_table_set *set, const pd_table_set *other) {
  cr_assert_eq(set->count, other->count);
  for (uint32_t t = 0; t < set->count; t++) {
    const pd_table *table = set->tables[t], *same = other->tables[t];
    cr_assert_str_eq(table->id, same->id);
    cr_assert_str_eq(table->title, same->title);
    cr_assert_eq(!table->note, !same->note, "%s", table->id);
    if (table->note) cr_assert_str_eq(table->note, same->note);
    cr_assert_eq(table->column_count, same->column_count, "%s", table->id);
    cr_assert_eq(table->rows.count, same->rows.count, "%s", table->id);
    for (uint64_t r = 0; r < table->rows.count; r++)
      for (uint32_t c = 0; c < table->column_count; c++)
        check_same_cell(table, c, &rig_row_at(table, r)->cells[c], &rig_row_at(same, r)->cells[c]);
    cr_assert_eq(!table->footer, !same->footer, "%s", table->id);
    for (uint32_t c = 0; table->footer && c < table->column_count; c++)
      check_same_cell(table, c, &table->footer->cells[c], &same->footer->cells[c]);
  }
}

/* Another analysis, of the same trace. */
static analysis *rig_training(analysis_rig *rig) {
  rig_begin(rig);
  fake_trace_training(rig->fake, 3, 2);
  rig_finish(rig);
  return rig_analysis();
}

PD_TEST(analysis, what_was_prepared_is_what_is_made_at_once) {
  analysis_rig rig;
  analysis *other = rig_training(&rig);
  const pd_analysis *table = analysis_table(other);
  table->prepare(table, rig.trace);
  table->prepare(table, rig.trace); /* it is under way */
  const pd_table_set *prepared = table->tables(table, rig.trace, &rig.request);
  cr_assert_not_null(prepared);
  check_same(prepared, rig_tables(&rig));
  table->prepare(table, rig.trace); /* it is done */
  cr_assert_eq(prepared, table->tables(table, rig.trace, &rig.request));
  analysis_forget(other, rig.trace);
  table->prepare(table, rig.trace);
  analysis_forget(other, rig.trace); /* nobody asked for it */
  table->prepare(table, rig.trace);
  analysis_close(other);
  rig_end(&rig);
}

/* From 100000 rows on, two threads make the tables, where there are several processors. */
PD_TEST(analysis, tables_that_two_threads_make_are_those_of_one) {
  const pd_table_request request = {.size = sizeof request};
  big_trace big;
  cpu_set_t one;
  cr_assert(big_trace_open(&big, 20));
  cr_assert_gt(big.trace.ranges.count + big.trace.activities.count, 100000);
  analysis *first = rig_analysis(), *second = rig_analysis();
  const pd_table_set *both = analysis_table(first)->tables(analysis_table(first), &big.trace, &request);
  CPU_ZERO(&one);
  CPU_SET((size_t)sched_getcpu(), &one);
  cr_assert_eq(sched_setaffinity(0, sizeof one, &one), 0);
  const pd_table_set *alone = analysis_table(second)->tables(analysis_table(second), &big.trace, &request);
  cr_assert(both && alone);
  check_same(both, alone);
  analysis_close(first);
  analysis_close(second);
  big_trace_close(&big);
}

PD_TEST(analysis, what_a_request_leaves_out_is_the_same_as_its_default) {
  analysis_rig rig;
  analysis *other = rig_training(&rig);
  const pd_analysis *table = analysis_table(other);
  pd_table_request request = {.size = sizeof request, .sort_by = "self_cuda_time_total", .sorted_by = "CPUTotal"};
  const pd_table_set *left_out = table->tables(table, rig.trace, NULL);
  cr_assert_eq(left_out, table->tables(table, rig.trace, &request));
  request.sorted_by = "CPUMin";
  cr_assert_neq(left_out, table->tables(table, rig.trace, &request));
  analysis_close(other);
  rig_end(&rig);
}
