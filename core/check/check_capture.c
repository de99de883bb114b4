/* See check_capture.h. */
#include "check_capture.h"

#include "base/arena.h"
#include "base/error.h"
#include "run/capture_text.h"
#include "run/run_parts.h"
#include "trace/recorder.h"
#include "trace/saved_window.h"

#include <errno.h>
#include <stdio.h>
#include <string.h>

typedef struct capture_windows {
  const check_capture_listener *listener;
  capture_reader reader;
  saved_strings strings;
  arena memory;
  pd_device_props device; /* as it was told last */
} capture_windows;

static void tell_missing(const capture_windows *self, const saved_window *window) {
  for (uint64_t i = 0; i < window->missing_count; i++) {
    char text[160];
    snprintf(text, sizeof text, "window %u: %llu %s are missing: the file is damaged there", window->input.window,
             (unsigned long long)window->missing[i].count, capture_kind_text(window->missing[i].kind));
    self->listener->damage(self->listener->user, text);
  }
}

static pd_status take_window(capture_windows *self, uint64_t index) {
  saved_window window;
  pd_trace *trace = NULL;
  pd_status status = saved_window_load(&window, &self->reader, index, &self->strings);
  if (status == PD_INVALID) {
    self->listener->damage(self->listener->user, "a window cannot be read: the file is damaged there");
    return PD_OK;
  }
  if (status != PD_OK) return status;
  window.end.device = &self->device;
  tell_missing(self, &window);
  status = saved_window_merge(&window, &trace);
  if (status == PD_OK) status = self->listener->window(self->listener->user, trace);
  trace_free(trace);
  saved_window_free(&window);
  return status;
}

static pd_status take_device(capture_windows *self, const capture_record *at) {
  pd_device_props device;
  char *text = arena_take(&self->memory, (size_t)at->bytes + 1);
  if (!text) return PD_NO_MEMORY;
  if (capture_payload(&self->reader, at, text) == PD_OK && capture_device_parse(text, &self->memory, &device))
    self->device = device;
  return self->memory.failed ? PD_NO_MEMORY : PD_OK;
}

static pd_status take_all(capture_windows *self) {
  pd_status status = saved_strings_open(&self->strings, &self->reader);
  for (uint64_t i = 0; i < self->reader.count && status == PD_OK; i++) {
    const capture_record *at = &self->reader.records[i];
    if (at->kind == CAPTURE_STRINGS) status = saved_strings_add(&self->strings, &self->reader, at);
    if (at->kind == CAPTURE_DEVICE) status = take_device(self, at);
    if (at->kind == CAPTURE_WINDOW) status = take_window(self, i);
  }
  return status;
}

static int cannot_read(const char *path, const char *why) {
  error_line_print(FAULT_UNREADABLE, NULL, "%s: cannot be read: %s", path, why);
  return CODE_CONFIG;
}

int check_capture_read(const char *path, const check_capture_listener *listener) {
  capture_windows self = {
      .listener = listener, .reader = {.fd = -1}, .device = {.size = sizeof self.device, .name = "", .versions = ""}};
  pd_status status = capture_open(&self.reader, path);
  int code = CODE_DONE;
  if (status == PD_IO) {
    code = cannot_read(path, strerror(errno));
  } else if (status == PD_INVALID) {
    code = cannot_read(path, "it is no capture of this version of pdhost");
  } else if (status == PD_OK) {
    if (self.reader.torn) {
      char text[128];
      snprintf(text, sizeof text, "%llu bytes at %llu places cannot be read; what lies between is used",
               (unsigned long long)self.reader.torn_bytes, (unsigned long long)self.reader.torn);
      listener->damage(listener->user, text);
    }
    status = take_all(&self);
  }
  if (status != PD_OK && code == CODE_DONE) code = run_parts_report(NULL, status, path, CODE_INTERNAL);
  saved_strings_close(&self.strings);
  capture_reader_close(&self.reader);
  arena_free(&self.memory);
  return code;
}
