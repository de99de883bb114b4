/* See captured_run.h. Nothing in the file is believed. */
#include "captured_run.h"

#include "trace/recorder.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

static bool goes_on(const captured_run *self) { return self->status == PD_OK && !self->code; }

static void tell(const captured_run *self, uint64_t count, const char *text) {
  if (self->listener.damage) self->listener.damage(self->listener.user, count, text);
}

static void tell_missing(const captured_run *self, const saved_window *window) {
  for (uint64_t i = 0; i < window->missing_count; i++) {
    const saved_missing *at = &window->missing[i];
    char text[160], whose[32] = "";
    if (at->thread) (void)snprintf(whose, sizeof whose, " of thread %u", at->thread);
    (void)snprintf(text, sizeof text, "window %u: %llu %s%s are missing: the file is damaged there",
                   window->input.window, (unsigned long long)at->count, capture_kind_text(at->kind), whose);
    tell(self, at->count, text);
  }
}

/* ---- windows ---- */

static void give_merged(captured_run *self, saved_window *window, const capture_delivery *delivery) {
  pd_trace *trace = NULL;
  window->end.device = &self->device;
  tell_missing(self, window);
  self->status = saved_window_merge(window, &trace);
  if (self->status != PD_OK) return;
  trace->partial = delivery ? delivery->partial : 1;
  if (self->listener.window) self->code = self->listener.window(self->listener.user, trace, delivery);
  self->windows++;
  trace_free(trace);
}

static void give_window(captured_run *self, const capture_delivery *delivery) {
  const capture_reader *rows = &self->kept.reader;
  saved_window window;
  if (!rows->count || !goes_on(self)) return;
  const pd_status status = saved_window_load(&window, rows, 0, &self->strings);
  if (status == PD_OK) {
    give_merged(self, &window, delivery);
    saved_window_free(&window);
  } else if (status == PD_INVALID) {
    char text[96];
    (void)snprintf(text, sizeof text, "window %u cannot be read: the file is damaged there", rows->records[0].window);
    tell(self, 1, text);
  } else {
    self->status = status;
  }
  capture_kept_clear(&self->kept);
}

static void keep_row(captured_run *self, const pd_captured *record) {
  const capture_record row = {.kind = record->kind,
                              .window = record->window,
                              .thread = record->thread,
                              .count = record->count,
                              .row_bytes = record->row_bytes,
                              .bytes = record->bytes,
                              .first = record->first};
  self->status = capture_kept_add(&self->kept, &row, record->payload);
}

/* A window that is there twice was written by the worker, and by the supervisor after it died: the second is whole.
 * Before another window the record that ends it is missing. */
static void begin_window(captured_run *self, const pd_captured *record) {
  if (self->kept.reader.count && self->kept.reader.records[0].window != record->window) give_window(self, NULL);
  capture_kept_clear(&self->kept);
  if (goes_on(self)) keep_row(self, record);
}

/* ---- the rest ---- */

static const char *text_of(captured_run *self, const pd_captured *record) {
  return arena_text(&self->memory, record->payload, record->bytes);
}

static void take_steps(captured_run *self, const pd_captured *record) {
  pd_step_stats step;
  const char *rows = record->payload;
  if (record->row_bytes != sizeof step || (uint64_t)record->count * sizeof step != record->bytes) return;
  for (uint32_t i = 0; i < record->count && !self->code && self->listener.step; i++) {
    memcpy(&step, rows + i * sizeof step, sizeof step);
    step.size = sizeof step;
    self->code = self->listener.step(self->listener.user, &step, record->first + i);
  }
}

static void take_run(captured_run *self, const pd_captured *record) {
  const char *text = self->run.size ? NULL : text_of(self, record);
  if (text && !capture_run_parse(text, &self->memory, &self->run, &self->about)) self->run.size = 0;
}

/* Each window has it again; it is seldom another one. */
static void take_device(captured_run *self, const pd_captured *record) {
  pd_device_props device;
  if (self->device_text && self->device_bytes == record->bytes &&
      memcmp(self->device_text, record->payload, record->bytes) == 0)
    return;
  char *text = malloc((size_t)record->bytes + 1); /* all of it, also where a byte in its middle is 0 */
  if (!text) {
    self->status = PD_NO_MEMORY;
    return;
  }
  memcpy(text, record->payload, record->bytes);
  text[record->bytes] = '\0';
  free(self->device_text);
  self->device_text = text;
  self->device_bytes = record->bytes;
  if (capture_device_parse(text, &self->memory, &device)) self->device = device;
}

static void take_delivery(captured_run *self, const pd_captured *record) {
  arena passing = {0}; /* as long as the window is */
  capture_delivery delivery;
  const char *text = arena_text(&passing, record->payload, record->bytes);
  const bool is_one = text && capture_delivery_parse(text, &passing, &delivery);
  if (passing.failed)
    self->status = PD_NO_MEMORY;
  else
    give_window(self, is_one ? &delivery : NULL);
  arena_free(&passing);
}

static void take_summary(captured_run *self, const pd_captured *record) {
  const char *text = text_of(self, record);
  const bool is_one = text && capture_summary_parse(text, &self->memory, &self->summary, &self->written);
  self->summary.size = is_one ? sizeof self->summary : 0;
}

void captured_run_take(captured_run *self, const pd_captured *record) {
  if (!self->is_open && goes_on(self)) {
    self->status = saved_strings_open(&self->strings);
    self->kept.reader.fd = -1;
    self->is_open = self->status == PD_OK;
    self->device = (pd_device_props){.size = sizeof self->device, .name = "", .versions = ""};
  }
  if (!goes_on(self)) return;
  switch (record->kind) {
  case CAPTURE_RUN: take_run(self, record); break;
  case CAPTURE_DEVICE: take_device(self, record); break;
  case CAPTURE_STRINGS:
    self->status = saved_strings_add(&self->strings, record->payload, record->bytes, record->at + record->bytes);
    break;
  case CAPTURE_STEP: take_steps(self, record); break;
  case CAPTURE_WINDOW: begin_window(self, record); break;
  case CAPTURE_DELIVER: take_delivery(self, record); break;
  case CAPTURE_SUMMARY: take_summary(self, record); break;
  case CAPTURE_RANK:
  case CAPTURE_RANK_CLOCKS:
    if (self->listener.ranks) self->listener.ranks(self->listener.user, record);
    break;
  default:
    if (self->kept.reader.count) keep_row(self, record);
  }
  if (self->memory.failed) self->status = PD_NO_MEMORY;
}

void captured_run_end(captured_run *self) {
  if (!self->summary.size) give_window(self, NULL);
}

void captured_run_free(captured_run *self) {
  capture_kept_free(&self->kept);
  if (self->is_open) saved_strings_close(&self->strings);
  arena_free(&self->memory);
  free(self->device_text);
}
