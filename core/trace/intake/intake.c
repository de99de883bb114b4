/* The table that readers fill. See intake.h. */
#include "intake_rows.h"

#include "trace/recorder.h"

#include <stdarg.h>
#include <stdlib.h>
#include <string.h>

/* What a window takes at most until its tables are made, and what of it the rows here take (bench_kineto, 10^6 to 10^8
 * events). */
enum { BYTES_A_ROW = 180, ROW_BYTES = 43 };

static void drop_rows(intake *self) {
  row_array *all[] = {&self->ranges, &self->frames, &self->calls, &self->works,
                      &self->others, &self->memory, &self->steps};
  for (size_t i = 0; i < sizeof all / sizeof all[0]; i++) row_array_free(all[i]);
}

const memory_guard *intake_memory(const intake *self) { return &self->guard; }

/* Whether a row with these times is taken. */
static bool is_taken(intake *self, int64_t start, int64_t end) {
  const bool good = intake_can_hold(start, end);
  if (!good) self->losses[PD_LOSS_IMPLAUSIBLE]++;
  if (memory_guard_row(&self->guard)) drop_rows(self);
  return good && !self->guard.is_exceeded;
}

static uint32_t intern(const pd_intake *table, const char *text, uint64_t length) {
  intake *self = table->impl;
  if (!length) return 0;
  const uint32_t id = strings_intern_bytes(self->strings, text, length);
  if (id == STRINGS_NO_MEMORY) self->failed = true;
  return id;
}

static uint32_t thread_of(const pd_intake *table, uint32_t pid, uint32_t tid) {
  intake *self = table->impl;
  const read_thread *rows = self->threads.data;
  if (self->last_thread < self->threads.count && rows[self->last_thread].tid == tid &&
      rows[self->last_thread].pid == pid)
    return self->last_thread;
  /* Names come later, and would tell equal threads apart: they are looked up by number alone. */
  for (uint32_t i = 0; i < self->threads.count && i < 64; i++)
    if (rows[i].tid == tid && rows[i].pid == pid) return self->last_thread = i;
  const uint64_t key = (uint64_t)pid << 32 | tid;
  row_array *keys = &self->thread_keys;
  const uint64_t known = keys->count;
  const uint32_t index = row_index_find(&self->thread_index, keys, &key, sizeof key);
  if (index == PD_NONE) {
    self->failed = true;
    return 0;
  }
  if (keys->count > known) {
    read_thread *added = row_array_add(&self->threads, sizeof *added);
    if (!added) {
      keys->count--;
      self->failed = true;
      return 0;
    }
    *added = (read_thread){.pid = pid, .tid = tid};
  }
  return self->last_thread = index;
}

static void name_thread(const pd_intake *table, uint32_t thread, uint32_t name) {
  intake *self = table->impl;
  if (thread < self->threads.count) ((read_thread *)self->threads.data)[thread].name = name;
}

static void range(const pd_intake *table, const pd_read_range *given) {
  intake *self = table->impl;
  if (!is_taken(self, given->start_ns, given->end_ns)) return;
  read_range *row = row_array_add(&self->ranges, sizeof *row);
  if (!row) {
    self->failed = true;
    return;
  }
  *row = (read_range){.start = given->start_ns,
                      .end = given->end_ns < given->start_ns ? given->start_ns : given->end_ns,
                      .name = given->name,
                      .thread = given->thread,
                      .sequence = given->sequence,
                      .module = given->module,
                      .shape_set = given->shape_count ? intake_shape_set(self, given->shapes, given->shape_count) : 0,
                      .kind = (uint8_t)given->kind,
                      .part = (uint8_t)given->part,
                      .backward = (uint8_t)given->backward};
}

static void frame(const pd_intake *table, uint32_t thread, uint32_t name, int64_t start_ns, int64_t end_ns) {
  intake *self = table->impl;
  if (!is_taken(self, start_ns, end_ns)) return;
  read_frame *row = row_array_add(&self->frames, sizeof *row);
  if (row)
    *row = (read_frame){start_ns, end_ns < start_ns ? start_ns : end_ns, name, thread};
  else
    self->failed = true;
}

