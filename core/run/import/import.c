/* See import.h. Each file is read, and its windows reach the sinks, before the next file is opened. */
#include "import.h"

#include "import_file.h"
#include "import_next.h"
#include "run/ranks/rank_files.h"
#include "config/run_folder.h"
#include "run/run_parts.h"
#include "run/sink_set.h"
#include "run/step_log.h"
#include "base/log.h"
#include "base/progress_line.h"
#include "base/signals.h"
#include "base/version.h"
#include "tables/window_tables.h"
#include "trace/trace_steps.h"

#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

/* Below this share of launches with their device record, figures are not to be trusted. */
#define COVERAGE_TRUSTED 0.999

typedef struct import_state {
  config *settings;
  const import_request *request;
  services services;
  service_host *core_host;
  analysis *analysis;
  sink_set *sinks;
  step_log *log;
  rank_files ranks; /* of several files */
  pd_run about;
  pd_device_props device;
  char device_name[128], versions[256], name[256], worker[300], host_name[64];
  uint64_t windows, lost[16], launches, late, matched, pauses;
  int64_t paused_ns;
  pd_profile_mode profile;
  bool partial, frames_skipped;
} import_state;

/* The file's name without its folder and endings. */
static void name_of(const char *path, char *out, size_t room) {
  const char *slash = strrchr(path, '/'), *name = slash ? slash + 1 : path;
  if (strcmp(path, "-") == 0) name = "stdin";
  const size_t bytes = strcspn(name, ".");
  snprintf(out, room, "%.*s", (int)(bytes ? bytes : strlen(name)), name);
}

/* What is known of the run before its sinks are opened: from the first window. */
static void fill_about(import_state *self, const pd_trace *trace, const char *path) {
  const config *settings = self->settings;
  name_of(path, self->name, sizeof self->name);
  if (gethostname(self->host_name, sizeof self->host_name) != 0) strcpy(self->host_name, "localhost");
  self->host_name[sizeof self->host_name - 1] = '\0';
  snprintf(self->worker, sizeof self->worker, "%s_%u", self->name, trace->pid);
  self->device = *trace->device;
  snprintf(self->device_name, sizeof self->device_name, "%s", trace->device->name);
  snprintf(self->versions, sizeof self->versions, "%s", trace->device->versions ? trace->device->versions : "");
  self->device.name = self->device_name;
  self->device.versions = self->versions; /* the trace goes before the sinks are closed */
  self->about = (pd_run){.size = sizeof self->about,
                         .pid = trace->pid,
                         .start_realtime_ns = trace->base_ns,
                         .scenario = self->name,
                         .scenario_version = "",
                         .bottleneck = "",
                         .device_name = trace->device->is_cuda ? "cuda" : "cpu",
                         .pdhost_version = version_text(),
                         .command_line = settings->command_line ? settings->command_line : "",
                         .trace_dir = settings->run.trace_dir,
                         .worker = self->worker,
                         .host_name = self->host_name,
                         .device = &self->device,
                         .settings = {settings->settings, settings->setting_count, sizeof *settings->settings},
                         .active = UINT64_MAX,
                         .repeat = 1,
                         .profile_memory = (trace->facts & PD_FACT_MEMORY) != 0,
                         .quiet = settings->quiet,
                         .source_id = version_source_id()};
}

static int open_sinks(import_state *self) {
  const config *settings = self->settings;
  sink_entry *entries = calloc(settings->sink_count + 1, sizeof *entries);
  if (!entries) return run_parts_report(NULL, PD_NO_MEMORY, "sinks", CODE_INTERNAL);
  for (uint32_t i = 0; i < settings->sink_count; i++) {
    const config_plugin *sink = &settings->sinks[i];
    entries[i] = (sink_entry){sink->plugin->table->name, sink->plugin->table->ops.sink, sink->options, NULL};
  }
  self->sinks = sink_set_open(&self->services, entries, settings->sink_count, &self->about, "");
  free(entries);
  return self->sinks ? CODE_DONE : run_parts_report(NULL, PD_NO_MEMORY, "sinks", CODE_INTERNAL);
}

static int open_analysis(import_state *self) {
  const analysis_context context = {.device = &self->device,
                                    .profile_memory = self->about.profile_memory,
                                    .cores = 0,
                                    .command_line = self->settings->command_line};
  const pd_status status = analysis_open(&context, &self->analysis);
  if (status != PD_OK) return run_parts_report(NULL, status, "analysis", CODE_INTERNAL);
  self->services.analysis = analysis_table(self->analysis);
  return CODE_DONE;
}

