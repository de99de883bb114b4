/* See check_rows.h. */
#include "check_rows.h"

#include "trace/intake/intake.h"

#include <pdhost/loss_names.h>

#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

/* Measured on 1.5 and 3 million events, a third of them ranges, calls and kernels each. */
enum { BYTES_A_ROW = 80, ROW_BYTES = 56 };

static void *add(check_rows *self, row_array *rows, size_t bytes) {
  if (memory_guard_row(&self->memory)) {
    row_array_free(&self->ranges);
    row_array_free(&self->calls);
    row_array_free(&self->works);
  }
  if (self->memory.is_exceeded) return NULL;
  void *row = row_array_add(rows, bytes);
  if (!row) self->failed = true;
  return row;
}

/* False: the row is left out of what is checked further. */
static bool is_plausible(check_rows *self, int64_t start, int64_t end, uint32_t name) {
  const bool good = intake_can_hold(start, end);
  if (!good && finding_add(self->findings, CHECK_IMPLAUSIBLE_TIME, 0, self->byte))
    finding_say(self->findings, CHECK_IMPLAUSIBLE_TIME, "\"%s\" is from %lld ns to %lld ns",
                check_rows_name(self, name), (long long)start, (long long)end);
  return good;
}

static uint32_t intern(const pd_intake *table, const char *text, uint64_t length) {
  check_rows *self = table->impl;
  if (!length) return 0;
  const uint32_t id = strings_intern_bytes(self->strings, text, length);
  if (id == STRINGS_NO_MEMORY) self->failed = true;
  return id;
}

static uint32_t thread_of(const pd_intake *table, uint32_t pid, uint32_t tid) {
  check_rows *self = table->impl;
  const uint64_t key = (uint64_t)pid << 32 | tid;
  const uint32_t index = row_index_find(&self->thread_index, &self->threads, &key, sizeof key);
  if (index == PD_NONE) self->failed = true;
  return index;
}

static void name_thread(const pd_intake *table, uint32_t thread, uint32_t name) {
  (void)table;
  (void)thread;
  (void)name;
}

static void range(const pd_intake *table, const pd_read_range *given) {
  check_rows *self = table->impl;
  if (!is_plausible(self, given->start_ns, given->end_ns, given->name)) return;
  check_range *row = add(self, &self->ranges, sizeof *row);
  if (row) *row = (check_range){given->start_ns, given->end_ns, self->byte, given->name, given->thread};
}

static void add_call(check_rows *self, const pd_activity *given) {
  check_call *row = add(self, &self->calls, sizeof *row);
  if (!row) return;
  *row = (check_call){.start = given->start,
                      .end = given->end,
                      .byte = self->byte,
                      .correlation = given->correlation,
                      .name = given->name,
                      .thread = given->thread,
                      .api = given->u.api.api,
                      .result = given->u.api.result};
}

static void add_work(check_rows *self, const pd_activity *given) {
  const pd_stream_row key = {.device = given->device, .context = given->context, .stream = given->stream};
  const uint32_t stream = row_index_find(&self->stream_index, &self->streams, &key, sizeof key);
  check_work *row = add(self, &self->works, sizeof *row);
  if (stream == PD_NONE) self->failed = true;
  if (!row || stream == PD_NONE) return;
  *row = (check_work){.start = given->start,
                      .end = given->end,
                      .byte = self->byte,
                      .correlation = given->correlation,
                      .bytes = given->bytes,
                      .name = given->name,
                      .stream = stream,
                      .kind = given->kind,
                      .call = PD_NONE,
                      .occupancy = -1};
  if (given->kind == PD_ACTIVITY_KERNEL) {
    row->shared_bytes = given->u.kernel.static_bytes + given->u.kernel.dynamic_bytes;
    row->occupancy = given->u.kernel.occupancy;
    row->warps_per_sm = given->u.kernel.warps_per_sm;
  } else {
    row->from = given->u.copy.from;
    row->to = given->u.copy.to;
  }
}

static void activity(const pd_intake *table, const pd_activity *given) {
  check_rows *self = table->impl;
  if (!is_plausible(self, given->start, given->end, given->name)) return;
  switch (given->kind) {
  case PD_ACTIVITY_RUNTIME:
  case PD_ACTIVITY_DRIVER: add_call(self, given); break;
  case PD_ACTIVITY_KERNEL:
  case PD_ACTIVITY_MEMCPY:
  case PD_ACTIVITY_MEMSET: add_work(self, given); break;
  default: break; /* what the device waited for, and the profiler's own work */
  }
}

static void wait(const pd_intake *table, const pd_activity *given, uint64_t awaited) {
  (void)table;
  (void)given;
  (void)awaited;
}