static bool add_call(intake *self, const pd_activity *given) {
  read_call *row = row_array_add(&self->calls, sizeof *row);
  if (!row) return false;
  *row = (read_call){.start = given->start,
                     .end = given->end < given->start ? given->start : given->end,
                     .correlation = given->correlation,
                     .name = given->name,
                     .thread = given->thread,
                     .cbid = given->u.api.cbid,
                     .result = given->u.api.result,
                     .kind = (uint8_t)given->kind,
                     .api = (uint8_t)given->u.api.api};
  return true;
}

static uint32_t stream_of(intake *self, const pd_activity *given) {
  const pd_stream_row key = {.device = given->device, .context = given->context, .stream = given->stream};
  return row_index_find(&self->stream_index, &self->streams, &key, sizeof key);
}

static bool add_work(intake *self, const pd_activity *given) {
  pd_activity detail;
  memcpy(&detail, given, sizeof detail); /* its padding, too: equal rows are equal bytes */
  detail.start = detail.end = 0;
  detail.correlation = detail.bytes = 0;
  detail.thread = 0;
  /* Profilers write 0 for what they could not compute, and for what rounds to it. */
  if (detail.kind == PD_ACTIVITY_KERNEL && !(detail.u.kernel.occupancy > 0)) detail.u.kernel.occupancy = -1;
  const uint32_t at = row_index_find(&self->detail_index, &self->details, &detail, sizeof detail);
  const uint32_t stream = stream_of(self, given);
  read_work *row = at == PD_NONE || stream == PD_NONE ? NULL : row_array_add(&self->works, sizeof *row);
  if (!row) return false;
  *row = (read_work){.start = given->start,
                     .end = given->end < given->start ? given->start : given->end,
                     .correlation = given->correlation,
                     .bytes = given->bytes,
                     .detail = at,
                     .stream = stream};
  return true;
}

static void wait(const pd_intake *table, const pd_activity *given, uint64_t awaited) {
  intake *self = table->impl;
  if (!is_taken(self, given->start, given->end)) return;
  const bool of_stream = given->kind == PD_ACTIVITY_SYNC && given->stream != PD_STREAM_UNKNOWN;
  read_other *row = of_stream && stream_of(self, given) == PD_NONE ? NULL : row_array_add(&self->others, sizeof *row);
  if (!row) {
    self->failed = true;
    return;
  }
  row->activity = *given;
  row->awaited = awaited;
  if (given->end < given->start) row->activity.end = given->start;
}

static void activity(const pd_intake *table, const pd_activity *given) {
  intake *self = table->impl;
  bool good = true;
  if (!is_taken(self, given->start, given->end)) return;
  switch (given->kind) {
  case PD_ACTIVITY_RUNTIME:
  case PD_ACTIVITY_DRIVER: good = add_call(self, given); break;
  case PD_ACTIVITY_KERNEL:
  case PD_ACTIVITY_MEMCPY:
  case PD_ACTIVITY_MEMSET: good = add_work(self, given); break;
  default: wait(table, given, 0); break;
  }
  if (!good) self->failed = true;
}

static void memory(const pd_intake *table, uint32_t thread, int64_t ts_ns, const pd_memory_event *event) {
  intake *self = table->impl;
  if (!is_taken(self, ts_ns, ts_ns)) return;
  read_memory *row = row_array_add(&self->memory, sizeof *row);
  if (row)
    *row = (read_memory){ts_ns, thread, *event};
  else
    self->failed = true;
}

static void step(const pd_intake *table, uint32_t thread, uint64_t number, int64_t start_ns, int64_t end_ns) {
  intake *self = table->impl;
  if (!is_taken(self, start_ns, end_ns)) return;
  read_step *row = row_array_add(&self->steps, sizeof *row);
  if (row)
    *row = (read_step){start_ns, end_ns < start_ns ? start_ns : end_ns, number, thread};
  else
    self->failed = true;
}

