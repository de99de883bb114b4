/* See check_file.h. */
#include "check_file.h"

#include "check_capture.h"
#include "check_device_rows.h"
#include "check_host_rows.h"

#include "base/progress_line.h"
#include "base/signals.h"
#include "run/import/import_reader.h"
#include "run/import/import_windows.h"
#include "run/run_parts.h"

#include <stdio.h>

static void tell_progress(uint64_t bytes, uint64_t of) {
  if (of)
    progress_note("%.0f of %.0f MB", (double)bytes * 1e-6, (double)of * 1e-6);
  else
    progress_note("%.0f MB", (double)bytes * 1e-6);
}

/* Everything that one window's rows say. */
static pd_status check_window(check_file *self, check_rows *rows) {
  if (rows->failed) return PD_NO_MEMORY;
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

/* One window of a reader's. PD_STOP: there is none left. */
static pd_status read_window(check_file *self, const import_reader *reader) {
  check_rows *rows = NULL;
  pd_status status = check_rows_open(&rows, &self->findings);
  if (status == PD_OK) {
    rows->progress = tell_progress;
    status = reader->ops->next_window(reader->state, &rows->table);
  }
  if (status == PD_OK) status = check_window(self, rows);
  check_rows_close(rows);
  return status;
}

static int read_trace(check_file *self, const config *settings, const char *reader) {
  const services none = {.record = NULL};
  import_reader from;
  const int code = import_reader_open(&from, &none, settings, reader, self->path);
  if (code != CODE_DONE) return code;
  snprintf(self->reader, sizeof self->reader, "%s", from.name);
  pd_status status = PD_OK;
  while (status == PD_OK && !signals_pending()) status = read_window(self, &from);
  int ended = CODE_DONE;
  if (status != PD_OK && status != PD_STOP)
    ended = run_parts_report(from.host, status, self->path, CODE_CONFIG);
  else if (!self->windows && !signals_pending())
    ended = import_cannot_read(self->path, "it holds no event that can be checked");
  import_reader_close(&from);
  return ended;
}

static pd_status take_window(void *user, const pd_trace *trace) {
  check_file *self = user;
  check_rows *rows = NULL;
  pd_status status = check_rows_open(&rows, &self->findings);
  if (status == PD_OK) {
    check_rows_take(rows, trace);
    status = check_window(self, rows);
  }
  check_rows_close(rows);
  return status;
}

/* What else is damaged is a note. */
static void take_damage(void *user, const char *text) {
  check_file *self = user;
  if (finding_add(&self->findings, CHECK_FILE_DAMAGED, 0, CHECK_NO_BYTE))
    finding_say(&self->findings, CHECK_FILE_DAMAGED, "%s", text);
  else
    finding_note(&self->findings, "%s", text);
}

static int read_capture(check_file *self) {
  const check_capture_listener listener = {self, take_window, take_damage};
  snprintf(self->reader, sizeof self->reader, "capture");
  const int code = check_capture_read(self->path, &listener);
  return code == CODE_DONE && !self->windows ? import_cannot_read(self->path, "it holds no window that can be checked")
                                             : code;
}

void check_file_read(check_file *self, const config *settings, const char *reader, const char *path) {
  self->path = path;
  progress_enter("checking", NULL, 0);
  self->code = !reader && import_is_capture(path) ? read_capture(self) : read_trace(self, settings, reader);
}

void check_file_free(check_file *self) { check_rank_free(&self->rank); }
