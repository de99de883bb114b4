/* A capture to its sinks; see run_replay.h. */
#include "run_replay.h"

#include "import/captured_run.h"
#include "import/import_reader.h"
#include "ranks/rank_kept.h"
#include "ranks/rank_output.h"
#include "run_parts.h"
#include "sink_set.h"
#include "step_log.h"
#include "writing/feed.h"

#include "base/child.h"
#include "base/files.h"
#include "base/log.h"
#include "tables/window_tables.h"
#include "trace/intake/intake.h"

#include <errno.h>
#include <limits.h>
#include <math.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

typedef struct replaying {
  const replay_request *request;
  services services;
  import_reader reader;
  captured_run from;
  pd_run run;
  pd_device_props device; /* as it was told last */
  analysis *analysis;
  step_log *log;
  rank_kept ranks;
  sink_set *sinks;
  pd_summary summary;
  char folder_fault[1024];
  char folder[PATH_MAX];                /* of a capture that is followed */
  uint32_t part;                        /* of what is followed: the one that is open */
  feed_place place;                     /* where it is followed */
  uint32_t notes_before;                /* warnings of this process, before it began */
  const char *notes[LOG_WARNINGS_KEPT]; /* of the summary */
  double launches, matched;
  pd_profile_mode profile;
} replaying;

static int fail(const replaying *self, int code, const char *what) {
  error_line_print(code == CODE_CONFIG ? FAULT_UNREADABLE : FAULT_MEMORY, NULL, "%s: %s", self->request->path, what);
  return code;
}

/* ---- the file ---- */

static void tell_odd(void *user, pd_odd how, const char *text) {
  const replaying *self = user;
  log_line(how == PD_ODD_NOTE ? PD_LOG_INFO : PD_LOG_WARN, NULL, "%s: %s", self->request->path, text);
}

static void tell_damage(void *user, uint64_t count, const char *text) {
  (void)count;
  tell_odd(user, PD_ODD_DAMAGE, text);
}

static void take_record(void *user, const pd_captured *record) {
  captured_run_take(&((replaying *)user)->from, record);
}

/* The records of one window, or those before the first. PD_STOP: there is none left. */
static pd_status read_next(replaying *self) {
  const intake_listener listener = {.user = self, .odd = tell_odd, .record = take_record};
  intake *rows = NULL;
  pd_status status = intake_open(&listener, &rows);
  if (status == PD_OK) status = self->reader.ops->next_window(self->reader.state, intake_table(rows));
  intake_close(rows);
  return self->from.status != PD_OK ? self->from.status : status;
}

/* As the rank named its own; who reads the settings alone has none. */
static void name_files(const replaying *self) {
  char prefix[32];
  if (self->run.ranks < 2 || !self->services.files) return;
  (void)snprintf(prefix, sizeof prefix, "rank%u_", self->run.rank);
  files_set_prefix(self->services.files, prefix);
}

/* The outputs of a capture that is followed are beside it. It names that folder too, but as text: bytes that are none
 * are replaced there. */
static const char *folder_of_capture(replaying *self) {
  const char *path = self->request->path, *slash = strrchr(path, '/');
  (void)snprintf(self->folder, sizeof self->folder, "%.*s", slash ? (int)(slash - path) : 0, path);
  return self->folder;
}

static int open_capture(replaying *self, const config *settings, const char *reader) {
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
  if (self->request->follows) self->run.trace_dir = folder_of_capture(self);
  self->run.quiet = self->request->quiet;
  name_files(self);
  return CODE_DONE;
}

static pd_status open_analysis(replaying *self) {
  const pd_run *run = &self->run;
  const analysis_context context = {.device = &self->device,
                                    .batch_size = run->batch_size,
                                    .with_flops = run->with_flops != 0,
                                    .with_modules = run->with_modules != 0,
                                    .profile_memory = run->profile_memory != 0,
                                    .tf32 = self->from.about.tf32 != 0,
                                    .cores = self->from.about.cores,
                                    .command_line = run->command_line[0] ? run->command_line : NULL,
                                    .of_ranks = run->ranks > 1,
                                    .cures = run->cures,
                                    .num_workers = run->num_workers,
                                    .offers = run->offers};
  const pd_status status = analysis_open(&context, &self->analysis);
  if (status == PD_OK) self->services.analysis = analysis_table(self->analysis);
  return status;
}

