/* See window_events.h. */
#include "window_events.h"

#include "histogram.h"
#include "markdown.h"

#include <stdlib.h>
#include <string.h>

enum { TABLE_ROWS = 100 };

/* Adds [start, end) of the device's time to the steps it lies in. Calls come in order of time; steps are back to back.
 */
static void add_busy(const pd_trace *trace, int64_t *busy_ns, uint64_t *step, int64_t start_ns, int64_t end_ns) {
  for (; *step < trace->steps.count; ++*step) {
    const pd_trace_step *at = PD_AT(pd_trace_step, &trace->steps, *step);
    const int64_t from = start_ns > at->start_ns ? start_ns : at->start_ns;
    const int64_t to = end_ns < at->end_ns ? end_ns : at->end_ns;
    if (to > from) busy_ns[*step] += to - from;
    if (end_ns < at->end_ns) return;
  }
}

/* How long the device worked in each step, on anything. Rows are sorted by start, so their union is one pass. */
static void find_busy(const pd_trace *trace, int64_t *busy_ns) {
  int64_t covered_ns = INT64_MIN;
  uint64_t step = 0;
  for (uint64_t i = 0; i < trace->activities.count; i++) {
    const pd_device_row *row = PD_AT(pd_device_row, &trace->activities, i);
    const int64_t start_ns = row->start_ns > covered_ns ? row->start_ns : covered_ns;
    if (row->end_ns <= start_ns) continue;
    add_busy(trace, busy_ns, &step, start_ns, row->end_ns);
    covered_ns = row->end_ns;
  }
}

static event_place place_of(record_file *file, const pd_trace *trace, uint32_t step) {
  const pd_trace_step *at = PD_AT(pd_trace_step, &trace->steps, step);
  return (event_place){file, trace->base_ns + at->end_ns, (int64_t)at->number};
}

static pd_status write_steps(record_file *file, const pd_trace *trace) {
  int64_t *busy_ns = calloc(trace->steps.count ? trace->steps.count : 1, sizeof *busy_ns);
  if (!busy_ns) return PD_NO_MEMORY;
  find_busy(trace, busy_ns);
  pd_status status = PD_OK;
  for (uint32_t i = 0; i < trace->steps.count && status == PD_OK; i++) {
    const pd_trace_step *step = PD_AT(pd_trace_step, &trace->steps, i);
    const event_place place = place_of(file, trace, i);
    const int64_t span_ns = step->end_ns - step->start_ns;
    status = events_scalar(&place, "device/busy_share", span_ns > 0 ? (double)busy_ns[i] / (double)span_ns : 0);
    if (status == PD_OK) status = events_scalar(&place, "device/launches", (double)step->launches);
  }
  free(busy_ns);
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
    for (uint64_t i = 0; owns && i < ledger->rows.count && status == PD_OK; i++) {
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

static pd_status write_tables(const event_place *place, const pd_table_set *tables) {
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
  pd_status status = write_steps(file, trace);
  for (uint32_t i = 0; tables && i < tables->count && status == PD_OK; i++)
    if (!strcmp(tables->tables[i]->id, "ledger_steps")) status = write_ledger(file, trace, tables->tables[i]);
  event_place place = {file, trace->base_ns + trace->end_ns, 0};
  if (trace->steps.count) place = place_of(file, trace, (uint32_t)trace->steps.count - 1);
  if (status == PD_OK) status = write_histograms(&place, trace);
  if (status == PD_OK) status = write_tables(&place, tables);
  return status;
}
