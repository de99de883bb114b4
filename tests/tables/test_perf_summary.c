/* Perf Summary: hand-computed figures, and its invariants on random steps. */
#include "tables/window_tables.h"
#include "pd_test.h"

#include <pdhost/sink.h>

#include <math.h>
#include <string.h>

typedef struct rig {
  analysis *analysis;
  pd_run run;
  pd_summary summary;
} rig;

static const pd_device_props device = {.size = sizeof device, .name = "device"};

static const pd_table *summarise(rig *self, const pd_step_stats *steps, uint64_t count) {
  const analysis_context context = {.device = &device, .cores = 1};
  cr_assert_eq(analysis_open(&context, &self->analysis), PD_OK);
  const pd_analysis *table = analysis_table(self->analysis);
  self->run = (pd_run){.size = sizeof self->run, .batch_size = 8, .device = &device};
  self->summary = (pd_summary){.size = sizeof self->summary, .steps_all = {steps, count, sizeof *steps}};
  const pd_table_set *set = table->run_tables(table, &self->run, &self->summary);
  cr_assert_eq(set, table->run_tables(table, &self->run, &self->summary), "computed once");
  cr_assert_eq(set->count, 1);
  cr_assert_str_eq(set->tables[0]->id, "perf_summary");
  return set->tables[0];
}

static const pd_cell *cell(const pd_table *table, uint64_t row, const char *key) {
  for (uint32_t c = 0; c < table->column_count; c++)
    if (!strcmp(table->columns[c]->key, key)) return &PD_AT(pd_table_row, &table->rows, row)->cells[c];
  cr_assert_fail("no column %s", key);
  return NULL;
}

static void expect(const pd_table *table, uint64_t row, const char *name, const double *figures) {
  static const char *const keys[] = {"avg", "max", "min", "p50", "p95"};
  cr_assert_str_eq(cell(table, row, "name")->v.text, name);
  for (size_t i = 0; i < sizeof keys / sizeof *keys; i++) {
    const pd_cell *at = cell(table, row, keys[i]);
    cr_assert(!at->missing && at->is_double);
    cr_assert_float_eq(at->v.d, figures[i], 1e-9, "%s.%s: %.12g", name, keys[i], at->v.d);
  }
}

PD_TEST(perf_summary, figures_are_of_the_active_steps_alone) {
  /* Waits of 10..40 ms in iterations of 100, 100, 200 and 400 ms; the step before them took longest of all. */
  const pd_step_stats steps[] = {
      {.phase = PD_PHASE_WARMUP, .index = 0, .data_wait_ns = 900000000, .batch_cost_ns = 990000000},
      {.phase = PD_PHASE_ACTIVE, .index = 1, .data_wait_ns = 10000000, .batch_cost_ns = 100000000},
      {.phase = PD_PHASE_ACTIVE, .index = 2, .data_wait_ns = 20000000, .batch_cost_ns = 100000000},
      {.phase = PD_PHASE_ACTIVE, .index = 3, .data_wait_ns = 30000000, .batch_cost_ns = 200000000},
      {.phase = PD_PHASE_ACTIVE, .index = 4, .data_wait_ns = 40000000, .batch_cost_ns = 400000000}};
  rig self;
  const pd_table *table = summarise(&self, steps, 5);
  cr_assert_eq(table->rows.count, 4);
  /* 100 of 800 ms; 32 samples in 0.8 s, where the mean of the rates is 55. */
  expect(table, 0, "Reader Ratio", (const double[]){12.5, 20, 10, 12.5, 19.25});
  expect(table, 1, "reader_cost", (const double[]){0.025, 0.04, 0.01, 0.025, 0.0385});
  expect(table, 2, "batch_cost", (const double[]){0.2, 0.4, 0.1, 0.15, 0.37});
  expect(table, 3, "ips", (const double[]){40, 80, 20, 60, 80});
  cr_assert_eq(cell(table, 3, "step_count")->v.i, 4);
  cr_assert_eq(cell(table, 3, "first_step")->v.i, 1);
  cr_assert_eq(cell(table, 3, "last_step")->v.i, 4);
  analysis_close(self.analysis);
}

PD_TEST(perf_summary, a_step_without_a_duration_has_no_rate) {
  const pd_step_stats steps[] = {{.phase = PD_PHASE_SKIP, .index = 7}, {.phase = PD_PHASE_SKIP, .index = 8}};
  rig self;
  const pd_table *table = summarise(&self, steps, 2);
  expect(table, 1, "reader_cost", (const double[]){0, 0, 0, 0, 0});
  cr_assert(cell(table, 0, "avg")->missing && cell(table, 3, "max")->missing);
  analysis_close(self.analysis);
}

PD_TEST(perf_summary, a_run_without_steps_has_its_rows_and_no_figures) {
  rig self;
  const pd_table *table = summarise(&self, NULL, 0);
  cr_assert_eq(table->rows.count, 4);
  for (uint64_t row = 0; row < 4; row++)
    cr_assert(cell(table, row, "avg")->missing && cell(table, row, "p95")->missing);
  analysis_close(self.analysis);
}

PD_TEST(perf_summary, the_order_of_its_figures_holds_on_1000_random_runs) {
  static pd_step_stats steps[12];
  uint32_t seed = 11;
  for (int i = 0; i < 1000; i++) {
    const uint64_t count = 1 + (uint64_t)(i % 12);
    for (uint64_t k = 0; k < count; k++) {
      seed = seed * 1664525 + 1013904223;
      const int64_t wait = (int64_t)(seed >> 8);
      steps[k] = (pd_step_stats){.phase = k % 3 ? PD_PHASE_ACTIVE : PD_PHASE_WAIT,
                                 .index = k,
                                 .data_wait_ns = wait,
                                 .batch_cost_ns = wait + (int64_t)(seed % 7) * 1000};
    }
    rig self;
    const pd_table *table = summarise(&self, steps, count);
    for (uint64_t row = 0; row < 4; row++) {
      const double avg = cell(table, row, "avg")->v.d, min = cell(table, row, "min")->v.d;
      const double max = cell(table, row, "max")->v.d, p50 = cell(table, row, "p50")->v.d;
      cr_assert(isfinite(avg) && min <= avg && avg <= max);
      cr_assert(min <= p50 && p50 <= cell(table, row, "p95")->v.d && cell(table, row, "p95")->v.d <= max);
    }
    analysis_close(self.analysis);
  }
}
