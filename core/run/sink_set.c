/* The sinks of a run; see sink_set.h. */
#include "sink_set.h"

#include "board.h"
#include "writing/own_place.h"
#include "base/error.h"
#include "base/log.h"

#include <stdlib.h>
#include <string.h>

typedef struct sink_row {
  const char *name;
  const pd_sink_ops *ops;
  service_host *host;
  void *state;           /* NULL: not open or dropped */
  unsigned char *failed; /* the caller's; NULL: not asked for */
  bool open;
} sink_row;

struct sink_set {
  uint32_t count, failed;
  const char *folder, *folder_fault;
  bool folder_told;
  sink_row rows[];
};

/* Whether `message` is of the folder that takes no files: its own words, or a path in it. */
static bool is_of_folder(const sink_set *set, const char *message) {
  if (!set->folder_fault[0] || !message[0]) return false;
  const size_t length = strlen(set->folder), all = strlen(set->folder_fault), own = strlen(message);
  return (own < all && strcmp(set->folder_fault + all - own, message) == 0) ||
         (strncmp(message, set->folder, length) == 0 && message[length] == '/');
}

static void report(sink_set *set, sink_row *row, pd_status status, const char *what) {
  char message[1024];
  service_host_take_message(row->host, message, sizeof message);
  set->failed++;
  if (row->failed) *row->failed = 1;
  if (is_of_folder(set, message)) {
    if (set->folder_told)
      log_line(PD_LOG_WARN, NULL, "the run goes on without sink %s, too, which writes there", row->name);
    else
      error_line_print(FAULT_OUTPUT, NULL, "%s; the run goes on without sink %s", set->folder_fault, row->name);
    set->folder_told = true;
    return;
  }
  error_line_print(FAULT_OUTPUT, NULL, "sink %s: %s: %s; the other outputs are written", row->name, what,
                   message[0] ? message : service_status_text(status));
}

static void drop(sink_set *set, sink_row *row, pd_status status, const char *what) {
  report(set, row, status, what);
  row->open = false;
  (void)row->ops->close(row->state, NULL);
  row->state = NULL;
}

sink_set *sink_set_open(const services *all, const sink_entry *entries, uint32_t count, const pd_run *run,
                        const char *folder_fault) {
  sink_set *set = calloc(1, sizeof *set + count * sizeof set->rows[0]);
  if (!set) return NULL;
  set->count = count;
  set->folder = run->trace_dir;
  set->folder_fault = folder_fault;
  for (uint32_t i = 0; i < count; i++) {
    sink_row *row = &set->rows[i];
    row->name = entries[i].name;
    row->ops = entries[i].ops;
    row->failed = entries[i].failed;
    row->host = service_host_open(all, row->name);
    if (!row->host) {
      (void)sink_set_close(set, NULL);
      return NULL;
    }
    board_enter("sink", row->name, "opening");
    const pd_status status = row->ops->open(service_host_table(row->host), entries[i].options, run, &row->state);
    board_leave();
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
    board_enter("sink", row->name, "step");
    const pd_status status = row->ops->on_step(row->state, stats);
    board_leave();
    if (status != PD_OK) drop(set, row, status, "step");
  }
}

static bool has_flag(const sink_row *row, uint32_t flag) {
  return row->ops && PD_HAS(pd_sink_ops, row->ops, flags) && row->ops->flags & flag;
}

static void give_trace(sink_set *set, sink_row *row, const pd_trace *trace) {
  if (!row->open || !PD_HAS(pd_sink_ops, row->ops, on_trace_ready) || !row->ops->on_trace_ready) return;
  board_enter("sink", row->name, "writing a window");
  const pd_status status = row->ops->on_trace_ready(row->state, trace);
  board_leave();
  if (status != PD_OK) drop(set, row, status, "writing a window");
}

void sink_set_trace(sink_set *set, const pd_trace *trace) {
  own_place_return(); /* a step may have changed it */
  for (uint32_t i = 0; i < set->count; i++)
    if (has_flag(&set->rows[i], PD_SINK_TRACE_FIRST)) give_trace(set, &set->rows[i], trace);
  for (uint32_t i = 0; i < set->count; i++)
    if (!has_flag(&set->rows[i], PD_SINK_TRACE_FIRST)) give_trace(set, &set->rows[i], trace);
}

static void close_one(sink_set *set, sink_row *row, const pd_summary *summary) {
  if (!row->open) return;
  row->open = false;
  board_enter("sink", row->name, "closing");
  const pd_status status = row->ops->close(row->state, summary);
  board_leave();
  if (status != PD_OK) report(set, row, status, "closing");
}

uint32_t sink_set_close(sink_set *set, const pd_summary *summary) {
  if (!set) return 0;
  for (uint32_t i = 0; i < set->count; i++)
    if (!has_flag(&set->rows[i], PD_SINK_CLOSES_LAST)) close_one(set, &set->rows[i], summary);
  for (uint32_t i = 0; i < set->count; i++) close_one(set, &set->rows[i], summary);
  for (uint32_t i = 0; i < set->count; i++) service_host_close(set->rows[i].host);
  const uint32_t failed = set->failed;
  free(set);
  return failed;
}
