/* The table that readers fill, and the order in which a trace is made of it. See intake.h. */
#include "intake_rows.h"

#include "trace/recorder.h"

#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

/* Times this far from 0 on both sides differ by a number of 64 bits. What is beyond is left out. */
static bool plausible(intake *self, int64_t start, int64_t end) {
  const int64_t most = INT64_C(4500000000000000000);
  const bool good = start > -most && start < most && end > -most && end < most;
  if (!good) self->losses[PD_LOSS_IMPLAUSIBLE]++;
  return good;
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
  if (!plausible(self, given->start_ns, given->end_ns)) return;
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
                      .shape_set = given->shape_count ? intake_shape_set(self, given->shapes, given->shape_count) : 0,
                      .kind = (uint8_t)given->kind,
                      .part = (uint8_t)given->part,
                      .backward = (uint8_t)given->backward};
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
  if (!plausible(self, given->start, given->end)) return;
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
  if (!plausible(self, given->start, given->end)) return;
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
  if (!plausible(self, ts_ns, ts_ns)) return;
  read_memory *row = row_array_add(&self->memory, sizeof *row);
  if (row)
    *row = (read_memory){ts_ns, thread, *event};
  else
    self->failed = true;
}

static void step(const pd_intake *table, uint32_t thread, uint64_t number, int64_t start_ns, int64_t end_ns) {
  intake *self = table->impl;
  if (!plausible(self, start_ns, end_ns)) return;
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

PD_PRINTF(3, 4) static void odd(const pd_intake *table, pd_odd how, const char *format, ...) {
  va_list args;
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
                            .progress = progress};
  *out = self;
  return PD_OK;
}

static void drop(row_array *rows) {
  free(rows->data);
  *rows = (row_array){0};
}

