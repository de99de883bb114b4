/* See window_events.h. */
#include "window_events.h"

#include "histogram.h"
#include "markdown.h"

#include <pdhost/series_counters.h>

#include <ctype.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

enum { TABLE_ROWS = 100 };

static event_place place_of(record_file *file, const pd_trace *trace, uint32_t step) {
  const pd_trace_step *at = PD_AT(pd_trace_step, &trace->steps, step);
  return (event_place){file, trace->base_ns + at->end_ns, (int64_t)at->number};
}

static const pd_table *find_table(const pd_table_set *tables, const char *id) {
  for (uint32_t i = 0; tables && i < tables->count; i++)
    if (!strcmp(tables->tables[i]->id, id)) return tables->tables[i];
  return NULL;
}

/* Cell `key` of step `i`; NULL where the table has no figure there. */
static const pd_cell *step_cell(const pd_table *steps, uint32_t i, const char *key) {
  for (uint32_t c = 0; c < steps->column_count; c++) {
    const pd_cell *cell = &PD_AT(pd_table_row, &steps->rows, i)->cells[c];
    if (!strcmp(steps->columns[c]->key, key)) return cell->missing ? NULL : cell;
  }
  return NULL;
}

/* What the device did in each step, as the analysis has it. */
static pd_status write_steps(record_file *file, const pd_trace *trace, const pd_table *steps) {
  pd_status status = PD_OK;
  for (uint32_t i = 0; i < trace->steps.count && i < steps->rows.count && status == PD_OK; i++) {
    const event_place place = place_of(file, trace, i);
    const pd_cell *busy = step_cell(steps, i, "device_busy"), *span = step_cell(steps, i, "step_span");
    const pd_cell *launches = step_cell(steps, i, "launches");
    if (busy && span)
      status = events_scalar(&place, "device/busy_share", span->v.i > 0 ? (double)busy->v.i / (double)span->v.i : 0);
    if (status == PD_OK && launches) status = events_scalar(&place, "device/launches", (double)launches->v.i);
  }
  return status;
}

static double step_us(const pd_trace *trace, uint64_t i) {
  return (double)PD_AT(pd_trace_step, &trace->steps, i)->step_time_ns / 1e3;
}

/* Kernel durations, or delays from a launch to its kernel's start; returns how many. */
static uint64_t collect(const pd_trace *trace, bool delays, double *values) {
  uint64_t count = 0;
  for (uint64_t i = 0; i < trace->activities.count; i++) {
    const pd_device_row *row = PD_AT(pd_device_row, &trace->activities, i);
    if (row->detail.kind != PD_ACTIVITY_KERNEL) continue;
    if (!delays)
      values[count++] = (double)(row->end_ns - row->start_ns) / 1e3;
    else if (row->call != PD_NONE)
      values[count++] = (double)(row->start_ns - PD_AT(pd_call, &trace->calls, row->call)->start_ns) / 1e3;
  }
  return count;
}

static pd_status write_histogram(const event_place *place, const char *tag, const char *description,
                                 const double *values, uint64_t count) {
  double rows[HISTOGRAM_BUCKETS * 3];
  const uint32_t row_count = histogram_fill(values, count, rows);
  return row_count ? events_histogram(place, tag, description, rows, row_count) : PD_OK;
}

static pd_status write_histograms(const event_place *place, const pd_trace *trace) {
  const uint64_t room = trace->activities.count + trace->steps.count;
  double *values = malloc((room ? room : 1) * sizeof *values);
  if (!values) return PD_NO_MEMORY;
  for (uint64_t i = 0; i < trace->steps.count; i++) values[i] = step_us(trace, i);
  pd_status status = write_histogram(place, "histograms/step_time_us", "step time of the window's steps, us", values,
                                     trace->steps.count);
  if (status == PD_OK)
    status = write_histogram(place, "histograms/kernel_duration_us", "duration of every kernel of the window, us",
                             values, collect(trace, false, values));
  if (status == PD_OK)
    status = write_histogram(place, "histograms/launch_latency_us",
                             "from the start of a launch to the start of its kernel, us", values,
                             collect(trace, true, values));
  free(values);
  return status;
}

