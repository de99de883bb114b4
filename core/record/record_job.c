/* See record_job.h. */
#include "record_job.h"

#include "record_ends.h"
#include "record_program.h"
#include "record_report.h"
#include "record_rings.h"

#include "base/files.h"
#include "base/log.h"
#include "base/monotonic.h"
#include "base/shell_word.h"
#include "run/import/import.h"
#include "config/run_folder.h"

#include <limits.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

/* The rings are looked at so often while there are some, and so often before. */
enum { DRAIN_MS = 20, LOOK_MS = 100, ENDING_MS = 1000 };
/* How often it is looked at what the host does. */
enum { HOST_MS = 1 };

typedef struct job {
  config *settings;
  const record_request *request;
  record_session session;
  record_rings rings;
  record_program program;
  record_report report;
  int64_t start_ms, begun_ms, stopped_ms; /* begun_ms 0: nothing was recorded yet; stopped_ms 0: it goes on */
  int64_t paused_ms;                      /* since when it is paused, where it is */
  record_order order;
  int asked;          /* the signal that asks pdhost to end without a report; 0: none */
  const char **paths; /* of the captures that are in the report */
  uint32_t path_count;
  uint32_t snapshots;     /* begun so far */
  char folder[PATH_MAX];  /* of the snapshot whose report is being made; "": none is */
  bool reports, reported; /* the report is begun; it is over */
  bool is_recorded;
} job;

static int64_t now_ms(void) { return monotonic_ns() / 1000000; }

static int64_t ms_of(double seconds) { return (int64_t)(seconds * 1000); }

static void set_order(job *self, record_order order) {
  self->order = order;
  if (order == RECORD_STOP) self->stopped_ms = now_ms();
  record_session_order(&self->session, order);
  if (self->rings.live) atomic_store_explicit(&self->rings.live->state, (uint32_t)order, memory_order_relaxed);
}

/* The time of a pause does not count for the duration. */
static void keep_pause(job *self, int64_t now) {
  if (self->order == RECORD_GO && self->program.is_paused) {
    set_order(self, RECORD_PAUSE);
    self->paused_ms = now;
    log_line(PD_LOG_INFO, NULL, "the recording is paused");
  } else if (self->order == RECORD_PAUSE && !self->program.is_paused) {
    set_order(self, RECORD_GO);
    if (self->begun_ms) self->begun_ms += now - self->paused_ms;
    log_line(PD_LOG_INFO, NULL, "the recording goes on; it was paused for %.1f s",
             1e-3 * (double)(now - self->paused_ms));
  }
}

/* When the recording begins and ends. */
static void keep_time(job *self) {
  const record_request *request = self->request;
  const int64_t now = now_ms();
  if (self->order == RECORD_WAIT) {
    const bool by_time = !request->starts_on_signal && now - self->start_ms >= ms_of(request->start_after_s);
    if (by_time || self->program.signals) set_order(self, RECORD_GO);
  }
  keep_pause(self, now);
  if (!self->begun_ms && record_rings_begun(&self->rings)) self->begun_ms = now;
  const bool is_over = self->begun_ms && request->duration_s > 0 && now - self->begun_ms >= ms_of(request->duration_s);
  const bool is_told = request->starts_on_signal && self->program.signals > 1;
  const bool is_counted = request->steps && record_rings_steps(&self->rings) >= request->steps;
  const bool is_on = self->order == RECORD_GO || (self->order == RECORD_PAUSE && (is_told || self->rings.fault));
  if (is_on && (is_over || is_told || is_counted || self->rings.fault)) set_order(self, RECORD_STOP);
}

/* ---- the report ---- */

static uint32_t captures(const job *self, const char **paths) {
  uint32_t count = 0;
  for (uint32_t i = 0; i < RECORD_SLOTS; i++)
    if (self->rings.all[i].works && self->rings.all[i].path) paths[count++] = self->rings.all[i].path;
  return count;
}

static void remove_captures(const job *self, bool are_kept) {
  for (uint32_t i = 0; i < RECORD_SLOTS; i++) {
    const record_ring *ring = &self->rings.all[i];
    if (!ring->path) continue;
    if (!are_kept || !ring->works)
      (void)unlink(ring->path);
    else if (!self->settings->quiet)
      fprintf(stderr, "pdhost: wrote %s\n", ring->path);
  }
}

/* The words that make the report later. */
static void tell_later(const job *self) {
  const char *folder = self->folder[0] ? self->folder : self->settings->run.trace_dir;
  const char *step = self->request->step;
  const bool is_one = self->path_count == 1;
  char name[SHELL_WORD_BYTES], path[SHELL_WORD_BYTES];
  log_line(PD_LOG_WARN, NULL, "%s; the recording is kept; for its report: pdhost analyze %s%s%s%s%s", self->report.why,
           step ? "--step " : "", step ? shell_word_in(name, step) : "", step ? " " : "",
           shell_word_in(path, is_one ? self->paths[0] : folder), is_one ? "" : "/*.pdcap");
}

