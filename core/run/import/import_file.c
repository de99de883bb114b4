/* See import_file.h: the windows that a reader reads, and their steps. Those of a run's capture have theirs. */
#include "import_file.h"

#include "captured_run.h"
#include "import_ranges.h"
#include "import_reader.h"
#include "run/run_parts.h"
#include "base/log.h"
#include "base/progress_line.h"
#include "base/signals.h"
#include "facts/serving.h"
#include "facts/step_finder.h"
#include "ledger/verdict.h"
#include "trace/intake/intake.h"
#include "trace/recorder.h"
#include "trace/trace_steps.h"

#include <pdhost/quantity.h>
#include <pdhost/reader.h>

#include <stdlib.h>

/* A file on its way to who takes its windows. */
typedef struct import_reading {
  import_reader *from;
  const import_request *request;
  import_window *take;
  void *user;
  captured_run run;
  uint64_t bytes, of; /* read so far, and those of the file; 0: not known */
  bool is_told;       /* why it ends */
  uint64_t steps;     /* given so far, of those that are wanted */
} import_reading;

static void tell_odd(void *user, pd_odd how, const char *text) {
  const import_reading *self = user;
  log_line(how == PD_ODD_NOTE ? PD_LOG_INFO : PD_LOG_WARN, NULL, "%s: %s", self->from->path, text);
}

static void tell_damage(void *user, uint64_t count, const char *text) {
  (void)count;
  tell_odd(user, PD_ODD_DAMAGE, text);
}

static void take_record(void *user, const pd_captured *record) {
  captured_run_take(&((import_reading *)user)->run, record);
}

static int take_captured(void *user, pd_trace *trace, const capture_delivery *delivery) {
  const import_reading *self = user;
  (void)delivery;
  return self->take(self->user, self->from->path, trace);
}

static void tell_progress(void *user, uint64_t bytes, uint64_t of) {
  import_reading *self = user;
  self->bytes = bytes;
  self->of = of;
  progress_reach(bytes, of);
}

/* When the first kernel begins; INT64_MAX: none was recorded. */
static int64_t first_kernel(const pd_trace *trace) {
  for (uint64_t i = 0; i < trace->activities.count; i++) {
    const pd_device_row *row = PD_AT(pd_device_row, &trace->activities, i);
    if (row->detail.kind == PD_ACTIVITY_KERNEL) return row->start_ns;
  }
  return INT64_MAX;
}

/* A program that is recorded from its start loads the device's libraries before its first kernel: in one long call,
 * which is no launch and no copy. What a launch waits for later is no start-up. */
static void tell_start(const import_reader *self, const pd_trace *trace) {
  enum { PART = 10 };
  const pd_call *longest = NULL;
  const int64_t before = first_kernel(trace);
  for (uint64_t i = 0; i < trace->calls.count; i++) {
    const pd_call *call = PD_AT(pd_call, &trace->calls, i);
    const bool prepares = call->api == PD_API_OTHER || call->api == PD_API_ALLOC || call->api == PD_API_FREE;
    if (call->start_ns >= before || !prepares) continue;
    if (!longest || call->end_ns - call->start_ns > longest->end_ns - longest->start_ns) longest = call;
  }
  const int64_t length = longest ? longest->end_ns - longest->start_ns : 0;
  char text[32];
  if (!longest || length < trace->end_ns / PART) return;
  pd_text_time(text, sizeof text, (double)length);
  const char *name = pd_trace_string(trace, longest->name)->text;
  log_line(PD_LOG_WARN, NULL, "%s: one call%s%s took %s: the recording includes the program's start-up", self->path,
           *name ? " of " : "", name, text);
}

/* A program that does not wait for the device before its recording ends has a few of them. Where other launches have no
 * device record either, records are missing, and theirs may be among these. */
static void tell_late(const import_reader *self, const pd_trace *trace) {
  const uint64_t late = trace_late_launches(trace);
  uint64_t launches = 0, matched = 0;
  for (uint64_t i = 0; i < trace->steps.count; i++) {
    launches += PD_AT(pd_trace_step, &trace->steps, i)->launches;
    matched += PD_AT(pd_trace_step, &trace->steps, i)->matched;
  }
  if ((double)matched >= VERDICT_MIN_COVERAGE * (double)launches ||
      (double)matched < VERDICT_MIN_COVERAGE * (double)(launches - late))
    return;
  log_line(
      PD_LOG_WARN, NULL,
      "%s: launches at its end without a device record: %llu of %llu; their work may have run after the recording: "
      "synchronise with the device before it ends, or record for longer",
      self->path, (unsigned long long)late, (unsigned long long)launches);
}