/* Where the device's time went, one chart per owner of the ledger; owners that never own anything have none. */
static pd_status write_ledger(record_file *file, const pd_trace *trace, const pd_table *ledger) {
  static const char prefix[] = "ledger_";
  pd_status status = PD_OK;
  for (uint32_t c = 0; c < ledger->column_count && status == PD_OK; c++) {
    const char *key = ledger->columns[c]->key;
    bool owns = false;
    if (strncmp(key, prefix, sizeof prefix - 1) != 0) continue;
    for (uint64_t i = 0; i < ledger->rows.count; i++)
      owns = owns || PD_AT(pd_table_row, &ledger->rows, i)->cells[c].v.i != 0;
    for (uint64_t i = 0; owns && i < ledger->rows.count && i < trace->steps.count && status == PD_OK; i++) {
      const event_place place = place_of(file, trace, (uint32_t)i);
      markdown tag = {0};
      markdown_add(&tag, "ledger/%s_us", key + sizeof prefix - 1);
      status = tag.failed ? PD_NO_MEMORY
                          : events_scalar(&place, tag.text,
                                          (double)PD_AT(pd_table_row, &ledger->rows, i)->cells[c].v.i * 1e-3);
      markdown_free(&tag);
    }
  }
  return status;
}

/* The step that runs then; the last one before, where none does. */
static uint32_t step_then(const pd_trace *trace, int64_t ts_ns) {
  uint32_t step = 0;
  while (step + 1 < trace->steps.count && PD_AT(pd_trace_step, &trace->steps, step)->end_ns <= ts_ns) step++;
  return step;
}

/* Letters and digits of the name, "_" between them. */
static void series_tag(const char *name, char *tag, size_t room) {
  size_t used = (size_t)snprintf(tag, room, "series/");
  for (bool gap = false; *name && used + 2 < room; name++) {
    const bool plain = isalnum((unsigned char)*name) != 0;
    if (plain && gap) tag[used++] = '_';
    if (plain) tag[used++] = *name;
    gap = !plain;
  }
  tag[used] = 0;
}

/* What was looked at in equal spans, at its moment and the step that ran then. */
static pd_status write_series(record_file *file, const pd_trace *trace) {
  pd_status status = PD_OK;
  for (uint64_t i = 0; trace->steps.count && i < trace->counters.count && status == PD_OK; i++) {
    const pd_counter_row *row = PD_AT(pd_counter_row, &trace->counters, i);
    char tag[128];
    if (!pd_is_series(trace, row)) continue;
    series_tag(pd_trace_string(trace, row->name)->text, tag, sizeof tag);
    const event_place place = {file, trace->base_ns + row->ts_ns,
                               (int64_t)PD_AT(pd_trace_step, &trace->steps, step_then(trace, row->ts_ns))->number};
    status = events_scalar(&place, tag, row->value);
  }
  return status;
}

pd_status window_events_tables(const event_place *place, const pd_table_set *tables) {
  pd_status status = PD_OK;
  for (uint32_t i = 0; tables && i < tables->count && status == PD_OK; i++) {
    markdown text = {0};
    markdown tag = {0};
    markdown_add(&tag, "tables/%s", tables->tables[i]->id);
    markdown_table(&text, tables->tables[i], TABLE_ROWS);
    status = text.failed || tag.failed ? PD_NO_MEMORY : events_text(place, tag.text, text.text);
    markdown_free(&text);
    markdown_free(&tag);
  }
  return status;
}

pd_status window_events_write(record_file *file, const pd_trace *trace, const pd_table_set *tables) {
  const pd_table *steps = find_table(tables, "active_steps"), *ledger = find_table(tables, "ledger_steps");
  pd_status status = steps ? write_steps(file, trace, steps) : PD_OK;
  if (status == PD_OK && ledger) status = write_ledger(file, trace, ledger);
  if (status == PD_OK) status = write_series(file, trace);
  event_place place = {file, trace->base_ns + trace->end_ns, 0};
  if (trace->steps.count) place = place_of(file, trace, (uint32_t)trace->steps.count - 1);
  if (status == PD_OK) status = write_histograms(&place, trace);
  if (status == PD_OK) status = window_events_tables(&place, tables);
  return status;
}
