/* See import_file.h: the windows that a reader reads, and their steps. */
#include "import_file.h"

#include "import_reader.h"
#include "run/run_parts.h"
#include "base/log.h"
#include "base/progress_line.h"
#include "base/signals.h"
#include "facts/step_finder.h"
#include "trace/intake/intake.h"
#include "trace/recorder.h"
#include "trace/trace_steps.h"

#include <pdhost/reader.h>

#include <stdlib.h>

static void tell_odd(void *user, pd_odd how, const char *text) {
  const import_reader *self = user;
  log_line(how == PD_ODD_NOTE ? PD_LOG_INFO : PD_LOG_WARN, NULL, "%s: %s", self->path, text);
}

static void tell_progress(void *user, uint64_t bytes, uint64_t of) {
  (void)user;
  if (of)
    progress_note("%.0f of %.0f MB", (double)bytes * 1e-6, (double)of * 1e-6);
  else
    progress_note("%.0f MB", (double)bytes * 1e-6);
}

/* The ranges that the user names, else marks, else what the launches repeat. Without any, the window is one step: its
 * figures are then those of the whole. PD_INVALID: no range has that name. */
static pd_status give_steps(const import_reader *self, const char *name, pd_trace *trace) {
  found_steps found;
  if (!name && trace->steps.count) return PD_OK;
  pd_status status = name ? step_finder_named(trace, name, &found) : step_finder_find(trace, &found);
  const step_bounds whole = {0, trace->end_ns + 1, 0};
  if (status == PD_OK && name && !found.count) {
    error_line_print(FAULT_WORD, NULL, "%s: --step %s: no range has this name; use a name of the program's own ranges",
                     self->path, name);
    status = PD_INVALID;
  } else if (status == PD_OK && found.count) {
    log_line(found.warm ? PD_LOG_WARN : PD_LOG_INFO, NULL, "%s: %s", self->path, found.words);
    status = trace_set_steps(trace, found.bounds, found.count);
    if (name) trace->facts |= PD_FACT_STEPS;
  } else if (status == PD_OK) {
    log_line(PD_LOG_WARN, NULL, "%s: %s; the figures are of the whole file, shown as one step", self->path,
             found.words);
    status = trace_set_steps(trace, &whole, 1);
  }
  found_steps_free(&found);
  return status;
}

/* What lies behind the last step that is wanted belongs to none. */
static pd_status take_first(const import_reader *self, uint64_t wanted, pd_trace *trace) {
  const uint64_t count = trace->steps.count;
  if (wanted && count < wanted)
    log_line(PD_LOG_WARN, NULL, "%s: it has %llu of the %llu steps that were asked for", self->path,
             (unsigned long long)count, (unsigned long long)wanted);
  if (!wanted || count <= wanted) return PD_OK;
  step_bounds *bounds = calloc(wanted, sizeof *bounds);
  if (!bounds) return PD_NO_MEMORY;
  for (uint64_t i = 0; i < wanted; i++) {
    const pd_trace_step *step = PD_AT(pd_trace_step, &trace->steps, i);
    bounds[i] = (step_bounds){step->start_ns, step->end_ns, step->number};
  }
  if (!(trace->facts & PD_FACT_STEPS))
    log_line(PD_LOG_WARN, NULL,
             "%s: the first %llu of the %llu steps that were found are in the report; steps that the program marks "
             "end the recording by themselves",
             self->path, (unsigned long long)wanted, (unsigned long long)count);
  const pd_status status = trace_set_steps(trace, bounds, wanted);
  free(bounds);
  return status;
}

/* One verdict is made of a window, whatever ran in it. */
static void tell_devices(const import_reader *self, const pd_trace *trace) {
  uint32_t last = 0, devices = 0;
  for (uint64_t i = 0; i < trace->streams.count; i++) { /* streams of one device stand together */
    const uint32_t device = PD_AT(pd_stream_row, &trace->streams, i)->device;
    if (!devices || device != last) devices++;
    last = device;
  }
  if (devices > 1)
    log_line(PD_LOG_WARN, NULL,
             "%s: it holds the work of %u devices, which the figures count as one; device %u, which works most, is the "
             "one described; give the file of each rank by itself to tell them apart",
             self->path, devices, trace->device->index);
}

/* One window. PD_STOP: there is none left. */
static pd_status read_window(import_reader *self, const import_request *request, uint32_t window, pd_trace **out,
                             intake **rows) {
  const intake_listener listener = {self, tell_odd, tell_progress};
  *out = NULL;
  pd_status status = intake_open(&listener, rows);
  if (status == PD_OK) status = self->ops->next_window(self->state, intake_table(*rows));
  if (status == PD_OK) {
    progress_enter("sorting what was read", NULL, 0);
    status = intake_finish(*rows, window, self->name, out);
  }
  if (status == PD_OK) tell_devices(self, *out);
  if (status == PD_OK) status = give_steps(self, request->step, *out);
  if (status == PD_OK) status = take_first(self, request->first_steps, *out);
  return status;
}

static int read_windows(import_reader *self, const import_request *request, import_window *take, void *user) {
  for (uint32_t window = 0; !signals_pending(); window++) {
    intake *rows = NULL;
    pd_trace *trace = NULL;
    progress_enter("reading", NULL, 0);
    const pd_status status = read_window(self, request, window, &trace, &rows);
    int code = CODE_DONE;
    if (status == PD_OK)
      code = take(user, self->path, trace);
    else if (status == PD_INVALID && trace)
      code = CODE_USAGE; /* the user was told */
    else if (status != PD_STOP)
      code = run_parts_report(self->host, status, self->path, CODE_CONFIG);
    else if (!window)
      code = import_cannot_read(self->path, "it holds no event that can be analysed");
    trace_free(trace);
    intake_close(rows);
    if (code != CODE_DONE || status == PD_STOP) return code;
  }
  return CODE_DONE;
}

int import_file(const services *all, config *settings, const import_request *request, const char *path,
                import_window *take, void *user) {
  import_reader reader;
  int code = import_reader_open(&reader, all, settings, request->reader, path);
  if (code != CODE_DONE) return code;
  code = read_windows(&reader, request, take, user);
  import_reader_close(&reader);
  return code;
}
