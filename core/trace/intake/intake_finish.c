/* The trace of an intake: its extent, its device, its losses, and the order of its parts. See intake.h. */
#include "intake_rows.h"

#include "trace/recorder.h"

#include <stdlib.h>
#include <string.h>

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
  static const pd_device_props unknown = {.size = sizeof unknown, .name = INTAKE_DEVICE_UNKNOWN, .versions = ""};
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
  pd_status status = intake_build_threads(self);
  if (status == PD_OK) status = intake_build_shapes(self);
  if (status == PD_OK) status = intake_build_ranges(self);
  row_array_free(&self->from->ranges);
  if (status == PD_OK) status = intake_build_stacks(self);
  row_array_free(&self->from->frames);
  if (status == PD_OK) status = intake_build_calls(self);
  if (status == PD_OK) status = intake_build_device(self);
  if (status == PD_OK) status = intake_build_memory(self);
  if (status == PD_OK) status = intake_build_host(self);
  if (status == PD_OK) status = intake_build_steps(self);
  if (status == PD_OK) status = add_losses(self);
  if (status == PD_OK) status = choose_device(self);
  return status == PD_OK ? merge_add_strings(self->owned, self->from->strings) : status;
}

pd_status intake_finish(intake *self, uint32_t window, const char *origin, pd_trace **out) {
  int64_t least, most;
  *out = NULL;
  if (self->failed || self->guard.is_exceeded) return PD_NO_MEMORY;
  if (!find_extent(self, &least, &most)) return PD_STOP;
  owned_trace *owned = calloc(1, sizeof *owned);
  if (!owned) return PD_NO_MEMORY;
  intake_build build = {.from = self, .owned = owned, .trace = &owned->trace, .base = least};
  owned->trace = (pd_trace){.size = sizeof owned->trace,
                            .window = window,
                            .base_ns = self->source.base_ns + least,
                            .end_ns = most - least,
                            .pid = self->source.pid,
                            .partial = self->source.partial,
                            .profile = self->works.count ? PD_PROFILE_FULL : PD_PROFILE_NONE,
                            .profile_note = self->works.count ? NULL : "the file holds none",
                            .counters = {NULL, 0, sizeof(pd_counter_row)},
                            .stacks = {NULL, 0, sizeof(pd_stack)},
                            .origin = origin,
                            .facts = self->source.facts,
                            .rank = self->source.rank,
                            .ranks = self->source.ranks,
                            .paused_ns = self->source.paused_ns};
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
