/* Conformance checks of sinks: life cycle, each bound, four kinds of trace, a full disk; see check_list.h. */
#include "check_failures.h"
#include "check_folder.h"
#include "check_process.h"
#include "check_trace.h"
#include "tables/window_tables.h"

/* How far a life goes before close. */
typedef struct life {
  bool steps, summary; /* on_step was called; close gets a summary, else NULL */
  bool disk_full;
  uint32_t trace_count;
  check_trace_kind traces[2];
} life;

typedef struct services {
  check_host host;
  recorder *recorder;
  analysis *analysis;
} services;

static pd_status open_services(services *self) {
  const recorder_options options = {.max_bytes = 64 << 20, .record_shapes = true, .profile_memory = true};
  const analysis_context context = {
      .device = check_device_props(), .batch_size = 2, .profile_memory = true, .cores = 1};
  check_host_init(&self->host);
  self->recorder = NULL;
  self->analysis = NULL;
  pd_status status = recorder_open(&options, &self->recorder);
  if (status == PD_OK) status = analysis_open(&context, &self->analysis);
  if (status != PD_OK) return status;
  analysis_window_begin(self->analysis);
  analysis_window_end(self->analysis);
  self->host.analysis = analysis_table(self->analysis);
  self->host.own_record = recorder_table(self->recorder);
  return PD_OK;
}

static void close_services(services *self) {
  analysis_close(self->analysis);
  recorder_close(self->recorder);
}

static check_verdict give_traces(services *all, const pd_sink_ops *ops, void *state, const life *what,
                                 pd_status *status) {
  for (uint32_t i = 0; i < what->trace_count && *status == PD_OK; i++) {
    pd_trace *trace = NULL;
    const pd_status made = check_trace_make(all->recorder, what->traces[i], i, &trace);
    if (made != PD_OK) return check_verdict_of(CHECK_BROKEN, "no trace could be made (%d)", made);
    if (ops->on_trace_ready) *status = ops->on_trace_ready(state, trace);
    analysis_forget(all->analysis, trace);
    trace_free(trace);
  }
  return check_ok();
}

static check_verdict judge(const services *all, const life *what, pd_status status) {
  const check_host *host = &all->host;
  if (host->misuse[0]) return check_verdict_of(CHECK_FAILED, "%s", host->misuse);
  if (what->disk_full) {
    if (host->writes_failed == 0) return check_verdict_of(CHECK_SKIPPED, "it wrote nothing through the host's files");
    if (status == PD_OK) return check_verdict_of(CHECK_FAILED, "a write failed and every callback returned PD_OK");
    if (!host->message[0]) return check_verdict_of(CHECK_FAILED, "it failed without a message");
  } else if (status != PD_OK) {
    return check_verdict_of(CHECK_FAILED, "returned %d: %s", status, host->message[0] ? host->message : "no message");
  }
  if (host->open_files)
    return check_verdict_of(CHECK_FAILED, "%lld files neither committed nor discarded", (long long)host->open_files);
  return check_ok();
}

static check_verdict live(const check_target *target, const void *options, const life *what) {
  const pd_sink_ops *ops = target->table->ops.sink;
  const uint32_t threads = check_thread_count();
  services all;
  void *state = NULL;
  if (open_services(&all) != PD_OK) {
    close_services(&all);
    return check_verdict_of(CHECK_BROKEN, "recorder or analysis could not be opened");
  }
  all.host.disk_full = what->disk_full;
  pd_status status = ops->open(&all.host.table, options, check_run(), &state);
  check_verdict verdict = check_ok();
  if (status != PD_OK && state) verdict = check_verdict_of(CHECK_FAILED, "open failed and set *state all the same");
  if (status == PD_OK) {
    if (what->steps && ops->on_step) status = ops->on_step(state, check_step_stats());
    verdict = give_traces(&all, ops, state, what, &status);
    /* As the host does: a sink that failed is dropped. */
    const pd_status closed = ops->close(state, status == PD_OK && what->summary ? check_summary() : NULL);
    if (status == PD_OK) status = closed;
  }
  if (verdict.outcome == CHECK_OK) verdict = judge(&all, what, status);
  close_services(&all);
  return verdict.outcome == CHECK_OK ? check_threads_gone(threads) : verdict;
}

static check_verdict with_defaults(const check_target *target, const life *what) {
  void *options = check_options(target, NULL, NULL);
  if (!options) return check_verdict_of(CHECK_BROKEN, "out of memory");
  const check_verdict verdict = live(target, options, what);
  free(options);
  return verdict;
}