/* The loop's steps, as a run would have reported them one after the other. */
static pd_status report_steps(import_state *self, const pd_trace *trace) {
  for (uint64_t i = 0; i < trace->steps.count; i++) {
    const pd_trace_step *at = PD_AT(pd_trace_step, &trace->steps, i);
    const pd_step_stats stats = {.size = sizeof stats,
                                 .phase = PD_PHASE_ACTIVE,
                                 .index = step_log_count(self->log),
                                 .window = trace->window,
                                 .data_wait_ns = at->data_wait_ns,
                                 .step_time_ns = at->step_time_ns,
                                 .batch_cost_ns = at->end_ns - at->start_ns,
                                 .loss = (double)NAN,
                                 .loss_scale = 1,
                                 .end_realtime_ns = trace->base_ns + at->end_ns};
    const pd_status status = step_log_add(self->log, &stats);
    if (status != PD_OK) return status;
    sink_set_step(self->sinks, &stats);
    self->launches += at->launches;
    self->matched += at->matched;
  }
  if (facts_is_read(trace)) self->late += trace_late_launches(trace);
  for (int i = 0; i < 16; i++) self->lost[i] += trace->losses[i];
  self->pauses += trace->paused_ns > 0;
  self->paused_ns += trace->paused_ns;
  return PD_OK;
}

static int take_window(void *user, const char *path, pd_trace *trace) {
  import_state *self = user;
  int code = CODE_DONE;
  if (!self->sinks) {
    fill_about(self, trace, path);
    code = open_analysis(self);
    if (code == CODE_DONE) code = open_sinks(self);
  }
  if (code != CODE_DONE) return code;
  if (self->request->file_count > 1 && !rank_files_add(&self->ranks, path, trace))
    return run_parts_report(NULL, PD_NO_MEMORY, path, CODE_INTERNAL);
  self->profile = trace->profile;
  self->frames_skipped |= (trace->facts & PD_FACT_FRAMES_SKIPPED) != 0;
  /* Each file counts from 0, and what is written of a window has its number. */
  if (self->request->file_count > 1) trace->window = (uint32_t)self->windows;
  progress_enter("writing what was read", NULL, 0);
  progress_hide();
  import_next next;
  import_next_make(&next, self->settings, self->request, path, trace->facts & PD_FACT_FRAMES_SKIPPED);
  analysis_follow(self->analysis, &next.words);
  const pd_status status = report_steps(self, trace);
  if (status == PD_OK) sink_set_trace(self->sinks, trace);
  analysis_forget(self->analysis, trace);
  analysis_follow(self->analysis, NULL);
  import_next_free(&next);
  self->windows++;
  progress_show();
  return status == PD_OK ? CODE_DONE : run_parts_report(NULL, status, "steps", CODE_INTERNAL);
}

/* Without a file of a sink there is no folder, and nothing to lead to. */
static uint32_t close_sinks(import_state *self, const pd_summary *summary) {
  const config *settings = self->settings;
  const uint32_t failed = sink_set_close(self->sinks, summary);
  self->sinks = NULL;
  if (access(settings->run.trace_dir, F_OK) == 0) run_folder_point(settings);
  return failed;
}

/* What several ranks did together comes before what the sinks print of each. */
static void print_ranks(const import_state *self) {
  static const char not_kept[] = "record again with --sink html";
  const char *late = rank_files_late(&self->ranks);
  import_next of_late, of_any;
  if (self->request->ranks_json) return;
  import_next_make(&of_late, self->settings, self->request, late ? late : "-", self->frames_skipped);
  import_next_make(&of_any, self->settings, self->request, "FILE", self->frames_skipped);
  const bool is_gone = self->request->is_recording && !self->settings->run.keep_capture;
  rank_files_print(&self->ranks,
                   !late     ? NULL
                   : is_gone ? not_kept
                             : of_late.alone,
                   is_gone ? not_kept : of_any.alone, self->settings->quiet);
  import_next_free(&of_late);
  import_next_free(&of_any);
}