void intake_close(intake *self) {
  if (!self) return;
  row_array *all[] = {&self->ranges, &self->calls,   &self->works,   &self->others,      &self->memory,
                      &self->steps,  &self->details, &self->streams, &self->thread_keys, &self->threads};
  for (size_t i = 0; i < sizeof all / sizeof all[0]; i++) drop(all[i]);
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
/* ---- building ---- */

static void widen(int64_t *least, int64_t *most, int64_t start, int64_t end) {
  if (start < *least) *least = start;
  if (end > *most) *most = end;
}

/* From the first start to the last end of anything that the program or the device did. */
static bool find_extent(const intake *from, int64_t *least, int64_t *most) {
  *least = INT64_MAX;
  *most = INT64_MIN;
  const read_range *ranges = from->ranges.data;
  for (uint64_t i = 0; i < from->ranges.count; i++) widen(least, most, ranges[i].start, ranges[i].end);
  const read_call *calls = from->calls.data;
  for (uint64_t i = 0; i < from->calls.count; i++) widen(least, most, calls[i].start, calls[i].end);
  const read_work *works = from->works.data;
  for (uint64_t i = 0; i < from->works.count; i++) widen(least, most, works[i].start, works[i].end);
  const read_step *steps = from->steps.data;
  for (uint64_t i = 0; i < from->steps.count; i++) widen(least, most, steps[i].start, steps[i].end);
  return *least <= *most;
}

static pd_status add_losses(intake_build *self) {
  pd_loss_row rows[2 * PD_LOSS_COUNT];
  uint32_t count = 0;
  for (pd_loss loss = 0; loss < PD_LOSS_COUNT; loss++) {
    const uint64_t said = self->from->losses[loss];
    self->trace->losses[loss] = said + self->losses[loss];
    if (said) rows[count++] = (pd_loss_row){0, self->trace->end_ns, said, loss, PD_NONE};
  }
  for (pd_loss loss = 0; loss < PD_LOSS_COUNT; loss++)
    if (self->losses[loss])
      rows[count++] = (pd_loss_row){self->loss_start[loss], self->loss_end[loss], self->losses[loss], loss, PD_NONE};
  for (uint32_t i = 1; i < count; i++) /* a few rows, by start */
    for (uint32_t k = i; k > 0 && rows[k - 1].start_ns > rows[k].start_ns; k--) {
      const pd_loss_row row = rows[k];
      rows[k] = rows[k - 1];
      rows[k - 1] = row;
    }
  const pd_status status = trace_array(self->owned, &self->trace->loss_rows, count, sizeof *rows);
  if (status == PD_OK && count) memcpy((void *)self->trace->loss_rows.data, rows, count * sizeof *rows);
  return status;
}

/* The device that works the most, as the file describes it, or as little as is known of it. The trace's own. */
static pd_status choose_device(intake_build *self) {
  static const pd_device_props unknown = {.size = sizeof unknown, .name = "unknown device", .versions = ""};
  const pd_stream_row *streams = self->trace->streams.data;
  const uint64_t count = self->trace->streams.count;
  double *busy = calloc(count + 1, sizeof *busy), most = 0;
  pd_device_props *device = trace_alloc(self->owned, 1, sizeof *device);
  if (!busy || !device) {
    free(busy);
    return PD_NO_MEMORY;
  }
  uint32_t index = 0;
  for (uint64_t i = 0; i < self->trace->activities.count; i++) {
    const pd_device_row *row = PD_AT(pd_device_row, &self->trace->activities, i);
    uint64_t first = row->stream; /* streams of one device stand together */
    while (first && streams[first - 1].device == streams[row->stream].device) first--;
    busy[first] += (double)(row->end_ns - row->start_ns);
    if (busy[first] <= most) continue;
    most = busy[first];
    index = streams[row->stream].device;
  }
  *device = unknown;
  device->index = index;
  device->is_cuda = self->trace->activities.count > 0;
  for (uint32_t i = 0; i < self->from->source.device_count; i++)
    if (self->from->devices[i].index == index) *device = self->from->devices[i];
  const char *const texts[] = {device->name, device->versions ? device->versions : ""};
  for (int i = 0; i < 2; i++) { /* the intake goes before the trace does */
    const size_t bytes = strlen(texts[i]) + 1;
    char *copy = trace_alloc(self->owned, bytes, 1);
    if (copy) memcpy(copy, texts[i], bytes);
    *(i ? &device->versions : &device->name) = copy ? copy : "";
  }
  free(busy);
  self->trace->device = device;
  return PD_OK;
}

static pd_status build_all(intake_build *self) {
  pd_status status = build_threads(self);
  if (status == PD_OK) status = build_shapes(self);
  if (status == PD_OK) status = build_ranges(self);
  drop(&self->from->ranges);
  if (status == PD_OK) status = build_calls(self);
  if (status == PD_OK) status = build_device(self);
  if (status == PD_OK) status = build_memory(self);
  if (status == PD_OK) status = build_steps(self);
  if (status == PD_OK) status = add_losses(self);
  if (status == PD_OK) status = choose_device(self);
  return status == PD_OK ? merge_add_strings(self->owned, self->from->strings) : status;
}

pd_status intake_finish(intake *self, uint32_t window, const char *origin, pd_trace **out) {
  int64_t least, most;
  *out = NULL;
  if (self->failed) return PD_NO_MEMORY;
  if (!find_extent(self, &least, &most)) return PD_STOP;
  owned_trace *owned = calloc(1, sizeof *owned);
  if (!owned) return PD_NO_MEMORY;
  intake_build build = {.from = self, .owned = owned, .trace = &owned->trace, .base = least};
  owned->trace = (pd_trace){.size = sizeof owned->trace,
                            .window = window,
                            .base_ns = self->source.base_ns + least,
                            .end_ns = most - least,
                            .pid = self->source.pid,
                            .profile = self->works.count ? PD_PROFILE_FULL : PD_PROFILE_NONE,
                            .profile_note = self->works.count ? NULL : "the file has no device records",
                            .counters = {NULL, 0, sizeof(pd_counter_row)},
                            .stacks = {NULL, 0, sizeof(pd_stack)},
                            .origin = origin,
                            .facts = self->source.facts,
                            .rank = self->source.rank,
                            .ranks = self->source.ranks};
  const pd_status status = build_all(&build);
  free(build.thread_rows);
  free(build.stream_rows);
  free(build.merge.threads);
  if (status != PD_OK) {
    trace_free(&owned->trace);
    return status;
  }
  *out = &owned->trace;
  return PD_OK;
}
