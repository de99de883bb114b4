/* A capture to its sinks; see run_replay.h. */
#include "run_replay.h"

#include "import/captured_run.h"
#include "import/import_reader.h"
#include "ranks/rank_group.h"
#include "ranks/rank_output.h"
#include "run_parts.h"
#include "sink_set.h"
#include "step_log.h"

#include "base/files.h"
#include "base/log.h"
#include "tables/window_tables.h"
#include "trace/intake/intake.h"

#include <errno.h>
#include <math.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

typedef struct replay {
  const replay_request *request;
  services services;
  import_reader reader;
  captured_run from;
  pd_run run;
  pd_device_props device; /* as it was told last */
  analysis *analysis;
  step_log *log;
  sink_set *sinks;
  pd_summary summary;
  char folder_fault[1024];
  double launches, matched;
  pd_profile_mode profile;
} replay;

static int fail(const replay *self, int code, const char *what) {
  error_line_print(code == CODE_CONFIG ? FAULT_UNREADABLE : FAULT_MEMORY, NULL, "%s: %s", self->request->path, what);
  return code;
}

/* ---- the file ---- */

static void tell_odd(void *user, pd_odd how, const char *text) {
  const replay *self = user;
  log_line(how == PD_ODD_NOTE ? PD_LOG_INFO : PD_LOG_WARN, NULL, "%s: %s", self->request->path, text);
}

static void tell_damage(void *user, const char *text) { tell_odd(user, PD_ODD_DAMAGE, text); }

static void take_record(void *user, const pd_captured *record) { captured_run_take(&((replay *)user)->from, record); }

/* The records of one window, or those before the first. PD_STOP: there is none left. */
static pd_status read_next(replay *self) {
  const intake_listener listener = {.user = self, .odd = tell_odd, .record = take_record};
  intake *rows = NULL;
  pd_status status = intake_open(&listener, &rows);
  if (status == PD_OK) status = self->reader.ops->next_window(self->reader.state, intake_table(rows));
  intake_close(rows);
  return self->from.status != PD_OK ? self->from.status : status;
}

static int open_capture(replay *self, const config *settings, const char *reader) {
  int code = import_reader_open(&self->reader, &self->services, settings, reader, self->request->path);
  if (code != CODE_DONE) return code;
  const pd_status status = read_next(self);
  if (status != PD_OK && status != PD_STOP)
    return run_parts_report(self->reader.host, status, self->request->path, CODE_CONFIG);
  if (!self->from.run.size)
    return fail(self, CODE_CONFIG, "it does not say which run it is of; nothing can be written from it");
  self->run = self->from.run;
  self->device = self->from.device;
  self->run.device = &self->device;
  if (self->request->trace_dir) self->run.trace_dir = self->request->trace_dir;
  self->run.quiet = self->request->quiet;
  return CODE_DONE;
}

static pd_status open_analysis(replay *self) {
  const pd_run *run = &self->run;
  const analysis_context context = {.device = &self->device,
                                    .batch_size = run->batch_size,
                                    .with_flops = run->with_flops != 0,
                                    .with_modules = run->with_modules != 0,
                                    .profile_memory = run->profile_memory != 0,
                                    .tf32 = self->from.about.tf32 != 0,
                                    .cores = self->from.about.cores,
                                    .command_line = run->command_line[0] ? run->command_line : NULL,
                                    .cures = run->cures,
                                    .num_workers = run->num_workers,
                                    .offers = run->offers};
  const pd_status status = analysis_open(&context, &self->analysis);
  if (status == PD_OK) self->services.analysis = analysis_table(self->analysis);
  return status;
}

static int open_sinks(replay *self) {
  const config *settings = self->request->settings;
  char fault[512];
  if (files_make_folder(self->run.trace_dir, fault, sizeof fault) != PD_OK)
    snprintf(self->folder_fault, sizeof self->folder_fault, "[run] trace_dir = %s: %s", self->run.trace_dir, fault);
  rank_output_take(self->run.trace_dir, true); /* of a rank whose process died */
  sink_entry *entries = calloc(settings->sink_count + 1, sizeof *entries);
  if (!entries) return CODE_INTERNAL;
  uint32_t count = 0;
  for (uint32_t i = 0; i < settings->sink_count; i++) {
    const config_plugin *sink = &settings->sinks[i];
    if (i < 64 && self->request->without >> i & 1) continue;
    entries[count++] = (sink_entry){sink->plugin->table->name, sink->plugin->table->ops.sink, sink->options};
  }
  self->sinks = sink_set_open(&self->services, entries, count, &self->run, self->folder_fault);
  free(entries);
  return self->sinks ? CODE_DONE : CODE_INTERNAL;
}