static int open_sinks(replaying *self) {
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
    unsigned char *left_out = self->request->left_out ? &self->request->left_out[i] : NULL;
    if (left_out && *left_out) continue;
    entries[count++] = (sink_entry){sink->plugin->table->name, sink->plugin->table->ops.sink, sink->options, left_out};
  }
  self->sinks = sink_set_open(&self->services, entries, count, &self->run, self->folder_fault);
  free(entries);
  return self->sinks ? CODE_DONE : CODE_INTERNAL;
}

/* ---- what the run made ---- */

static int take_step(void *user, const pd_step_stats *step, uint64_t index) {
  replaying *self = user;
  if (index < step_log_count(self->log))
    return CODE_DONE; /* written twice: by the worker, and by the supervisor after it died */
  if (step_log_add(self->log, step) != PD_OK) return CODE_INTERNAL;
  sink_set_step(self->sinks, step_log_at(self->log, step_log_count(self->log) - 1));
  return CODE_DONE;
}

static int take_window(void *user, pd_trace *trace, const capture_delivery *delivery) {
  replaying *self = user;
  self->device = self->from.device;
  trace->device = &self->device;
  if (self->run.ranks > 1) {
    trace->rank = self->run.rank;
    trace->ranks = self->run.ranks;
  }
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

static void take_ranks(void *user, const pd_captured *record) { rank_kept_take(&((replaying *)user)->ranks, record); }

/* A run that did not come to its end has no summary of its own. */
static void end_without_summary(replaying *self) {
  pd_summary *summary = &self->summary;
  const uint64_t windows = self->from.windows;
  const bool counted = windows && self->profile == PD_PROFILE_FULL;
  summary->outcome = PD_RUN_FAILED;
  const char *reason = self->request->follows ? board_own()->feed.reason : self->request->reason;
  summary->reason = reason && reason[0] ? reason : "the run ended before its results were written";
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

/* Removes what a process of the run left unfinished, where it is certainly gone without an end of its own. */
static void remove_unfinished(replaying *self, uint32_t pid) {
  char host_name[64] = "";
  if (self->from.summary.size || !pid || pid > INT32_MAX) return;
  if (gethostname(host_name, sizeof host_name - 1) != 0 || strcmp(host_name, self->run.host_name) != 0) return;
  if (child_is_gone(pid)) files_remove_unfinished(self->services.files, pid);
}

/* The run's warnings, and those of the sinks, which were here. */
static void add_notes(replaying *self) {
  const char *own[LOG_WARNINGS_KEPT];
  const uint32_t all = log_warnings(own, LOG_WARNINGS_KEPT);
  uint32_t count = 0;
  for (uint64_t i = 0; i < self->summary.notes.count && count < LOG_WARNINGS_KEPT; i++)
    self->notes[count++] = *PD_AT(pd_note, &self->summary.notes, i);
  for (uint32_t i = self->notes_before; i < all && count < LOG_WARNINGS_KEPT; i++) self->notes[count++] = own[i];
  self->summary.notes = (pd_array){self->notes, count, sizeof self->notes[0]};
}

/* What the run itself wrote beside its sinks; of a run that is over it is nothing new. */
static void announce(const replaying *self) {
  const pd_array *paths = &self->from.written;
  for (uint64_t i = 0; self->request->follows && i < paths->count; i++)
    files_announce(self->services.files, *PD_AT(pd_note, paths, i));
}

static bool any_left_out(const replay_request *request) {
  for (uint32_t i = 0; request->left_out && i < request->settings->sink_count; i++)
    if (request->left_out[i]) return true;
  return false;
}

static int finish(replaying *self, pd_status status) {
  if (self->from.summary.size)
    self->summary = self->from.summary;
  else
    end_without_summary(self);
  self->summary.size = sizeof self->summary;
  const pd_status summed = step_log_summarise(self->log, self->run.batch_size, &self->summary);
  add_notes(self);
  announce(self);
  analysis_add_run_tables(self->analysis, rank_kept_tables(&self->ranks));
  const uint32_t failed = sink_set_close(self->sinks, &self->summary);
  self->sinks = NULL;
  remove_unfinished(self, self->run.pid);
  remove_unfinished(self, self->from.about.writer);
  for (uint32_t i = 0; i < self->request->died_count; i++)
    files_remove_unfinished(self->services.files, self->request->died[i]);
  files_force(self->services.files);
  const char *line;
  while ((line = files_next_written(self->services.files))) log_say(!self->request->quiet, "pdhost: wrote %s", line);
  if (status != PD_OK || summed != PD_OK)
    return fail(self, CODE_INTERNAL, service_status_text(status != PD_OK ? status : summed));
  return failed || any_left_out(self->request) ? CODE_OUTPUT : CODE_DONE;
}

static void close_all(replaying *self) {
  (void)sink_set_close(self->sinks, NULL);
  analysis_close(self->analysis);
  step_log_close(self->log);
  captured_run_free(&self->from);
  rank_kept_free(&self->ranks);
  if (self->reader.state) import_reader_close(&self->reader);
  files_close(self->services.files);
}

static int open_outputs(replaying *self) {
  self->log = step_log_open(self->run.trace_dir);
  const pd_status status = self->log ? open_analysis(self) : PD_NO_MEMORY;
  const int code = status == PD_OK ? open_sinks(self) : CODE_INTERNAL;
  return code == CODE_DONE ? code : fail(self, code, "out of memory");
}

/* What the disk had no room for comes in parts through memory (board.h). PD_STOP: the one that is open is the last. */
static pd_status open_part(replaying *self) {
  const board_feed *from = &board_own()->feed;
  char path[64];
  const uint32_t part = atomic_load_explicit(&from->part, memory_order_acquire);
  if (!self->request->follows || part == self->part) return PD_STOP;
  self->part = part;
  (void)snprintf(path, sizeof path, "/proc/self/fd/%d", from->memory);
  import_reader_close(&self->reader);
  self->reader.state = NULL;
  const int code =
      import_reader_open(&self->reader, &self->services, self->request->settings, IMPORT_READER_CAPTURE, path);
  return code == CODE_DONE ? PD_OK : PD_IO;
}

/* There is more. A part was read whole before the next one took its place. */
static pd_status go_on(replaying *self) {
  const pd_status status = self->part ? open_part(self) : PD_OK;
  return status == PD_STOP ? PD_OK : status;
}

static int write_all(replaying *self) {
  pd_status status = PD_OK;
  self->from.listener = (captured_listener){
      .user = self, .step = take_step, .window = take_window, .ranks = take_ranks, .damage = tell_damage};
  while (status == PD_OK && !self->from.code) {
    status = read_next(self);
    if (status == PD_STOP) status = open_part(self);
    if (status == PD_STOP && self->request->follows && feed_more(&self->place)) status = go_on(self);
  }
  if (self->place.lost) return CODE_INTERNAL; /* no process is left: the capture stays as it is */
  if (status == PD_STOP) {
    captured_run_end(&self->from);
    status = self->from.status;
  }
  return finish(self, self->from.code ? PD_NO_MEMORY : status);
}

/* False: there is nothing to follow. */
static bool begins(replaying *self) {
  const board *from = board_own();
  while (feed_more(&self->place))
    if (atomic_load_explicit(&from->begun, memory_order_acquire)) return true;
  return false;
}

int replay_run(const replay_request *request) {
  replaying self = {.request = request, .services = {.files = files_open()}};
  const char *before[LOG_WARNINGS_KEPT];
  if (!self.services.files) return fail(&self, CODE_INTERNAL, "out of memory");
  self.notes_before = log_warnings(before, LOG_WARNINGS_KEPT);
  if (request->printed) files_count_printed(self.services.files, request->printed);
  int code = request->follows && !begins(&self) ? CODE_DONE : -1;
  if (code < 0) code = open_capture(&self, request->settings, IMPORT_READER_CAPTURE);
  if (code == CODE_DONE && self.reader.state) code = open_outputs(&self);
  if (code == CODE_DONE && self.reader.state) {
    if (request->follows) feed_opened();
    code = write_all(&self);
  }
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
  replaying self = {.request = &request};
  config_assignment *rows = NULL;
  *count = 0;
  const int code = open_capture(&self, readers, IMPORT_READER_CAPTURE);
  if (code == CODE_DONE) rows = copy_settings(&self.run.settings, path, count);
  if (!rows && code == CODE_DONE) error_set(err, PD_NO_MEMORY, CODE_INTERNAL, "%s: out of memory", path);
  close_all(&self);
  return rows;
}
