/* Suites of the analysis: the tables of a fake trace, and their cells by row name and metric key. */
#ifndef TESTS_SUPPORT_ANALYSIS_RIG_H
#define TESTS_SUPPORT_ANALYSIS_RIG_H

#include "tables/window_tables.h"
#include "fake_trace.h"
#include "pd_test.h"

#include <string.h>

typedef struct analysis_rig {
  fake_trace *fake;
  pd_trace *trace;
  analysis *analysis;
  pd_table_request request;
} analysis_rig;

static inline void rig_begin(analysis_rig *rig) {
  memset(rig, 0, sizeof *rig);
  rig->fake = fake_trace_open();
  cr_assert_not_null(rig->fake);
  rig->request.size = sizeof rig->request;
}

/* An analysis of what fake_device() ran, with every table. */
static inline analysis *rig_analysis(void) {
  analysis *self = NULL;
  const analysis_context context = {.device = fake_device(),
                                    .batch_size = 4,
                                    .with_flops = true,
                                    .with_modules = true,
                                    .profile_memory = true,
                                    .tf32 = true,
                                    .cores = 2};
  cr_assert_eq(analysis_open(&context, &self), PD_OK);
  return self;
}

/* No more rows: the trace is finished and its tables may be asked for. */
static inline void rig_finish(analysis_rig *rig) {
  rig->trace = fake_trace_finish(rig->fake);
  cr_assert_not_null(rig->trace);
  rig->analysis = rig_analysis();
}

static inline void rig_end(analysis_rig *rig) {
  analysis_close(rig->analysis);
  fake_trace_close(rig->fake);
}

static inline const pd_table_set *rig_tables(const analysis_rig *rig) {
  const pd_analysis *table = analysis_table(rig->analysis);
  const pd_table_set *set = table->tables(table, rig->trace, &rig->request);
  cr_assert_not_null(set);
  return set;
}

static inline const pd_table *rig_table(const analysis_rig *rig, const char *id) {
  const pd_table_set *set = rig_tables(rig);
  for (uint32_t i = 0; i < set->count; i++)
    if (!strcmp(set->tables[i]->id, id)) return set->tables[i];
  cr_assert_fail("no table %s", id);
  return NULL;
}

static inline uint32_t rig_column(const pd_table *table, const char *key) {
  for (uint32_t c = 0; c < table->column_count; c++)
    if (!strcmp(table->columns[c]->key, key)) return c;
  cr_assert_fail("table %s has no column %s", table->id, key);
  return 0;
}

static inline const pd_table_row *rig_row_at(const pd_table *table, uint64_t i) {
  cr_assert_lt(i, table->rows.count, "table %s has only %llu rows", table->id, (unsigned long long)table->rows.count);
  return PD_AT(pd_table_row, &table->rows, i);
}

/* The row whose first cell is `name`; the n-th of them. */
static inline const pd_table_row *rig_row_n(const pd_table *table, const char *name, int n) {
  for (uint64_t i = 0; i < table->rows.count; i++) {
    const pd_table_row *row = rig_row_at(table, i);
    if (!row->cells[0].missing && !strcmp(row->cells[0].v.text, name) && !n--) return row;
  }
  cr_assert_fail("table %s has no row %s", table->id, name);
  return NULL;
}
static inline const pd_table_row *rig_row(const pd_table *table, const char *name) { return rig_row_n(table, name, 0); }

static inline bool rig_has_row(const pd_table *table, const char *name) {
  for (uint64_t i = 0; i < table->rows.count; i++)
    if (!strcmp(rig_row_at(table, i)->cells[0].v.text, name)) return true;
  return false;
}

static inline const pd_cell *rig_cell(const pd_table *table, const pd_table_row *row, const char *key) {
  return &row->cells[rig_column(table, key)];
}
static inline int64_t rig_int(const pd_table *table, const pd_table_row *row, const char *key) {
  const pd_cell *cell = rig_cell(table, row, key);
  cr_assert(!cell->missing && !cell->is_double, "table %s: cell %s holds no integer", table->id, key);
  return cell->v.i;
}
static inline double rig_double(const pd_table *table, const pd_table_row *row, const char *key) {
  const pd_cell *cell = rig_cell(table, row, key);
  cr_assert(!cell->missing && cell->is_double, "table %s: cell %s holds no double", table->id, key);
  return cell->v.d;
}
static inline const char *rig_text(const pd_table *table, const pd_table_row *row, const char *key) {
  const pd_cell *cell = rig_cell(table, row, key);
  cr_assert(!cell->missing, "table %s: cell %s is missing", table->id, key);
  return cell->v.text;
}

/* The cell `key` of row `name` of table `id` is `value`. */
#define RIG_INT(rig, id, name, key, value)                                                                             \
  do {                                                                                                                 \
    const pd_table *rig_t_ = rig_table(rig, id);                                                                       \
    int64_t rig_is_ = rig_int(rig_t_, rig_row(rig_t_, name), key);                                                     \
    cr_assert_eq(rig_is_, (int64_t)(value), "%s: %s of %s is %lld, not %lld", id, key, name, (long long)rig_is_,       \
                 (long long)(value));                                                                                  \
  } while (0)
#define RIG_DOUBLE(rig, id, name, key, value)                                                                          \
  do {                                                                                                                 \
    const pd_table *rig_t_ = rig_table(rig, id);                                                                       \
    double rig_is_ = rig_double(rig_t_, rig_row(rig_t_, name), key), rig_d_ = rig_is_ - (value);                       \
    cr_assert(rig_d_<1e-9 && rig_d_> - 1e-9, "%s: %s of %s is %.17g, not %.17g", id, key, name, rig_is_,               \
              (double)(value));                                                                                        \
  } while (0)
#define RIG_MISSING(rig, id, name, key)                                                                                \
  do {                                                                                                                 \
    const pd_table *rig_t_ = rig_table(rig, id);                                                                       \
    cr_assert(rig_cell(rig_t_, rig_row(rig_t_, name), key)->missing, "%s: %s of %s has a value", id, key, name);       \
  } while (0)

#endif
