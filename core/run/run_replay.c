/* A capture to its sinks; see run_replay.h. */
#include "run_replay.h"

#include "capture_text.h"
#include "ranks/rank_group.h"
#include "sink_set.h"
#include "step_log.h"

#include "base/files.h"
#include "base/log.h"
#include "tables/window_tables.h"
#include "trace/saved_window.h"

#include <errno.h>
#include <math.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

typedef struct replay {
  const replay_request *request;
  capture_reader reader;
  saved_strings strings;
  arena memory;
  pd_run run;
  capture_about about;
  pd_device_props device; /* as it was told last */
  services services;
  analysis *analysis;
  step_log *log;
  sink_set *sinks;
  pd_summary summary;
  bool has_summary;
  char folder_fault[1024];
  uint64_t window_record; /* of the window read last; UINT64_MAX: none waits */
  uint64_t windows, missing;
  double launches, matched;
  pd_profile_mode profile;
  int taken; /* what replay_request.take returned last */
} replay;

static const char *text_of(replay *self, const capture_record *at) {
  char *text = arena_take(&self->memory, (size_t)at->bytes + 1);
  return text && capture_payload(&self->reader, at, text) == PD_OK ? text : NULL;
}

static const capture_record *find(const replay *self, capture_kind kind) {
  for (uint64_t i = 0; i < self->reader.count; i++)
    if (self->reader.records[i].kind == kind) return &self->reader.records[i];
  return NULL;
}

static int fail(const replay *self, int code, const char *what) {
  error_line_print(code == CODE_CONFIG ? FAULT_UNREADABLE : FAULT_MEMORY, NULL, "%s: %s", self->request->path, what);
  return code;
}