/* Where only the last seconds are kept they are written to captures first. How many processes are in the report. */
static uint32_t find_captures(job *self, const char *folder) {
  self->paths = calloc(RECORD_SLOTS, sizeof *self->paths);
  const bool is_written = self->request->last_s <= 0 || record_rings_write_last(&self->rings, folder);
  self->path_count = self->paths ? captures(self, self->paths) : 0;
  const bool is_known = !record_rings_begun(&self->rings) && self->reports; /* record_ends_tell has said why */
  if (self->request->last_s > 0 && is_written && !self->path_count && !is_known)
    log_line(PD_LOG_WARN, NULL, "nothing was launched in the last %g s; there is no report", self->request->last_s);
  return self->path_count;
}

static void forget_captures(job *self) {
  free(self->paths);
  self->paths = NULL;
  self->path_count = 0;
}

static void begin_report(job *self) {
  self->reports = true;
  record_ends_tell(&self->rings, self->request->command[0], self->order != RECORD_WAIT);
  for (uint32_t i = 0; i < RECORD_SLOTS; i++)
    if (self->rings.all[i].outlives && self->rings.all[i].works)
      log_line(PD_LOG_WARN, NULL, "process %u still runs; its records until now are in the report",
               self->rings.all[i].pid);
  self->is_recorded = find_captures(self, self->settings->run.trace_dir) != 0;
  if (!self->path_count) return;
  if (self->request->marks_torch) record_ends_tell_torch(&self->session);
  const import_request request = {.files = self->paths,
                                  .file_count = self->path_count,
                                  .step = self->request->step,
                                  .first_steps = self->request->steps,
                                  .is_recording = true};
  if (self->asked)
    record_report_give_up(&self->report, self->asked);
  else
    record_report_begin(&self->report, self->settings, &request);
}

/* False: it is still being made. */
static bool end_report(job *self) {
  if (!self->reported && record_report_over(&self->report)) {
    const int code = self->report.code;
    self->reported = true;
    if (code < 0) tell_later(self);
    remove_captures(self, self->settings->run.keep_capture || (code != CODE_DONE && code != CODE_UNTRUSTED));
  }
  return self->reported;
}

/* ---- snapshots: reports of the last seconds while the program runs on ---- */

static void begin_snapshot(job *self) {
  const char *own = self->settings->run.trace_dir;
  char why[256];
  self->snapshots++;
  if (snprintf(self->folder, sizeof self->folder, "%s/snapshot-%u", own, self->snapshots) >= (int)sizeof self->folder ||
      files_make_folder(self->folder, why, sizeof why) != PD_OK) {
    log_line(PD_LOG_WARN, NULL, "no folder for a snapshot can be made below %s", own);
    self->folder[0] = '\0';
    return;
  }
  if (!find_captures(self, self->folder)) {
    (void)rmdir(self->folder);
    self->folder[0] = '\0';
    forget_captures(self);
    return;
  }
  const import_request request = {
      .files = self->paths, .file_count = self->path_count, .step = self->request->step, .is_recording = true};
  self->settings->run.trace_dir = self->folder; /* as the report's process is to have it */
  record_report_begin(&self->report, self->settings, &request);
  self->settings->run.trace_dir = own;
}

/* True: none is being made. */
static bool end_snapshot(job *self) {
  if (!self->folder[0]) return true;
  if (!record_report_over(&self->report)) return false;
  const int code = self->report.code;
  if (code < 0) tell_later(self);
  remove_captures(self, self->settings->run.keep_capture || (code != CODE_DONE && code != CODE_UNTRUSTED));
  forget_captures(self);
  record_rings_forget(&self->rings);
  self->report = (record_report){.pid = 0};
  self->folder[0] = '\0';
  return true;
}

/* One at a time; those that are asked for meanwhile are one more. */
static void keep_snapshots(job *self) {
  if (!end_snapshot(self) || !self->program.askings) return;
  self->program.askings = 0;
  begin_snapshot(self);
}

/* ---- signals ---- */

/* The program is over: what asks for an end now asks pdhost. */
static void hear(job *self, int milliseconds) {
  const int number = record_program_asked(&self->program, milliseconds);
  if (!number || self->asked) return;
  self->asked = number;
  if (self->reports || self->folder[0]) record_report_give_up(&self->report, number);
}

/* ---- the program's life ---- */