static void memory(const pd_intake *table, uint32_t thread, int64_t ts_ns, const pd_memory_event *event) {
  (void)table;
  (void)thread;
  (void)ts_ns;
  (void)event;
}

static void step(const pd_intake *table, uint32_t thread, uint64_t number, int64_t start_ns, int64_t end_ns) {
  (void)table;
  (void)thread;
  (void)number;
  (void)start_ns;
  (void)end_ns;
}

static void source(const pd_intake *table, const pd_source *given) {
  check_rows *self = table->impl;
  const uint32_t count = given->device_count;
  self->source = *given;
  self->source.worker = self->source.versions = NULL;
  self->source.devices = NULL;
  self->source.device_count = 0;
  free(self->devices);
  free(self->device_names);
  self->devices = calloc((size_t)count + 1, sizeof *self->devices);
  self->device_names = calloc((size_t)count + 1, sizeof *self->device_names);
  if (!self->devices || !self->device_names) {
    self->failed = true;
    return;
  }
  for (uint32_t i = 0; i < count; i++) {
    self->devices[i] = given->devices[i];
    snprintf(self->device_names[i], sizeof self->device_names[i], "%s", given->devices[i].name);
    self->devices[i].name = self->device_names[i];
    self->devices[i].versions = NULL;
  }
  self->source.device_count = count;
}

static void add_lost(check_rows *self, pd_loss loss, uint64_t count) {
  if (!count || loss >= PD_LOSS_COUNT) return;
  /* Where the clocks of host and device disagree, pdhost says so and repairs it; the rest says what its text says. */
  if (loss == PD_LOSS_TIME_CORRECTED || loss == PD_LOSS_AMBIGUOUS) {
    finding_note(self->findings, "%s: %llu", pd_loss_text(loss), (unsigned long long)count);
    return;
  }
  const check_kind kind = loss == PD_LOSS_ZERO_TIMESTAMP       ? CHECK_ZERO_TIME
                          : loss == PD_LOSS_IMPLAUSIBLE        ? CHECK_IMPLAUSIBLE_TIME
                          : loss == PD_LOSS_UNMATCHED_ACTIVITY ? CHECK_WORK_WITHOUT_LAUNCH
                          : loss == PD_LOSS_UNMATCHED_LAUNCH   ? CHECK_LAUNCH_WITHOUT_WORK
                                                               : CHECK_RECORDS_LOST;
  if (finding_add(self->findings, kind, (double)count, CHECK_NO_BYTE))
    finding_say(self->findings, kind, "%llu %s", (unsigned long long)count, pd_loss_text(loss));
  self->findings->of[kind].count += count - 1;
}

static void lost(const pd_intake *table, pd_loss loss, uint64_t count) { add_lost(table->impl, loss, count); }

PD_PRINTF(4, 5) static void odd(const pd_intake *table, pd_odd how, uint64_t count, const char *format, ...) {
  check_rows *self = table->impl;
  char text[CHECK_TEXT];
  va_list args;
  va_start(args, format);
  vsnprintf(text, sizeof text, format, args);
  va_end(args);
  if (how == PD_ODD_NOTE)
    finding_note(self->findings, "%s", text);
  else
    finding_damage(self->findings, count, self->byte, text);
}

static void place(const pd_intake *table, uint64_t byte) { ((check_rows *)table->impl)->byte = byte; }

static void progress(const pd_intake *table, uint64_t bytes, uint64_t of) {
  const check_rows *self = table->impl;
  if (self->progress) self->progress(bytes, of);
}

static void record(const pd_intake *table, const pd_captured *given) {
  const check_rows *self = table->impl;
  if (self->record) self->record(self->record_user, given);
}

/* What the system saw of the host: samples that no rule ties to other rows. */
static void state(const pd_intake *table, const pd_state_row *row) {
  (void)table;
  (void)row;
}
static void child(const pd_intake *table, const pd_child_row *row) {
  (void)table;
  (void)row;
}
static void code(const pd_intake *table, const pd_code_row *row) {
  (void)table;
  (void)row;
}

pd_status check_rows_open(check_rows **out, check_findings *findings) {
  check_rows *self = calloc(1, sizeof *self);
  *out = self;
  if (!self) return PD_NO_MEMORY;
  self->findings = findings;
  self->byte = CHECK_NO_BYTE;
  self->memory = (memory_guard){.row_needs = BYTES_A_ROW, .row_takes = ROW_BYTES};
  self->table = (pd_intake){.size = sizeof self->table,
                            .impl = self,
                            .intern = intern,
                            .thread = thread_of,
                            .name_thread = name_thread,
                            .range = range,
                            .activity = activity,
                            .wait = wait,
                            .memory = memory,
                            .step = step,
                            .source = source,
                            .lost = lost,
                            .odd = odd,
                            .place = place,
                            .progress = progress,
                            .record = record,
                            .state = state,
                            .child = child,
                            .code = code};
  return strings_open(&self->strings);
}