/* ---- what the run made ---- */

static int take_step(void *user, const pd_step_stats *step, uint64_t index) {
  replay *self = user;
  if (index < step_log_count(self->log))
    return CODE_DONE; /* written twice: by the worker, and by the supervisor after it died */
  if (step_log_add(self->log, step) != PD_OK) return CODE_INTERNAL;
  sink_set_step(self->sinks, step_log_at(self->log, step_log_count(self->log) - 1));
  return CODE_DONE;
}

static int take_window(void *user, pd_trace *trace, const capture_delivery *delivery) {
  replay *self = user;
  self->device = self->from.device;
  trace->device = &self->device;
  analysis_disturbed(self->analysis, delivery ? delivery->disturbance : NULL, NULL);
  analysis_set_usage(self->analysis, delivery && delivery->has_usage ? &delivery->usage : NULL);
  for (uint64_t i = 0; i < trace->steps.count; i++) {
    self->launches += (double)PD_AT(pd_trace_step, &trace->steps, i)->launches;
    self->matched += (double)PD_AT(pd_trace_step, &trace->steps, i)->matched;
  }
  for (int i = 0; i < PD_LOSS_COUNT; i++) self->summary.lost[i] += trace->losses[i];
  if (trace->corrected_ns > self->summary.corrected_ns) self->summary.corrected_ns = trace->corrected_ns;
  self->profile = trace->profile;
  sink_set_trace(self->sinks, trace);
  analysis_forget(self->analysis, trace);
  return CODE_DONE;
}

/* A run that did not come to its end has no summary of its own. */
static void end_without_summary(replay *self) {
  pd_summary *summary = &self->summary;
  const uint64_t windows = self->from.windows;
  const bool counted = windows && self->profile == PD_PROFILE_FULL;
  summary->outcome = PD_RUN_FAILED;
  summary->reason = self->request->reason ? self->request->reason : "the run ended before its results were written";
  summary->windows = windows;
  summary->profile = windows ? self->profile : PD_PROFILE_NONE;
  summary->profile_note = windows ? NULL : "the run ended before a window of active steps did";
  summary->coverage = (double)NAN;
  if (counted) summary->coverage = self->launches > 0 ? self->matched / self->launches : 1;
  for (uint64_t i = 0; i < step_log_count(self->log); i++) {
    const pd_step_stats *step = step_log_at(self->log, i);
    if (step->reserved_bytes > summary->peak_reserved_bytes) summary->peak_reserved_bytes = step->reserved_bytes;
    if (step->allocated_bytes > summary->peak_allocated_bytes) summary->peak_allocated_bytes = step->allocated_bytes;
  }
  summary->sync_note = "the run did not say how its steps were measured";
}

/* Ended, though nobody may have asked how. */
static bool is_gone(uint32_t pid) {
  char path[64], line[512] = "";
  if (kill((pid_t)pid, 0) != 0) return errno == ESRCH;
  (void)snprintf(path, sizeof path, "/proc/%u/stat", pid);
  FILE *file = fopen(path, "r");
  const bool read = file && fgets(line, sizeof line, file);
  if (file) (void)fclose(file);
  const char *state = read ? strrchr(line, ')') : NULL;
  return state && strncmp(state, ") Z", 3) == 0;
}

/* The process that wrote the capture, where it is certainly gone without an end of its own; else 0. */
static uint32_t dead_process(const replay *self) {
  char host_name[64] = "";
  const uint32_t pid = self->run.pid;
  if (self->from.summary.size || !pid || pid > INT32_MAX) return 0;
  if (gethostname(host_name, sizeof host_name - 1) != 0 || strcmp(host_name, self->run.host_name) != 0) return 0;
  return is_gone(pid) ? pid : 0;
}