static int take_run(replay *self) {
  const capture_record *run = find(self, CAPTURE_RUN), *device = find(self, CAPTURE_DEVICE);
  const char *text = run ? text_of(self, run) : NULL;
  if (!text || !capture_run_parse(text, &self->memory, &self->run, &self->about))
    return fail(self, CODE_CONFIG, "it does not say which run it is of; nothing can be written from it");
  text = device ? text_of(self, device) : NULL;
  if (!text || !capture_device_parse(text, &self->memory, &self->device))
    self->device = (pd_device_props){.size = sizeof self->device, .name = "", .versions = ""};
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
                                    .tf32 = self->about.tf32 != 0,
                                    .cores = self->about.cores,
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
  if (self->request->take) {
    self->sinks = sink_set_open(&self->services, NULL, 0, &self->run, "");
    return self->sinks ? CODE_DONE : CODE_INTERNAL;
  }
  if (files_make_folder(self->run.trace_dir, fault, sizeof fault) != PD_OK)
    snprintf(self->folder_fault, sizeof self->folder_fault, "[run] trace_dir = %s: %s", self->run.trace_dir, fault);
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

/* ---- records ------------------------------------------------------------------------------------------------ */

static pd_status replay_steps(replay *self, const capture_record *at) {
  if (at->row_bytes != sizeof(pd_step_stats) || (uint64_t)at->count * at->row_bytes != at->bytes) return PD_OK;
  pd_step_stats *rows = malloc((size_t)at->bytes + 1);
  if (!rows) return PD_NO_MEMORY;
  pd_status status = capture_payload(&self->reader, at, rows);
  for (uint32_t i = 0; i < at->count && status == PD_OK; i++) {
    if (at->first + i < step_log_count(self->log))
      continue; /* written twice: by the worker, and by the supervisor after it died */
    rows[i].size = sizeof rows[i];
    status = step_log_add(self->log, &rows[i]);
    if (status == PD_OK) sink_set_step(self->sinks, step_log_at(self->log, step_log_count(self->log) - 1));
  }
  free(rows);
  return status;
}

static void tell_missing(replay *self, const saved_window *window) {
  for (uint64_t i = 0; i < window->missing_count; i++) {
    const saved_missing *at = &window->missing[i];
    char whose[32] = "";
    if (at->thread) snprintf(whose, sizeof whose, " of thread %u", at->thread);
    log_line(PD_LOG_WARN, NULL, "%s: window %u: %llu %s%s are missing: the file is damaged there", self->request->path,
             window->input.window, (unsigned long long)at->count, capture_kind_text(at->kind), whose);
    self->missing += at->count;
  }
}

/* The window that was read last, with what it was delivered with; NULL: the run ended before it was. */
static pd_status replay_window(replay *self, const capture_delivery *delivery) {
  saved_window window;
  pd_trace *trace = NULL;
  const uint64_t record = self->window_record;
  self->window_record = UINT64_MAX;
  if (record == UINT64_MAX) return PD_OK;
  pd_status status = saved_window_load(&window, &self->reader, record, &self->strings);
  if (status == PD_INVALID) {
    log_line(PD_LOG_WARN, NULL, "%s: window %u cannot be read: the file is damaged there", self->request->path,
             self->reader.records[record].window);
    return PD_OK;
  }
  if (status != PD_OK) return status;
  window.end.device = &self->device;
  tell_missing(self, &window);
  status = saved_window_merge(&window, &trace);
  if (status == PD_OK) {
    trace->partial = delivery ? delivery->partial : 1;
    analysis_disturbed(self->analysis, delivery ? delivery->disturbance : NULL, NULL);
    analysis_set_usage(self->analysis, delivery && delivery->has_usage ? &delivery->usage : NULL);
    for (uint64_t i = 0; i < trace->steps.count; i++) {
      self->launches += (double)PD_AT(pd_trace_step, &trace->steps, i)->launches;
      self->matched += (double)PD_AT(pd_trace_step, &trace->steps, i)->matched;
    }
    for (int i = 0; i < PD_LOSS_COUNT; i++) self->summary.lost[i] += trace->losses[i];
    if (trace->corrected_ns > self->summary.corrected_ns) self->summary.corrected_ns = trace->corrected_ns;
    self->profile = trace->profile;
    self->windows++;
    if (self->request->take)
      self->taken = self->request->take(self->request->user, self->request->path, trace);
    else
      sink_set_trace(self->sinks, trace);
    analysis_forget(self->analysis, trace);
    trace_free(trace);
  }
  saved_window_free(&window);
  return status;
}

static pd_status replay_record(replay *self, uint64_t index) {
  const capture_record *at = &self->reader.records[index];
  switch (at->kind) {
  case CAPTURE_STRINGS: return saved_strings_add(&self->strings, &self->reader, at);
  case CAPTURE_STEP: return replay_steps(self, at);
  case CAPTURE_WINDOW: self->window_record = index; return PD_OK;
  case CAPTURE_DEVICE: {
    pd_device_props device;
    const char *text = text_of(self, at);
    if (text && capture_device_parse(text, &self->memory, &device)) self->device = device;
    return self->memory.failed ? PD_NO_MEMORY : PD_OK;
  }
  case CAPTURE_DELIVER: {
    capture_delivery delivery;
    const char *text = text_of(self, at);
    const bool is_one = text && capture_delivery_parse(text, &self->memory, &delivery);
    return self->memory.failed ? PD_NO_MEMORY : replay_window(self, is_one ? &delivery : NULL);
  }
  case CAPTURE_SUMMARY: {
    const char *text = text_of(self, at);
    self->has_summary = text && capture_summary_parse(text, &self->memory, &self->summary);
    return self->memory.failed ? PD_NO_MEMORY : PD_OK;
  }
  default: return PD_OK;
  }
}

/* A run that did not come to its end has no summary of its own. */
static void end_without_summary(replay *self) {
  pd_summary *summary = &self->summary;
  const bool counted = self->windows && self->profile == PD_PROFILE_FULL;
  summary->outcome = PD_RUN_FAILED;
  summary->reason = self->request->reason ? self->request->reason : "the run ended before its results were written";
  summary->windows = self->windows;
  summary->profile = self->windows ? self->profile : PD_PROFILE_NONE;
  summary->profile_note = self->windows ? NULL : "the run ended before a window of active steps did";
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
  const uint32_t pid = self->reader.head.pid;
  if (self->has_summary || !pid || pid > INT32_MAX) return 0;
  if (gethostname(host_name, sizeof host_name - 1) != 0 || strcmp(host_name, self->run.host_name) != 0) return 0;
  return is_gone(pid) ? pid : 0;
}

static int finish(replay *self, pd_status status) {
  if (status == PD_OK && !self->has_summary) status = replay_window(self, NULL);
  if (!self->has_summary) end_without_summary(self);
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
  files_close(self->services.files);
  saved_strings_close(&self->strings);
  capture_reader_close(&self->reader);
  arena_free(&self->memory);
}

static int open_capture(replay *self) {
  const pd_status status = capture_open(&self->reader, self->request->path);
  if (status == PD_IO) return fail(self, CODE_CONFIG, strerror(errno));
  if (status == PD_INVALID) return fail(self, CODE_CONFIG, "not a capture of this version of pdhost");
  if (status != PD_OK) return fail(self, CODE_INTERNAL, service_status_text(status));
  if (self->reader.torn)
    log_line(PD_LOG_WARN, NULL, "%s: %llu bytes at %llu places cannot be read; what lies between is used",
             self->request->path, (unsigned long long)self->reader.torn_bytes, (unsigned long long)self->reader.torn);
  return CODE_DONE;
}

int replay_run(const replay_request *request) {
  replay self = {.request = request, .reader = {.fd = -1}, .window_record = UINT64_MAX};
  int code = open_capture(&self);
  if (code == CODE_DONE) code = take_run(&self);
  pd_status status = PD_OK;
  if (code == CODE_DONE) {
    self.log = step_log_open();
    self.services.files = files_open();
    if (self.services.files) rank_group_name_files(self.services.files);
    status = self.log && self.services.files ? saved_strings_open(&self.strings, &self.reader) : PD_NO_MEMORY;
    if (status == PD_OK) status = open_analysis(&self);
    code = status == PD_OK ? open_sinks(&self) : CODE_INTERNAL;
    if (code != CODE_DONE) (void)fail(&self, code, "out of memory");
  }
  if (code == CODE_DONE) {
    for (uint64_t i = 0; i < self.reader.count && status == PD_OK && self.taken == CODE_DONE; i++)
      status = replay_record(&self, i);
    code = finish(&self, status);
    if (code == CODE_DONE) code = self.taken;
  }
  close_all(&self);
  return code;
}

/* ---- settings ----------------------------------------------------------------------------------------------- */

static bool is_givens(const pd_setting *at) {
  return !at->is_default && strncmp(at->origin, "preset", 6) != 0 && strcmp(at->origin, "default") != 0;
}

config_assignment *replay_settings(const char *path, uint32_t *count, error *err) {
  const replay_request request = {.path = path};
  replay self = {.request = &request, .reader = {.fd = -1}};
  config_assignment *rows = NULL;
  *count = 0;
  int code = open_capture(&self);
  if (code == CODE_DONE) code = take_run(&self);
  if (code == CODE_DONE) {
    const pd_array *all = &self.run.settings;
    size_t bytes = (all->count + 1) * sizeof *rows;
    for (uint64_t i = 0; i < all->count; i++) {
      const pd_setting *at = PD_AT(pd_setting, all, i);
      bytes += strlen(at->section) + strlen(at->key) + strlen(at->value) + 3;
    }
    rows = calloc(1, bytes);
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
  }
  if (!rows && code == CODE_DONE) error_set(err, PD_NO_MEMORY, CODE_INTERNAL, "%s: out of memory", path);
  close_all(&self);
  return rows;
}
