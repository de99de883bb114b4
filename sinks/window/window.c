/* The window sink: each active window as it lies in memory, one file a window (window_file.h). [loop thread] */
#include <pdhost/processors.h>
#include <pdhost/window_file.h>

#include "../lib/file_out.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

typedef struct state {
  const pd_host *host;
  const pd_run *run;
} state;

static pd_status window_sink_open(const pd_host *host, const void *options, const pd_run *run, void **out) {
  (void)options;
  state *self = calloc(1, sizeof *self);
  if (!self) return host->fail(host, PD_NO_MEMORY, "out of memory");
  *self = (state){host, run};
  *out = self;
  return PD_OK;
}

static void section(text_out *out, uint32_t id, size_t stride, uint64_t count) {
  const pd_window_section head = {id, (uint32_t)stride, count};
  text_out_bytes(out, &head, sizeof head);
}

static void one_row(text_out *out, uint32_t id, const void *row, size_t bytes) {
  section(out, id, bytes, 1);
  text_out_bytes(out, row, bytes);
}

/* Rows may have grown since this file was compiled, or since the host was: what both know of them is written. */
static void rows(text_out *out, uint32_t id, const pd_array *from, size_t bytes) {
  if (from->count && from->stride < bytes) bytes = (size_t)from->stride;
  section(out, id, bytes, from->count);
  if (!from->count) return;
  if (from->stride == bytes) {
    text_out_bytes(out, from->data, bytes * from->count);
    return;
  }
  for (uint64_t i = 0; i < from->count; i++) text_out_bytes(out, (const char *)from->data + i * from->stride, bytes);
}

/* The scenario's cures, a line each; NULL: their bytes are only counted. */
static size_t write_cures(text_out *out, const pd_run *run) {
  const pd_cure *cure = PD_HAS(pd_run, run, cures) ? run->cures : NULL;
  size_t bytes = 0;
  for (; cure && cure->cause; cure++) {
    const size_t cause = strlen(cure->cause), settings = strlen(cure->settings);
    bytes += cause + settings + 2;
    if (!out) continue;
    text_out_bytes(out, cure->cause, cause);
    text_out_literal(out, " ");
    text_out_bytes(out, cure->settings, settings);
    text_out_literal(out, "\n");
  }
  return bytes;
}

static void write_texts(text_out *out, const pd_trace *trace, const pd_run *run) {
  const char *texts[PD_WINDOW_TEXT_COUNT] = {
      [PD_WINDOW_TEXT_SCENARIO] = run->scenario,
      [PD_WINDOW_TEXT_BOTTLENECK] = run->bottleneck,
      [PD_WINDOW_TEXT_COMMAND_LINE] = run->command_line,
      [PD_WINDOW_TEXT_VERSION] = run->pdhost_version,
      [PD_WINDOW_TEXT_DEVICE] = trace->device ? trace->device->name : NULL,
      [PD_WINDOW_TEXT_DEVICE_VERSIONS] = trace->device ? trace->device->versions : NULL,
      [PD_WINDOW_TEXT_FALLBACK] = run->fallback,
      [PD_WINDOW_TEXT_PROFILE_NOTE] = trace->profile_note,
      [PD_WINDOW_TEXT_ORIGIN] = PD_HAS(pd_trace, trace, origin) ? trace->origin : NULL};
  uint64_t bytes = write_cures(NULL, run);
  for (uint32_t i = 0; i < PD_WINDOW_TEXT_COUNT; i++) bytes += (texts[i] ? strlen(texts[i]) : 0) + 1;
  section(out, PD_WINDOW_TEXTS, 1, bytes);
  for (uint32_t i = 0; i < PD_WINDOW_TEXT_COUNT; i++) {
    if (i == PD_WINDOW_TEXT_CURES) write_cures(out, run);
    text_out_bytes(out, texts[i] ? texts[i] : "", (texts[i] ? strlen(texts[i]) : 0) + 1);
  }
  bytes = 0;
  for (uint64_t i = 0; i < trace->strings.count; i++) bytes += strlen(PD_AT(pd_string, &trace->strings, i)->text) + 1;
  section(out, PD_WINDOW_STRINGS, 1, bytes);
  for (uint64_t i = 0; i < trace->strings.count; i++) {
    const char *text = PD_AT(pd_string, &trace->strings, i)->text;
    text_out_bytes(out, text, strlen(text) + 1);
  }
}