static check_verdict dropped(const check_target *target) { return with_defaults(target, &(life){.steps = false}); }
static check_verdict no_window(const check_target *target) { return with_defaults(target, &(life){.summary = true}); }
static check_verdict dropped_later(const check_target *target) {
  return with_defaults(target, &(life){.steps = true, .trace_count = 1, .traces = {CHECK_TRACE_PLAIN}});
}
static check_verdict empty_trace(const check_target *target) {
  return with_defaults(target,
                       &(life){.steps = true, .summary = true, .trace_count = 1, .traces = {CHECK_TRACE_EMPTY}});
}
static check_verdict two_windows(const check_target *target) {
  return with_defaults(
      target,
      &(life){.steps = true, .summary = true, .trace_count = 2, .traces = {CHECK_TRACE_PLAIN, CHECK_TRACE_PLAIN}});
}
static check_verdict losses(const check_target *target) {
  return with_defaults(target,
                       &(life){.steps = true, .summary = true, .trace_count = 1, .traces = {CHECK_TRACE_LOSSES}});
}
static check_verdict names(const check_target *target) {
  return with_defaults(target,
                       &(life){.steps = true, .summary = true, .trace_count = 1, .traces = {CHECK_TRACE_NAMES}});
}
static check_verdict full_disk(const check_target *target) {
  return with_defaults(
      target,
      &(life){.steps = true, .summary = true, .disk_full = true, .trace_count = 1, .traces = {CHECK_TRACE_PLAIN}});
}

static check_verdict one_window(const check_target *target, const void *options) {
  return live(target, options,
              &(life){.steps = true, .summary = true, .trace_count = 1, .traces = {CHECK_TRACE_PLAIN}});
}
/* The life that is lived in turn: a step, a window, the summary, on one trace for all. */
typedef struct turn {
  services all;
  pd_trace *trace;
} turn;
static turn *the_turn(void) {
  static turn only;
  if (only.trace) return &only;
  if (open_services(&only.all) == PD_OK &&
      check_trace_make(only.all.recorder, CHECK_TRACE_PLAIN, 0, &only.trace) == PD_OK)
    return &only;
  return NULL;
}

static void live_in_turn(const check_target *target, check_life *one) {
  const pd_sink_ops *ops = target->table->ops.sink;
  turn *on = the_turn();
  void *options = check_options(target, NULL, NULL), *state = NULL;
  if (!on || !options) {
    free(options);
    one->verdict = check_verdict_of(CHECK_BROKEN, "recorder, analysis or trace could not be made");
    return;
  }
  check_host host;
  check_host_init(&host);
  host.analysis = on->all.host.analysis;
  host.own_record = on->all.host.own_record;
  host.fail_call = one->fail_call;
  const uint32_t threads = check_thread_count();
  pd_status status = ops->open(&host.table, options, check_run(), &state);
  check_verdict verdict = check_ok();
  if (status != PD_OK && state) verdict = check_verdict_of(CHECK_FAILED, "open failed and set *state all the same");
  if (status == PD_OK) {
    if (ops->on_step) status = ops->on_step(state, check_step_stats());
    if (status == PD_OK && ops->on_trace_ready) status = ops->on_trace_ready(state, on->trace);
    const pd_status closed = ops->close(state, status == PD_OK ? check_summary() : NULL);
    if (status == PD_OK) status = closed;
  }
  free(options);
  check_life_take(one, &host, status);
  one->output[0] = host.files_committed;
  one->output[1] = host.bytes_written;
  one->output[2] = check_folder_bytes(target->folder); /* of sinks that write files of their own */
  if (verdict.outcome == CHECK_OK && host.misuse[0]) verdict = check_verdict_of(CHECK_FAILED, "%s", host.misuse);
  if (verdict.outcome == CHECK_OK && host.open_files)
    verdict = check_verdict_of(CHECK_FAILED, "%lld files neither committed nor discarded", (long long)host.open_files);
  if (verdict.outcome == CHECK_OK) verdict = check_threads_gone(threads);
  if (verdict.outcome == CHECK_OK && !check_folder_empty(target->folder))
    verdict = check_verdict_of(CHECK_BROKEN, "the folder of this check could not be emptied");
  one->verdict = verdict;
}
static check_verdict no_service(const check_target *target) { return check_each_call(target, live_in_turn); }

static check_verdict bounds(const check_target *target) { return check_each_bound(target, one_window); }

CHECK_PROCESS_FUNCTIONS(live_in_turn)

const check check_sink_list[] = {
    {"open, then dropped by the host (close without a summary)", dropped},
    {"a run without a window", no_window},
    {"a window, then dropped by the host", dropped_later},
    {"a window with nothing in it", empty_trace},
    {"two windows", two_windows},
    {"a window with every kind of loss", losses},
    {"odd names: quotes, newlines, control characters, broken UTF-8, 10 kB", names},
    {"a window with each bound and each choice of each option", bounds},
    {"a full disk is reported and leaves no file open", full_disk},
    {"each call of files and tables fails in its turn: a message, no file left open", no_service},
    CHECK_PROCESS_ROWS,
    {"a window of a real run", check_real_run},
    {NULL, NULL},
};