/* No range has the name that the user gives. A recording cannot be repeated as easily as a command: true, and it goes
 * on without the name. */
static bool goes_without(const import_reader *self, const import_request *request, const pd_trace *trace) {
  static const char said[] = "no range has this name";
  char names[400];
  if (request->is_recording) {
    log_line(PD_LOG_WARN, NULL, "%s: --step %s: %s; steps are what the program marks, or what its launches repeat",
             self->path, request->step, said);
    return true;
  }
  import_ranges_name(trace, names, sizeof names);
  error_line_print(FAULT_WORD, NULL, "%s: --step %s: %s; %s%s", self->path, request->step, said,
                   names[0] ? "use a name of the program's own ranges, such as "
                            : "leave --step out, since no range of the file is the program's own",
                   names);
  return false;
}

/* The ranges that the user names, else marks of steps, else a server's iterations, which are `served`'s and not too
 * few, else what the launches repeat. Without any, the window is one step: its figures are then those of the whole.
 * PD_INVALID: no range has that name. */
static pd_status choose_steps(const import_reader *self, const import_request *request, found_steps *served,
                              pd_trace *trace) {
  found_steps found = {.count = 0};
  const char *name = request->step;
  pd_status status = name ? step_finder_named(trace, name, &found) : PD_OK;
  const step_bounds whole = {0, trace->end_ns + 1, 0};
  if (status == PD_OK && name && !found.count) {
    found_steps_free(&found);
    if (!goes_without(self, request, trace)) return PD_INVALID;
    name = NULL;
  }
  if (!name && trace->steps.count) return PD_OK;
  const bool is_served = !name && served->count >= STEP_FINDER_REPEATS;
  if (is_served) {
    found = *served;
    *served = (found_steps){.count = 0};
  } else if (status == PD_OK && !name) {
    status = step_finder_find(trace, &found);
  }
  if (status == PD_OK && found.count) {
    /* The report says how steps were found; that they are the user's ranges, it does not. */
    log_line(found.warm ? PD_LOG_WARN
             : name     ? PD_LOG_INFO
                        : PD_LOG_DEBUG,
             NULL, "%s: %s%s", self->path, found.words, found.warm_words);
    status = trace_set_steps(trace, found.bounds, found.count);
    if (status == PD_OK && !name) status = trace_set_steps_found(trace, found.words);
    if (name || is_served) trace->facts |= PD_FACT_STEPS;
  } else if (status == PD_OK) {
    /* The verdict says it, too. */
    log_line(PD_LOG_DEBUG, NULL, "%s: no loop found: %s; the figures are of the whole file, shown as one step",
             self->path, found.words);
    status = trace_set_steps(trace, &whole, 1);
    if (status == PD_OK) status = trace_set_steps_note(trace, found.words);
    if (status == PD_OK) tell_start(self, trace);
  }
  found_steps_free(&found);
  return status;
}

static pd_status give_steps(const import_reader *self, const import_request *request, pd_trace *trace) {
  found_steps served;
  pd_status status = serving_find(trace, &served);
  if (status == PD_OK && served.count) trace->facts |= PD_FACT_SERVING;
  if (status == PD_OK) status = choose_steps(self, request, &served, trace);
  found_steps_free(&served);
  return status;
}