static void write_window(text_out *out, const pd_trace *trace, const pd_run *run) {
  static const pd_array nothing = {0};
  const pd_window_head head = {PD_WINDOW_MAGIC, PD_WINDOW_FORMAT, PD_WINDOW_SECTION_END - 1};
  const pd_window_run about = {.seed = run->seed,
                               .batch_size = run->batch_size,
                               .num_workers = run->num_workers,
                               .has_fallback = run->fallback != NULL,
                               .cores = pd_processors_allowed(),
                               .offers = PD_HAS(pd_run, run, offers) ? run->offers : 0};
  pd_trace flat = {.size = sizeof flat};
  memcpy(&flat, trace, trace->size < sizeof flat ? trace->size : sizeof flat); /* a host of 1.0 has a shorter one */
  pd_device_props device = trace->device ? *trace->device : (pd_device_props){0};
  const pd_array losses = flat.loss_rows, states = flat.states, children = flat.children, code = flat.code;
  pd_array *const pointers[] = {&flat.strings,
                                &flat.threads,
                                &flat.streams,
                                &flat.ranges,
                                &flat.calls,
                                &flat.activities,
                                &flat.activities_by_call,
                                &flat.others,
                                &flat.memory,
                                &flat.counters,
                                &flat.steps,
                                &flat.shapes,
                                &flat.stacks,
                                &flat.loss_rows,
                                &flat.states,
                                &flat.children,
                                &flat.code};
  for (size_t i = 0; i < sizeof pointers / sizeof pointers[0]; i++) *pointers[i] = nothing;
  flat.device = NULL;
  flat.profile_note = flat.origin = flat.steps_note = flat.steps_found = device.name = device.versions = NULL;
  text_out_bytes(out, &head, sizeof head);
  one_row(out, PD_WINDOW_TRACE, &flat, sizeof flat);
  one_row(out, PD_WINDOW_DEVICE, &device, sizeof device);
  one_row(out, PD_WINDOW_RUN, &about, sizeof about);
  write_texts(out, trace, run);
  rows(out, PD_WINDOW_THREADS, &trace->threads, sizeof(pd_thread));
  rows(out, PD_WINDOW_STREAMS, &trace->streams, sizeof(pd_stream_row));
  rows(out, PD_WINDOW_RANGES, &trace->ranges, sizeof(pd_range));
  rows(out, PD_WINDOW_CALLS, &trace->calls, sizeof(pd_call));
  rows(out, PD_WINDOW_ACTIVITIES, &trace->activities, sizeof(pd_device_row));
  rows(out, PD_WINDOW_ACTIVITIES_BY_CALL, &trace->activities_by_call, sizeof(uint32_t));
  rows(out, PD_WINDOW_OTHERS, &trace->others, sizeof(pd_other_row));
  rows(out, PD_WINDOW_MEMORY, &trace->memory, sizeof(pd_memory_row));
  rows(out, PD_WINDOW_COUNTERS, &trace->counters, sizeof(pd_counter_row));
  rows(out, PD_WINDOW_STEPS, &trace->steps, sizeof(pd_trace_step));
  rows(out, PD_WINDOW_SHAPES, &trace->shapes, sizeof(pd_shape));
  rows(out, PD_WINDOW_LOSS_ROWS, &losses, sizeof(pd_loss_row));
  rows(out, PD_WINDOW_STATES, &states, sizeof(pd_state_row));
  rows(out, PD_WINDOW_CHILDREN, &children, sizeof(pd_child_row));
  rows(out, PD_WINDOW_CODE, &code, sizeof(pd_code_row));
}

static pd_status window_sink_trace(void *given, const pd_trace *trace) {
  state *self = given;
  file_out file;
  char *path = NULL;
  if (asprintf(&path, "%s/window%u.pdw", self->run->trace_dir, trace->window) < 0)
    return self->host->fail(self->host, PD_NO_MEMORY, "out of memory");
  pd_status status = file_out_open(&file, self->host, path);
  if (status == PD_OK) {
    write_window(&file.out, trace, self->run);
    status = file_out_commit(&file);
  }
  free(path);
  return status;
}

static pd_status window_sink_close(void *given, const pd_summary *summary) {
  (void)summary;
  free(given);
  return PD_OK;
}

PD_SINK_PLAIN("window", "1.0", "each window as it lies in memory, for pdhost score", .open = window_sink_open,
              .on_trace_ready = window_sink_trace, .close = window_sink_close)
