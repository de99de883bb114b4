/* See check_file.h. */
#include "check_file.h"

#include "check_device_rows.h"
#include "check_host_rows.h"

#include "base/progress_line.h"
#include "base/signals.h"
#include "run/import/captured_run.h"
#include "run/import/import_reader.h"
#include "run/run_parts.h"

#include <stdio.h>

/* Everything that one window's rows say. */
static pd_status check_window(check_file *self, check_rows *rows) {
  self->is_told = import_exceeds(self->path, "check", &rows->memory);
  if (rows->failed || self->is_told) return PD_NO_MEMORY;
  self->ranges += rows->ranges.count;
  self->calls += rows->calls.count;
  self->works += rows->works.count;
  self->windows++;
  self->clock = check_clocks(rows, &self->findings);
  pd_status status = check_launches(rows, self->clock, &self->findings);
  if (status == PD_OK) status = check_device(rows, self->clock, &self->findings);
  if (status == PD_OK) status = check_host(rows, self->clock, &self->findings);
  if (status != PD_OK) return status;
  check_rank_free(&self->rank);
  return check_rank_take(&self->rank, self->path, rows);
}

/* A file on its way to the checks. */
typedef struct check_reading {
  check_file *to;
  import_reader from;
  captured_run run;
} check_reading;

static int take_window(void *user, pd_trace *trace, const capture_delivery *delivery) {
  check_file *self = ((check_reading *)user)->to;
  check_rows *rows = NULL;
  (void)delivery;
  pd_status status = check_rows_open(&rows, &self->findings);
  if (status == PD_OK) {
    check_rows_take(rows, trace);
    status = check_window(self, rows);
  }
  check_rows_close(rows);
  if (self->is_told) return CODE_INTERNAL;
  return status == PD_OK ? CODE_DONE : run_parts_report(NULL, status, self->path, CODE_INTERNAL);
}

static void take_damage(void *user, uint64_t count, const char *text) {
  check_file *self = ((check_reading *)user)->to;
  finding_damage(&self->findings, count, CHECK_NO_BYTE, text);
}

static void take_record(void *user, const pd_captured *record) {
  captured_run_take(&((check_reading *)user)->run, record);
}

/* One window of a reader's. PD_STOP: there is none left. */
static pd_status read_window(check_reading *self) {
  check_rows *rows = NULL;
  pd_status status = check_rows_open(&rows, &self->to->findings);
  if (status == PD_OK) {
    rows->progress = progress_reach;
    rows->record = take_record;
    rows->record_user = self;
    status = self->from.ops->next_window(self->from.state, &rows->table);
  }
  if (status == PD_OK) status = self->run.is_open ? self->run.status : check_window(self->to, rows);
  check_rows_close(rows);
  return status;
}

static int read_windows(check_reading *self) {
  const check_file *to = self->to;
  pd_status status = PD_OK;
  while (status == PD_OK && !self->run.code && !signals_pending()) status = read_window(self);
  if (status == PD_STOP) {
    captured_run_end(&self->run);
    if (self->run.status != PD_OK) status = self->run.status;
  }
  if (to->is_told) return CODE_INTERNAL;
  if (status != PD_OK && status != PD_STOP) return run_parts_report(self->from.host, status, to->path, CODE_CONFIG);
  if (self->run.code != CODE_DONE) return self->run.code;
  if (!to->windows && !signals_pending()) return import_cannot_read(to->path, "it holds no event that can be checked");
  return CODE_DONE;
}

void check_file_read(check_file *self, const config *settings, const char *reader, const char *path) {
  const services none = {.record = NULL};
  check_reading reading = {.to = self};
  reading.run.listener = (captured_listener){.user = &reading, .window = take_window, .damage = take_damage};
  self->path = path;
  progress_enter("checking", PROGRESS_BYTE, 0);
  progress_reach(0, 0);
  self->code = import_reader_open(&reading.from, &none, settings, reader, path);
  if (self->code != CODE_DONE) return;
  (void)snprintf(self->reader, sizeof self->reader, "%s", reading.from.name);
  self->code = read_windows(&reading);
  captured_run_free(&reading.run);
  import_reader_close(&reading.from);
}

void check_file_free(check_file *self) { check_rank_free(&self->rank); }
