/* Fuzzing a reader: any bytes, as a file, end in windows or a status, and a window keeps what trace.h promises. Each
 * target includes this beside its reader's sources. */
#ifndef TESTS_FUZZ_FUZZ_READER_H
#define TESTS_FUZZ_FUZZ_READER_H

#include "fuzz.h"

#include "facts/step_finder.h"
#include "trace/intake/intake.h"
#include "trace/recorder.h"

static pd_status fail(const pd_host *host, pd_status code, const char *format, ...) {
  (void)host;
  (void)format;
  return code;
}

static void hold(bool promise) {
  if (!promise) abort();
}

static void check_trace(const pd_trace *trace) {
  for (uint64_t i = 0; i < trace->ranges.count; i++) {
    const pd_range *range = PD_AT(pd_range, &trace->ranges, i);
    hold(range->start_ns <= range->end_ns && range->thread < trace->threads.count);
    if (range->parent == PD_NONE) continue;
    const pd_range *outer = PD_AT(pd_range, &trace->ranges, range->parent);
    hold(range->parent < i && outer->thread == range->thread);
    hold(outer->start_ns <= range->start_ns && range->end_ns <= outer->end_ns);
  }
  for (uint64_t i = 0; i < trace->calls.count; i++) {
    const pd_call *call = PD_AT(pd_call, &trace->calls, i);
    hold(call->thread < trace->threads.count && (call->range == PD_NONE || call->range < trace->ranges.count));
    hold((uint64_t)call->activity_first + call->activity_count <= trace->activities_by_call.count);
    hold(!i || PD_AT(pd_call, &trace->calls, i - 1)->start_ns <= call->start_ns);
  }
  for (uint64_t i = 0; i < trace->activities.count; i++) {
    const pd_device_row *row = PD_AT(pd_device_row, &trace->activities, i);
    hold(row->stream < trace->streams.count && (row->call == PD_NONE || row->call < trace->calls.count));
    hold(row->step == PD_NONE || row->step < trace->steps.count);
  }
}

/* False: there is none left. */
static bool read_window(const pd_reader_ops *ops, void *state) {
  intake *rows;
  pd_trace *trace;
  found_steps found;
  if (intake_open(NULL, &rows) != PD_OK) return false;
  const bool read = ops->next_window(state, intake_table(rows)) == PD_OK;
  if (read && intake_finish(rows, 0, "fuzz", &trace) == PD_OK) {
    check_trace(trace);
    if (step_finder_find(trace, &found) == PD_OK && found.count)
      hold(trace_set_steps(trace, found.bounds, found.count) == PD_OK);
    found_steps_free(&found);
    check_trace(trace);
    trace_free(trace);
  }
  intake_close(rows);
  return read;
}

static int fuzz_reader(const uint8_t *data, size_t bytes, const void *options) {
  enum { MOST_WINDOWS = 8 };
  const pd_plugin *table = pd_plugin_entry();
  const pd_host host = {.size = sizeof host, .fail = fail};
  char path[64];
  void *state = NULL;
  (void)table->ops.reader->probe("fuzz", data, bytes);
  if (fuzz_file(data, bytes, path) && table->ops.reader->open(&host, options, path, &state) == PD_OK) {
    for (int i = 0; i < MOST_WINDOWS && read_window(table->ops.reader, state); i++)
      ;
    table->ops.reader->close(state);
  }
  (void)unlink(path);
  return 0;
}

#endif