static const char *keep(char **to, const char *text, intake *self) {
  free(*to);
  *to = text ? strdup(text) : NULL;
  if (text && !*to) self->failed = true;
  return *to;
}

static void forget_devices(intake *self) {
  for (uint32_t i = 0; self->device_names && i < self->source.device_count; i++) free(self->device_names[i]);
  free(self->device_names);
  free(self->devices);
  self->device_names = NULL;
  self->devices = NULL;
}

static void source(const pd_intake *table, const pd_source *given) {
  intake *self = table->impl;
  forget_devices(self);
  self->source = *given;
  if (!PD_HAS(pd_source, given, paused_ns) || given->paused_ns < 0) self->source.paused_ns = 0;
  self->source.worker = keep(&self->worker, given->worker, self);
  self->source.versions = keep(&self->versions, given->versions, self);
  self->source.devices = NULL;
  self->source.device_count = 0;
  if (!given->device_count) return;
  self->devices = calloc(given->device_count, sizeof *self->devices);
  self->device_names = calloc(given->device_count, sizeof *self->device_names);
  if (!self->devices || !self->device_names) {
    self->failed = true;
    return;
  }
  for (uint32_t i = 0; i < given->device_count; i++) {
    self->devices[i] = given->devices[i];
    self->devices[i].name = keep(&self->device_names[i], given->devices[i].name, self);
    self->devices[i].versions = self->source.versions;
  }
  self->source.devices = self->devices;
  self->source.device_count = given->device_count;
}

static void lost(const pd_intake *table, pd_loss loss, uint64_t count) {
  intake *self = table->impl;
  if (loss < PD_LOSS_COUNT) self->losses[loss] += count;
}

PD_PRINTF(4, 5) static void odd(const pd_intake *table, pd_odd how, uint64_t count, const char *format, ...) {
  va_list args;
  (void)count;
  va_start(args, format);
  intake_tell(table->impl, how, format, args);
  va_end(args);
}

static void place(const pd_intake *table, uint64_t byte) {
  (void)table;
  (void)byte;
}

static void progress(const pd_intake *table, uint64_t bytes, uint64_t of) {
  const intake *self = table->impl;
  if (self->listener.progress) self->listener.progress(self->listener.user, bytes, of);
}

static void record(const pd_intake *table, const pd_captured *given) {
  const intake *self = table->impl;
  if (self->listener.record) self->listener.record(self->listener.user, given);
}

pd_status intake_open(const intake_listener *listener, intake **out) {
  *out = NULL;
  intake *self = calloc(1, sizeof *self);
  if (!self) return PD_NO_MEMORY;
  if (strings_open(&self->strings) != PD_OK) {
    free(self);
    return PD_NO_MEMORY;
  }
  if (listener) self->listener = *listener;
  self->source.size = sizeof self->source;
  self->guard = (memory_guard){.row_needs = BYTES_A_ROW, .row_takes = ROW_BYTES};
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
                            .frame = frame};
  intake_open_host(&self->table);
  *out = self;
  return PD_OK;
}

void intake_close(intake *self) {
  if (!self) return;
  row_array *all[] = {&self->ranges, &self->calls,   &self->works,    &self->others,      &self->memory,
                      &self->steps,  &self->details, &self->streams,  &self->thread_keys, &self->threads,
                      &self->frames, &self->states,  &self->children, &self->code};
  for (size_t i = 0; i < sizeof all / sizeof all[0]; i++) row_array_free(all[i]);
  free(self->detail_index.slots);
  free(self->stream_index.slots);
  free(self->thread_index.slots);
  intake_drop_shapes(self);
  forget_devices(self);
  free(self->worker);
  free(self->versions);
  strings_close(self->strings);
  free(self);
}

const pd_intake *intake_table(const intake *self) { return &self->table; }