void check_rows_close(check_rows *self) {
  if (!self) return;
  row_array *all[] = {&self->ranges, &self->calls, &self->works, &self->streams, &self->threads};
  for (size_t i = 0; i < sizeof all / sizeof all[0]; i++) row_array_free(all[i]);
  free(self->stream_index.slots);
  free(self->thread_index.slots);
  free(self->devices);
  free(self->device_names);
  strings_close(self->strings);
  free(self);
}

/* ---- a window of ours ---- */

static uint32_t name_of(check_rows *self, const pd_trace *trace, uint32_t id) {
  const pd_string *text = pd_trace_string(trace, id);
  return intern(&self->table, text->text, text->length);
}

static void take_host(check_rows *self, const pd_trace *trace) {
  for (uint64_t i = 0; i < trace->ranges.count; i++) {
    const pd_range *at = PD_AT(pd_range, &trace->ranges, i);
    range(&self->table, &(pd_read_range){.start_ns = at->start_ns,
                                         .end_ns = at->end_ns,
                                         .name = name_of(self, trace, at->name),
                                         .thread = at->thread});
  }
  for (uint64_t i = 0; i < trace->calls.count; i++) {
    const pd_call *at = PD_AT(pd_call, &trace->calls, i);
    pd_activity call = {.kind = at->kind,
                        .name = name_of(self, trace, at->name),
                        .start = at->start_ns,
                        .end = at->end_ns,
                        .correlation = at->correlation,
                        .thread = at->thread};
    call.u.api.api = at->api;
    call.u.api.result = at->result;
    add_call(self, &call);
  }
}

void check_rows_take(check_rows *self, const pd_trace *trace) {
  pd_device_props device = *trace->device;
  if (!device.name) device.name = "";
  self->is_merged = true;
  source(&self->table,
         &(pd_source){.size = sizeof(pd_source), .base_ns = trace->base_ns, .device_count = 1, .devices = &device});
  take_host(self, trace);
  for (uint64_t i = 0; i < trace->activities.count; i++) {
    const pd_device_row *at = PD_AT(pd_device_row, &trace->activities, i);
    pd_activity work = at->detail;
    work.name = name_of(self, trace, at->name);
    add_work(self, &work);
    if (self->works.count) ((check_work *)self->works.data)[self->works.count - 1].call = at->call;
  }
  for (pd_loss loss = 0; loss < PD_LOSS_COUNT; loss++) add_lost(self, loss, trace->losses[loss]);
}

/* ---- what the checks ask ---- */

const char *check_rows_name(const check_rows *self, uint32_t id) {
  enum { NAMES = 4, LENGTH = 90 };
  static char texts[NAMES][LENGTH + 4];
  static uint32_t next;
  char *text = texts[next++ % NAMES];
  const pd_string name = strings_get(self->strings, id);
  if (name.length <= LENGTH) {
    snprintf(text, LENGTH + 4, "%s", name.text);
    return text;
  }
  size_t bytes = LENGTH;
  while (bytes && ((unsigned char)name.text[bytes] & 0xC0) == 0x80) bytes--; /* no half of a character */
  snprintf(text, LENGTH + 4, "%.*s...", (int)bytes, name.text);
  return text;
}

const char *check_number(char *text, uint64_t correlation) {
  if (!correlation) return "no number";
  snprintf(text, CHECK_NUMBER, "number %llu", (unsigned long long)correlation);
  return text;
}

const pd_device_props *check_rows_device(const check_rows *self, uint32_t stream) {
  const pd_stream_row *streams = self->streams.data;
  for (uint32_t i = 0; i < self->source.device_count; i++)
    if (self->devices[i].index == streams[stream].device) return &self->devices[i];
  return NULL;
}

static void widen(int64_t *least, int64_t *most, int64_t start, int64_t end) {
  if (start < *least) *least = start;
  if (end > *most) *most = end;
}

bool check_rows_extent(const check_rows *self, int64_t *least, int64_t *most) {
  const check_range *ranges = self->ranges.data;
  const check_call *calls = self->calls.data;
  const check_work *works = self->works.data;
  *least = INT64_MAX;
  *most = INT64_MIN;
  for (uint64_t i = 0; i < self->ranges.count; i++) widen(least, most, ranges[i].start, ranges[i].end);
  for (uint64_t i = 0; i < self->calls.count; i++) widen(least, most, calls[i].start, calls[i].end);
  for (uint64_t i = 0; i < self->works.count; i++) widen(least, most, works[i].start, works[i].end);
  return *least <= *most;
}