static int finish(import_state *self) {
  pd_summary summary = {.size = sizeof summary};
  pd_note notes[LOG_WARNINGS_KEPT];
  const pd_status status = step_log_summarise(self->log, 0, &summary);
  if (status != PD_OK) return run_parts_report(NULL, status, "summary", CODE_INTERNAL);
  summary.windows = self->windows;
  summary.pauses = self->pauses;
  summary.paused_s = 1e-9 * (double)self->paused_ns;
  memcpy(summary.lost, self->lost, sizeof summary.lost);
  summary.profile = self->profile;
  summary.coverage = self->launches ? (double)self->matched / (double)self->launches : (double)NAN;
  summary.sync_note = "the host's time from one bound of a step to the next";
  if (signals_pending()) {
    summary.outcome = PD_RUN_INTERRUPTED;
    summary.reason = signals_name(signals_pending());
  }
  summary.notes = (pd_array){notes, log_warnings(notes, LOG_WARNINGS_KEPT), sizeof notes[0]};
  if (!rank_files_judge(&self->ranks)) return run_parts_report(NULL, PD_NO_MEMORY, "ranks", CODE_INTERNAL);
  analysis_add_run_tables(self->analysis, rank_files_tables(&self->ranks));
  progress_end();
  print_ranks(self);
  const uint32_t failed = close_sinks(self, &summary);
  files_force(self->services.files);
  const char *line;
  while (!self->settings->quiet && (line = files_next_written(self->services.files)))
    fprintf(stderr, "pdhost: wrote %s\n", line);
  if (signals_pending()) return 128 + signals_pending();
  if (failed) return CODE_OUTPUT;
  /* Nothing was lost of late launches: what the file holds is right. */
  const double in_time = (double)(self->launches - self->late);
  if (self->profile == PD_PROFILE_FULL && (double)self->matched < COVERAGE_TRUSTED * in_time) {
    log_line(PD_LOG_WARN, NULL,
             "only %.2f %% of the launches have their device record: the figures of this file are not to be trusted",
             100 * summary.coverage);
    return CODE_UNTRUSTED;
  }
  return CODE_DONE;
}

/* A file that nobody named: one of a folder, or the capture of one of the processes that were recorded, which may have
 * been killed before anything of it was whole. */
static bool may_be_skipped(const import_request *request, uint32_t file) {
  return (request->in_folder && request->in_folder[file]) || (request->is_recording && request->file_count > 1);
}

/* All files. What may be skipped and cannot be read is, as long as one can. */
static int read_files(import_state *self) {
  const import_request *request = self->request;
  int code = CODE_DONE, skipped = CODE_DONE;
  for (uint32_t i = 0; i < request->file_count && code == CODE_DONE && !signals_pending(); i++) {
    code = import_file(&self->services, self->settings, request, request->files[i], take_window, self);
    if (code != CODE_CONFIG || !may_be_skipped(request, i)) continue;
    log_line(PD_LOG_WARN, NULL, "%s: skipped, since it cannot be read", request->files[i]);
    skipped = code;
    code = CODE_DONE;
  }
  return code == CODE_DONE && !self->windows ? skipped : code;
}

static int import_all(import_state *self) {
  int code = read_files(self);
  if (self->sinks && code == CODE_DONE) code = finish(self);
  if ((code == CODE_DONE || code == CODE_UNTRUSTED) && self->request->ranks_json && !rank_files_json(&self->ranks))
    code = run_parts_report(NULL, PD_NO_MEMORY, "ranks", CODE_INTERNAL);
  if (self->sinks) (void)close_sinks(self, NULL);
  return code;
}

int import_execute(config *settings, const import_request *request) {
  import_state *self = calloc(1, sizeof *self);
  if (!self) return run_parts_report(NULL, PD_NO_MEMORY, "analyze", CODE_INTERNAL);
  trace_return_large_blocks();
  run_folder_fill(settings);
  self->settings = settings;
  self->request = request;
  self->log = step_log_open(settings->run.trace_dir);
  self->services.files = files_open();
  int code = CODE_INTERNAL;
  if (self->log && self->services.files) {
    signals_install(NULL, NULL);
    progress_begin("analyze", settings->quiet);
    code = import_all(self);
    progress_end();
    signals_restore();
  } else {
    run_parts_report(NULL, PD_NO_MEMORY, "analyze", CODE_INTERNAL);
  }
  log_flush_repeats();
  analysis_close(self->analysis);
  step_log_close(self->log);
  rank_files_free(&self->ranks);
  files_close(self->services.files);
  free(self);
  return code;
}
