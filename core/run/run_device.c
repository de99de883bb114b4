/* The run's device; see run_device.h. */
#include "run_device.h"

#include "board.h"
#include "delays/delays.h"
#include "ranks/rank_group.h"

#include "abi/device_text.h"
#include "base/log.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

/* Ranks of one host take a device each, but for those that the launcher shows one device alone, and the CPU, which is
 * one. */
static uint32_t device_index(const run_state *run, const config *settings) {
  const uint32_t first = (uint32_t)settings->run.device_index;
  const char *shown = getenv("CUDA_VISIBLE_DEVICES");
  if (!run->ranks || strcmp(settings->device.plugin->table->name, "cpu") == 0) return first;
  return shown && shown[0] && !strchr(shown, ',') ? first : first + rank_group_local(run->ranks);
}

static pd_status open_with(run_state *run, const config *settings, error *err) {
  const pd_plugin *table = settings->device.plugin->table;
  char message[1024];
  run->device_host = service_host_open(&run->services, table->name);
  if (!run->device_host) return error_set(err, PD_NO_MEMORY, CODE_INTERNAL, "device %s: out of memory", table->name);
  run->device_ops = table->ops.device;
  board_enter("device", table->name, "opening");
  pd_status status = run->device_ops->open(service_host_table(run->device_host), settings->device.options,
                                           device_index(run, settings), &run->access.device);
  board_leave();
  if (status == PD_OK) {
    run->props = (pd_device_props){.size = sizeof run->props};
    status = run->device_ops->props(run->access.device, &run->props);
  }
  if (status == PD_OK) status = run->device_ops->stream->create(run->access.device, &run->access.stream);
  if (status == PD_OK) {
    run->access.size = sizeof run->access;
    run->access.ops = run->device_ops;
    if (run->delays) delays_install(run->delays, &run->access);
    run->services.device = &run->access;
    return PD_OK;
  }
  service_host_take_message(run->device_host, message, sizeof message);
  run_device_close(run);
  return error_set(err, status, CODE_DEVICE, "device %s: %s", table->name,
                   message[0] ? message : service_status_text(status));
}

/* CUDA where it works; else the CPU, which is said, and kept for every output. */
static pd_status open_auto(run_state *run, config *settings, error *err) {
  char line[ERROR_LINE_BYTES];
  pd_status status = config_load_device(settings, "cuda", err);
  if (status == PD_OK) status = open_with(run, settings, err);
  if (status == PD_OK) return PD_OK;
  snprintf(run->fallback, sizeof run->fallback, "%s", error_first_line(err, line, sizeof line));
  log_line(PD_LOG_WARN, NULL, "no GPU found (%s); using the CPU device",
           device_reason_short(run->fallback, line, sizeof line));
  log_line(PD_LOG_DEBUG, NULL, "%s", run->fallback);
  error_clear(err);
  status = config_load_device(settings, "cpu", err);
  return status == PD_OK ? open_with(run, settings, err) : status;
}

/* Where the user wrote which device to take; NULL: nowhere. */
static const char *where_chosen(const config *settings) {
  for (uint64_t i = 0; i < settings->setting_count; i++) {
    const pd_setting *at = &settings->settings[i];
    if (strcmp(at->section, "run") == 0 && strcmp(at->key, "device") == 0)
      return strcmp(at->origin, "default") == 0 ? NULL : at->origin;
  }
  return NULL;
}

static pd_status open_beside(run_state *run, const run_state *of, error *err) {
  char message[1024];
  uint64_t allocated, reserved;
  run->device_host = of->device_host;
  run->device_ops = of->device_ops;
  run->access = of->access;
  run->props = of->props;
  run->services.device = &run->access;
  pd_status status = run->device_ops->memory->usage(run->access.device, &allocated, &reserved, &run->peak_before_bytes);
  if (status == PD_OK && !run->props.is_cuda) {
    run->access.stream = NULL;
    status = run->device_ops->stream->create(run->access.device, &run->access.stream);
  }
  if (status == PD_OK) return PD_OK;
  service_host_take_message(run->device_host, message, sizeof message);
  return error_set(err, status, CODE_DEVICE, "device: %s", message[0] ? message : service_status_text(status));
}

static void leave_beside(const run_state *run) {
  const pd_memory_ops *memory = run->device_ops->memory;
  char unread[1024];
  if (run->access.stream && run->access.stream != run->beside->access.stream)
    run->device_ops->stream->destroy(run->access.device, run->access.stream);
  if (PD_HAS(pd_memory_ops, memory, trim) && memory->trim)
    (void)memory->trim(run->access.device, run->peak_before_bytes);
  service_host_take_message(run->device_host, unread, sizeof unread); /* else the other run would tell it as its own */
}

static void close_own(const run_state *run) {
  if (run->access.stream) run->device_ops->stream->destroy(run->access.device, run->access.stream);
  board_enter("device", "", "closing");
  run->device_ops->close(run->access.device);
  board_leave();
}

int run_device_open(run_state *run, config *settings) {
  static error err; /* 20 KiB: too large for the stack of a small thread; the loop thread's alone */
  error_clear(&err);
  const pd_status status = run->beside             ? open_beside(run, run->beside, &err)
                           : settings->device_auto ? open_auto(run, settings, &err)
                                                   : open_with(run, settings, &err);
  if (status == PD_OK) return CODE_DONE;
  const char *origin = where_chosen(settings);
  if (origin && err.exit_code != CODE_CONFIG) error_wrap(&err, origin); /* mistakes in keys have their own */
  error_print(&err);
  return err.exit_code;
}

void run_device_close(run_state *run) {
  if (run->access.device && run->device_ops) {
    const pd_stream_ops *stream = run->device_ops->stream;
    for (int i = 0; i < RUN_STEP_EVENTS; i++) {
      if (run->events[i].start) stream->event_destroy(run->access.device, run->events[i].start);
      if (run->events[i].end) stream->event_destroy(run->access.device, run->events[i].end);
      if (run->events[i].restart) stream->event_destroy(run->access.device, run->events[i].restart);
    }
    if (run->beside)
      leave_beside(run);
    else
      close_own(run);
  }
  memset(run->events, 0, sizeof run->events);
  memset(&run->access, 0, sizeof run->access);
  run->services.device = NULL;
  if (!run->beside) service_host_close(run->device_host);
  run->device_host = NULL;
}
