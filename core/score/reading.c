/* See reading.h. */
#include "reading.h"

#include "window_reader.h"
#include "ledger/gains.h"
#include "tables/window_tables.h"

#include <stdio.h>
#include <string.h>

static const pd_table *find_table(const pd_table_set *set, const char *id) {
  for (uint32_t i = 0; i < set->count; i++)
    if (!strcmp(set->tables[i]->id, id)) return set->tables[i];
  return NULL;
}

/* The cell of row `row` under `key`, or NULL where there is none. */
static const pd_cell *find_cell(const pd_table *table, uint64_t row, const char *key) {
  if (!table || row >= table->rows.count) return NULL;
  for (uint32_t c = 0; c < table->column_count; c++) {
    const pd_cell *cell = &PD_AT(pd_table_row, &table->rows, row)->cells[c];
    if (!strcmp(table->columns[c]->key, key)) return cell->missing ? NULL : cell;
  }
  return NULL;
}

static double number(const pd_table *table, uint64_t row, const char *key) {
  const pd_cell *cell = find_cell(table, row, key);
  if (!cell) return 0;
  return cell->is_double ? cell->v.d : (double)cell->v.i;
}

static const char *text(const pd_table *table, uint64_t row, const char *key) {
  const pd_cell *cell = find_cell(table, row, key);
  return cell ? cell->v.text : "";
}

static void read_verdict(const pd_table_set *set, reading *out) {
  const pd_table *table = find_table(set, "verdict");
  snprintf(out->cause, sizeof out->cause, "%s", text(table, 0, "verdict_cause"));
  snprintf(out->fix, sizeof out->fix, "%s", text(table, 0, "verdict_overrides"));
  out->share = number(table, 0, "verdict_share") / 100;
  out->repeatable = number(table, 0, "verdict_repeatable") / 100;
  out->step_ns = number(table, 0, "verdict_step");
  out->expected_ns = number(table, 0, "verdict_expected");
}

static void read_ledger(const pd_table_set *set, reading *out) {
  const pd_table *table = find_table(set, "ledger");
  for (uint64_t row = 0; table && row < table->rows.count; row++) {
    if (strcmp(text(table, row, "state"), "idle") != 0) continue;
    out->idle_ns += number(table, row, "total");
    if (!strcmp(text(table, row, "cause"), "unknown")) out->unknown_ns += number(table, row, "total");
  }
}

static void read_gains(const pd_table_set *set, reading *out) {
  const pd_table *table = find_table(set, "gains");
  for (uint64_t row = 0; table && row < table->rows.count; row++)
    for (uint32_t c = 0; c < VERDICT_COUNT; c++)
      if (!strcmp(text(table, row, "removed_cause"), verdict_key(c))) {
        out->shares[c] = number(table, row, "gain") / 100;
        if (c == VERDICT_launch_bound) out->captured = number(table, row, "gain_captured") / 100;
      }
}

double reading_share(const reading *self, const char *cause) {
  for (uint32_t c = 0; c < VERDICT_COUNT; c++)
    if (!strcmp(verdict_key(c), cause)) return self->shares[c];
  return 0;
}

/* What is seen of the trace itself. */
static bool read_trace(const pd_trace *trace, reading *out) {
  trace_facts *facts = facts_open(trace);
  bool ok = facts != NULL;
  out->in_graphs = ok && facts_mostly_graphs(facts);
  out->recorded_ns = ok && facts->step_count ? (double)facts->steps_ns / (double)facts->step_count : 0;
  out->unprofiled_ns = (double)trace->unprofiled_step_ns;
  for (uint32_t i = 0; ok && i < RIVAL_COUNT; i++) {
    out->rivals[i] = rival_all[i]->judge(facts);
    ok = out->rivals[i] != NULL;
  }
  facts_close(facts);
  return ok;
}

static bool judge_window(const window_file *window, reading *out) {
  const analysis_context context = {.device = &window->device,
                                    .batch_size = window->run.batch_size,
                                    .cores = window->run.cores,
                                    .cures = window->cures,
                                    .num_workers = window->run.num_workers,
                                    .offers = window->run.offers};
  const pd_table_request request = {.size = sizeof request};
  analysis *self = NULL;
  if (analysis_open(&context, &self) != PD_OK) return false;
  const pd_analysis *tables = analysis_table(self);
  const pd_table_set *set = tables->tables(tables, &window->trace, &request);
  if (set) {
    read_verdict(set, out);
    read_ledger(set, out);
    read_gains(set, out);
  }
  out->least = window->device.is_cuda ? GAINS_LEAST_CUDA : GAINS_LEAST_OTHER;
  const bool ok = set && read_trace(&window->trace, out);
  analysis_close(self);
  return ok;
}

bool reading_of(const char *window_path, reading *out, error *err) {
  window_file window;
  *out = READING_FAILED;
  if (!window_file_read(window_path, &window, err)) return false;
  const bool ok = judge_window(&window, out);
  window_file_close(&window);
  if (!ok) error_set(err, PD_NO_MEMORY, CODE_INTERNAL, "%s: out of memory", window_path);
  return ok;
}