static int finish(replay *self, pd_status status) {
  if (self->from.summary.size)
    self->summary = self->from.summary;
  else
    end_without_summary(self);
  self->summary.size = sizeof self->summary;
  const pd_status summed = step_log_summarise(self->log, self->run.batch_size, &self->summary);
  const uint32_t failed = sink_set_close(self->sinks, &self->summary);
  self->sinks = NULL;
  const uint32_t died = dead_process(self);
  if (died) files_remove_unfinished(self->services.files, died);
  for (uint32_t i = 0; i < self->request->died_count; i++)
    files_remove_unfinished(self->services.files, self->request->died[i]);
  const char *line;
  while (!self->request->quiet && (line = files_next_written(self->services.files)))
    fprintf(stderr, "pdhost: wrote %s\n", line);
  if (status != PD_OK || summed != PD_OK)
    return fail(self, CODE_INTERNAL, service_status_text(status != PD_OK ? status : summed));
  return failed ? CODE_OUTPUT : CODE_DONE;
}

static void close_all(replay *self) {
  (void)sink_set_close(self->sinks, NULL);
  analysis_close(self->analysis);
  step_log_close(self->log);
  captured_run_free(&self->from);
  if (self->reader.state) import_reader_close(&self->reader);
  files_close(self->services.files);
}

static int open_outputs(replay *self) {
  self->log = step_log_open(self->run.trace_dir);
  const pd_status status = self->log ? open_analysis(self) : PD_NO_MEMORY;
  const int code = status == PD_OK ? open_sinks(self) : CODE_INTERNAL;
  return code == CODE_DONE ? code : fail(self, code, "out of memory");
}

static int write_all(replay *self) {
  pd_status status = PD_OK;
  self->from.listener =
      (captured_listener){.user = self, .step = take_step, .window = take_window, .damage = tell_damage};
  while (status == PD_OK && !self->from.code) status = read_next(self);
  if (status == PD_STOP) {
    captured_run_end(&self->from);
    status = self->from.status;
  }
  return finish(self, self->from.code ? PD_NO_MEMORY : status);
}

int replay_run(const replay_request *request) {
  replay self = {.request = request, .services = {.files = files_open()}};
  if (!self.services.files) return fail(&self, CODE_INTERNAL, "out of memory");
  rank_group_name_files(self.services.files);
  int code = open_capture(&self, request->settings, IMPORT_READER_CAPTURE);
  if (code == CODE_DONE) code = open_outputs(&self);
  if (code == CODE_DONE) code = write_all(&self);
  close_all(&self);
  return code;
}

/* ---- settings ----------------------------------------------------------------------------------------------- */

static bool is_givens(const pd_setting *at) {
  return !at->is_default && strncmp(at->origin, "preset", 6) != 0 && strcmp(at->origin, "default") != 0;
}

/* As one block: rows, then their texts. */
static config_assignment *copy_settings(const pd_array *all, const char *path, uint32_t *count) {
  size_t bytes = (all->count + 1) * sizeof(config_assignment);
  for (uint64_t i = 0; i < all->count; i++) {
    const pd_setting *at = PD_AT(pd_setting, all, i);
    bytes += strlen(at->section) + strlen(at->key) + strlen(at->value) + 3;
  }
  config_assignment *rows = calloc(1, bytes);
  char *text = rows ? (char *)(rows + all->count + 1) : NULL;
  for (uint64_t i = 0; rows && i < all->count; i++) {
    const pd_setting *at = PD_AT(pd_setting, all, i);
    if (!is_givens(at)) continue;
    config_assignment *row = &rows[(*count)++];
    row->origin = path;
    row->section = text;
    text = stpcpy(text, at->section) + 1;
    row->key = text;
    text = stpcpy(text, at->key) + 1;
    row->value = text;
    text = stpcpy(text, at->value) + 1;
  }
  return rows;
}

config_assignment *replay_settings(const config *readers, const char *path, uint32_t *count, error *err) {
  const replay_request request = {.path = path};
  replay self = {.request = &request};
  config_assignment *rows = NULL;
  *count = 0;
  const int code = open_capture(&self, readers, IMPORT_READER_CAPTURE);
  if (code == CODE_DONE) rows = copy_settings(&self.run.settings, path, count);
  if (!rows && code == CODE_DONE) error_set(err, PD_NO_MEMORY, CODE_INTERNAL, "%s: out of memory", path);
  close_all(&self);
  return rows;
}