/* Processes that live on are given a moment to bring out what they have. */
static void end_recording(job *self) {
  const int64_t until = now_ms() + ENDING_MS;
  bool is_told = false;
  record_rings_outlive(&self->rings);
  while (record_rings_drain(&self->rings) && now_ms() < until) {
    if (!is_told) record_session_order(&self->session, RECORD_STOP); /* `order` says how far the recording came */
    is_told = true;
    hear(self, DRAIN_MS);
  }
  record_rings_end(&self->rings);
}

/* Until the rings are to be drained again. True: the program has ended. */
static bool wait_for_program(job *self, int milliseconds) {
  const int64_t until = now_ms() + milliseconds;
  while (record_rings_look(&self->rings)) {
    if (record_program_wait(&self->program, HOST_MS)) return true;
    if (now_ms() >= until) return false;
  }
  return record_program_wait(&self->program, milliseconds);
}

static void watch(job *self) {
  uint32_t writing = 0;
  while (!wait_for_program(self, writing ? DRAIN_MS : LOOK_MS)) {
    keep_time(self);
    writing = record_rings_drain(&self->rings);
    if (self->reports)
      (void)end_report(self);
    else
      keep_snapshots(self);
    if (self->order != RECORD_STOP || self->reports) continue;
    if ((writing && now_ms() < self->stopped_ms + ENDING_MS) || !end_snapshot(self)) continue;
    record_rings_end(&self->rings); /* of processes that do not answer */
    begin_report(self);             /* the program goes on without a recorder */
  }
  while (!end_snapshot(self)) hear(self, LOOK_MS);
  if (!self->reports) {
    end_recording(self);
    begin_report(self);
  }
  while (!end_report(self)) hear(self, LOOK_MS);
}

static int open_all(job *self, error *err) {
  char why[256];
  const char *folder = self->settings->run.trace_dir;
  if (files_make_folder(folder, why, sizeof why) != PD_OK) {
    error_set(err, PD_IO, CODE_OUTPUT, "record: %s; name another folder with --out", why);
    return CODE_OUTPUT;
  }
  if (record_session_open(&self->session, self->request->cupti, err) != PD_OK) return CODE_OUTPUT;
  if (record_rings_open(&self->rings, &self->session, folder, self->request->step) != PD_OK) {
    error_set(err, PD_NO_MEMORY, CODE_INTERNAL, "record: out of memory");
    return CODE_INTERNAL;
  }
  self->rings.live = record_live_open();
  self->rings.last_ns = (int64_t)(self->request->last_s * 1e9);
  self->rings.host_way = self->request->host;
  self->rings.with_places = !self->request->marks_torch;
  const bool waits = self->request->starts_on_signal || self->request->start_after_s > 0;
  set_order(self, waits ? RECORD_WAIT : RECORD_GO);
  return CODE_DONE;
}

/* What cannot be recorded runs all the same. */
static int run_program(job *self, bool is_recorded, error *err) {
  self->program = (record_program){.command = self->request->command,
                                   .library = is_recorded ? self->request->library : NULL,
                                   .folder = self->session.folder,
                                   .marks_torch = self->request->marks_torch,
                                   .marks_modules = self->request->marks_modules,
                                   .yields = self->request->yields,
                                   .samples_code = self->request->host != RECORD_HOST_NONE,
                                   .takes_signal = self->request->starts_on_signal,
                                   .takes_asking = self->request->last_s > 0};
  if (record_program_start(&self->program, err) != PD_OK) return record_program_code(&self->program);
  self->start_ms = now_ms();
  if (is_recorded)
    watch(self);
  else
    while (!record_program_wait(&self->program, 1000)) {}
  record_program_end(&self->program);
  const int code = record_program_code(&self->program);
  return code == 0 && self->request->is_required && !self->is_recorded ? CODE_DEVICE : code;
}

int record_job_run(config *settings, const record_request *request) {
  static error err; /* large; the main thread's alone */
  run_folder_fill(settings);
  job self = {.settings = settings, .request = request};
  error_clear(&err);
  const char *other = record_ends_other_tool();
  if (other)
    log_line(PD_LOG_WARN, NULL,
             "CUDA_INJECTION64_PATH is set to %s: another tool records already; unset it to record with pdhost; the "
             "program runs unrecorded",
             other);
  const bool is_recorded = request->library && !other && open_all(&self, &err) == CODE_DONE;
  if (is_recorded) record_ends_tell_ranges(request->library);
  if (err.count) {
    char line[ERROR_LINE_BYTES];
    log_line(PD_LOG_WARN, NULL, "%s; the program runs unrecorded", error_first_line(&err, line, sizeof line));
  }
  error_clear(&err);
  const int code = run_program(&self, is_recorded, &err);
  error_print(&err);
  if (is_recorded) record_ends_folder(settings, self.is_recorded);
  free(self.paths);
  record_live_close(self.rings.live);
  record_rings_close(&self.rings);
  record_session_close(&self.session);
  return code;
}
