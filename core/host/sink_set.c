/* The sinks of a run; see sink_set.h. */
#include "sink_set.h"

#include "log.h"

#include <stdlib.h>

typedef struct sink_row {
  const char *name;
  const pd_sink_ops *ops;
  service_host *host;
  void *state; /* NULL: not open or dropped */
  bool open;
} sink_row;

struct sink_set {
  uint32_t count, failed;
  sink_row rows[];
};

static void report(sink_set *set, sink_row *row, pd_status status, const char *what) {
  char message[1024];
  service_host_take_message(row->host, message, sizeof message);
  log_line(PD_LOG_ERROR, NULL, "sink %s: %s: %s; the run goes on without it", row->name, what,
           message[0] ? message : service_status_text(status));
  set->failed++;
}

static void drop(sink_set *set, sink_row *row, pd_status status, const char *what) {
  report(set, row, status, what);
  row->open = false;
  (void)row->ops->close(row->state, NULL);
  row->state = NULL;
}

sink_set *sink_set_open(const services *all, const sink_entry *entries, uint32_t count, const pd_run *run) {
  sink_set *set = calloc(1, sizeof *set + count * sizeof set->rows[0]);
  if (!set) return NULL;
  set->count = count;
  for (uint32_t i = 0; i < count; i++) {
    sink_row *row = &set->rows[i];
    row->name = entries[i].name;
    row->ops = entries[i].ops;
    row->host = service_host_open(all, row->name);
    if (!row->host) {
      (void)sink_set_close(set, NULL);
      return NULL;
    }
    const pd_status status = row->ops->open(service_host_table(row->host), entries[i].options, run, &row->state);
    if (status == PD_OK)
      row->open = true;
    else
      report(set, row, status, "cannot be opened");
  }
  return set;
}

void sink_set_step(sink_set *set, const pd_step_stats *stats) {
  for (uint32_t i = 0; i < set->count; i++) {
    sink_row *row = &set->rows[i];
    if (!row->open || !PD_HAS(pd_sink_ops, row->ops, on_step) || !row->ops->on_step) continue;
    const pd_status status = row->ops->on_step(row->state, stats);
    if (status != PD_OK) drop(set, row, status, "step");
  }
}

void sink_set_trace(sink_set *set, const pd_trace *trace) {
  for (uint32_t i = 0; i < set->count; i++) {
    sink_row *row = &set->rows[i];
    if (!row->open || !PD_HAS(pd_sink_ops, row->ops, on_trace_ready) || !row->ops->on_trace_ready) continue;
    const pd_status status = row->ops->on_trace_ready(row->state, trace);
    if (status != PD_OK) drop(set, row, status, "writing a window");
  }
}

uint32_t sink_set_close(sink_set *set, const pd_summary *summary) {
  if (!set) return 0;
  for (uint32_t i = 0; i < set->count; i++) {
    sink_row *row = &set->rows[i];
    if (row->open) {
      row->open = false;
      const pd_status status = row->ops->close(row->state, summary);
      if (status != PD_OK) report(set, row, status, "closing");
    }
    service_host_close(row->host);
  }
  const uint32_t failed = set->failed;
  free(set);
  return failed;
}