/* What lies after the last step that is wanted belongs to none. */
static pd_status take_first(const import_reader *self, uint64_t wanted, pd_trace *trace) {
  const uint64_t count = trace->steps.count;
  if (count <= wanted) return PD_OK;
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

/* A stream may only have been waited for. */
static bool has_work(const pd_trace *trace, uint64_t stream) {
  for (uint64_t i = 0; i < trace->activities.count; i++)
    if (PD_AT(pd_device_row, &trace->activities, i)->stream == stream) return true;
  return false;
}

/* One verdict is made of a window, whatever ran in it. */
static void tell_devices(const import_reader *self, const pd_trace *trace) {
  uint32_t last = 0, devices = 0;
  for (uint64_t s = 0; s < trace->streams.count; s++) { /* streams of one device stand together */
    const uint32_t device = PD_AT(pd_stream_row, &trace->streams, s)->device;
    if ((devices && device == last) || !has_work(trace, s)) continue;
    devices++;
    last = device;
  }
  if (devices > 1)
    log_line(PD_LOG_WARN, NULL,
             "%s: it holds the work of %u devices, which the figures count as one; device %u, which works most, is the "
             "one described; give the file of each rank by itself to tell them apart",
             self->path, devices, trace->device->index);
}

/* One window, NULL where it went as a run's capture. PD_STOP: there is none left. */
static pd_status read_window(import_reading *self, uint32_t window, pd_trace **out) {
  const import_reader *from = self->from;
  const intake_listener listener = {self, tell_odd, tell_progress, take_record};
  intake *rows = NULL;
  *out = NULL;
  pd_status status = intake_open(&listener, &rows);
  if (status == PD_OK) status = from->ops->next_window(from->state, intake_table(rows));
  const bool captured = status == PD_OK && self->run.is_open;
  if (status == PD_OK && !captured) {
    progress_enter("sorting what was read", NULL, 0);
    status = intake_finish(rows, window, from->name, out);
    self->is_told = import_exceeds(from->path, "analyze", intake_memory(rows));
  }
  intake_close(rows);
  if (captured) return self->run.status;
  if (status == PD_OK) tell_devices(from, *out);
  if (status == PD_OK) status = give_steps(from, self->request, *out);
  const uint64_t wanted = self->request->first_steps;
  if (status == PD_OK && wanted) status = take_first(from, wanted - self->steps, *out);
  if (status == PD_OK) tell_late(from, *out);
  if (status == PD_OK) self->steps += (*out)->steps.count;
  return status;
}

static int report(const import_reading *self, pd_status status) {
  return run_parts_report(self->from->host, status, self->from->path, CODE_CONFIG);
}

/* Nothing is left to be read. `windows`: that were not a run's. */
static int end(import_reading *self, uint64_t windows) {
  captured_run_end(&self->run);
  if (self->run.status != PD_OK) return report(self, self->run.status);
  if (self->run.code != CODE_DONE) return self->run.code;
  const uint64_t wanted = self->request->first_steps;
  if (windows && wanted && self->steps < wanted)
    log_line(PD_LOG_WARN, NULL, "%s: it has %llu of the %llu steps that were asked for", self->from->path,
             (unsigned long long)self->steps, (unsigned long long)wanted);
  if (windows || self->run.windows) return CODE_DONE;
  if (self->request->is_recording) { /* it was killed early, and the recording has no fault */
    log_line(PD_LOG_WARN, NULL,
             "%s: nothing was launched before the process ended, or nothing of it was whole; there is no report of it",
             self->from->path);
    return CODE_DONE;
  }
  return import_cannot_read(self->from->path, "it holds no event that can be analysed");
}

static int read_windows(import_reading *self) {
  const uint64_t wanted = self->request->first_steps;
  for (uint32_t window = 0; !signals_pending() && !(wanted && self->steps >= wanted); window++) {
    pd_trace *trace = NULL;
    progress_enter("reading", PROGRESS_BYTE, self->of);
    progress_reach(self->bytes, self->of);
    const pd_status status = read_window(self, window, &trace);
    int code = self->run.code;
    if (status == PD_OK && trace)
      code = self->take(self->user, self->from->path, trace);
    else if (status == PD_INVALID && trace)
      code = CODE_USAGE; /* the user was told */
    else if (status != PD_OK && status != PD_STOP)
      code = self->is_told ? CODE_INTERNAL : report(self, status);
    else if (status == PD_STOP)
      code = end(self, self->run.is_open ? 0 : window);
    trace_free(trace);
    if (code != CODE_DONE || status == PD_STOP) return code;
  }
  return CODE_DONE;
}

int import_file(const services *all, config *settings, const import_request *request, const char *path,
                import_window *take, void *user) {
  import_reader reader;
  int code = import_reader_open(&reader, all, settings, request->reader, path);
  if (code != CODE_DONE) return code;
  import_reading reading = {.from = &reader, .request = request, .take = take, .user = user};
  reading.run.listener = (captured_listener){.user = &reading, .window = take_captured, .damage = tell_damage};
  code = read_windows(&reading);
  captured_run_free(&reading.run);
  import_reader_close(&reader);
  return code;
}
