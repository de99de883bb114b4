/* Correlation of device records to calls. See correlate.h. */
#include "correlation.h"
#include "sort.h"
#include "streams.h"
#include "trace_steps.h"

#include <stdlib.h>

static bool device_after_by_correlation(const void *rows, uint32_t a, uint32_t b) {
  const raw_device *devices = rows;
  return devices[a].activity.correlation > devices[b].activity.correlation;
}

static bool device_after_by_start(const void *rows, uint32_t a, uint32_t b) {
  const correlation *self = rows;
  const pd_activity *first = &self->merge->input->devices[self->kept[a]].activity;
  const pd_activity *second = &self->merge->input->devices[self->kept[b]].activity;
  if (self->kept_starts[a] != self->kept_starts[b]) return self->kept_starts[a] > self->kept_starts[b];
  if (first->end != second->end) return first->end > second->end;
  if (first->device != second->device) return first->device > second->device;
  if (first->context != second->context) return first->context > second->context;
  if (first->stream != second->stream) return first->stream > second->stream;
  if (first->correlation != second->correlation) return first->correlation > second->correlation;
  return correlation_content_after(first, second, sizeof *first);
}

static bool known_earlier(const window_input *input, uint64_t id) {
  uint64_t low = 0, high = input->earlier_count;
  while (low < high) {
    uint64_t middle = low + (high - low) / 2;
    if (input->earlier[middle] < id)
      low = middle + 1;
    else
      high = middle;
  }
  return low < input->earlier_count && input->earlier[low] == id;
}

/* A record whose call is not known: shown if it ran in the window, and counted. What ran before was launched before. */
static raw_fate unknown_fate(const correlation *self, const raw_device *device, int64_t start_ns) {
  const pd_activity *activity = &device->activity;
  merging *merge = self->merge;
  if (activity->start <= 0 || activity->end <= 0) {
    merge_lost(merge, PD_LOSS_UNMATCHED_ACTIVITY, LOSS_NO_THREAD, MERGE_NO_TIME);
    return FATE_DROPPED;
  }
  if (start_ns >= merge->end_ns) return FATE_LATER;
  if (start_ns < 0 || merge_is_paused_at(merge, device->clock, activity->start)) return FATE_DROPPED;
  merge_lost(merge, PD_LOSS_UNMATCHED_ACTIVITY, LOSS_NO_THREAD, start_ns);
  if (activity->end >= activity->start) return FATE_KEPT;
  merge_lost(merge, PD_LOSS_IMPLAUSIBLE, LOSS_NO_THREAD, start_ns);
  return FATE_DROPPED;
}

static raw_fate work_fate(const correlation *self, const raw_device *device, int64_t start_ns, uint32_t call,
                          raw_fate call_fate) {
  const pd_activity *activity = &device->activity;
  merging *merge = self->merge;
  if (call == PD_NONE) {
    if (activity->correlation && known_earlier(merge->input, activity->correlation)) return FATE_DROPPED;
    return unknown_fate(self, device, start_ns);
  }
  if (call_fate != FATE_KEPT) return call_fate;
  if (activity->start <= 0 || activity->end <= 0) {
    merge_lost(merge, PD_LOSS_ZERO_TIMESTAMP, merge->input->calls[call].thread, self->starts[call]);
    return FATE_DROPPED;
  }
  if (activity->end < activity->start || start_ns < self->starts[call] - PD_EARLY_NS) {
    merge_lost(merge, PD_LOSS_IMPLAUSIBLE, merge->input->calls[call].thread, self->starts[call]);
    return FATE_DROPPED;
  }
  return FATE_KEPT;
}

/* Synchronisations belong to their call where it is known; overhead has none: both else by their own start. */
static raw_fate other_fate(const correlation *self, const raw_device *device, int64_t start_ns, uint32_t call,
                           raw_fate call_fate) {
  if (call != PD_NONE) return call_fate;
  if (start_ns >= self->merge->end_ns) return FATE_LATER;
  const bool before = start_ns < 0 || merge_is_paused_at(self->merge, device->clock, device->activity.start);
  return before ? FATE_DROPPED : FATE_KEPT;
}

/* Joins device records to calls, both in the order of their correlation ids. */
static pd_status join(correlation *self, const raw_fate *call_fates, raw_fate *device_fates) {
  const window_input *input = self->merge->input;
  uint64_t count = input->device_count, at = 0;
  uint32_t *order = trace_scratch_alloc(count, 2 * sizeof *order);
  self->kept = trace_scratch_alloc(count, sizeof *self->kept);
  self->kept_call = trace_scratch_alloc(count, sizeof *self->kept_call);
  self->kept_starts = trace_scratch_alloc(count, sizeof *self->kept_starts);
  self->kept_shifts = trace_scratch_alloc(count, sizeof *self->kept_shifts);
  if (!order || !self->kept || !self->kept_call || !self->kept_starts || !self->kept_shifts) {
    free(order);
    return PD_NO_MEMORY;
  }
  for (uint64_t i = 0; i < count; i++) order[i] = (uint32_t)i;
  sort_runs(order, order + count, count, device_after_by_correlation, input->devices);
  for (uint64_t i = 0; i < count; i++) {
    const raw_device *device = &input->devices[order[i]];
    const pd_activity *activity = &device->activity;
    while (at < self->ordered && input->calls[self->order[at]].correlation < activity->correlation) at++;
    uint32_t call = PD_NONE;
    if (at < self->ordered && input->calls[self->order[at]].correlation == activity->correlation)
      call = self->order[at];
    raw_fate call_fate = call == PD_NONE ? FATE_DROPPED : call_fates[call];
    int64_t start_ns = correlation_time_of(self->merge, device->clock, activity->start);
    raw_fate fate = pd_activity_is_work(activity) ? work_fate(self, device, start_ns, call, call_fate)
                                                  : other_fate(self, device, start_ns, call, call_fate);
    device_fates[order[i]] = fate;
    if (fate != FATE_KEPT) continue;
    self->kept[self->kept_count] = order[i];
    self->kept_call[self->kept_count] = call == PD_NONE ? PD_NONE : self->rows[call];
    self->kept_starts[self->kept_count++] = start_ns;
  }
  free(order);
  return PD_OK;
}

/* Lists the device rows of each call, and counts what each step launched and got. */
static pd_status group_by_call(correlation *self, const pd_device_row *rows, uint64_t count) {
  merging *merge = self->merge;
  uint64_t grouped = 0, next = 0;
  for (uint64_t i = 0; i < count; i++)
    if (rows[i].call != PD_NONE) {
      self->calls[rows[i].call].activity_count++;
      grouped++;
    }
  pd_array *array = &merge->trace->trace.activities_by_call;
  pd_status status = trace_array(merge->trace, array, grouped, sizeof(uint32_t));
  if (status != PD_OK) return status;
  uint32_t *indices = (uint32_t *)array->data;
  for (uint64_t i = 0; i < self->call_count; i++) {
    self->calls[i].activity_first = (uint32_t)next;
    next += self->calls[i].activity_count;
    self->calls[i].activity_count = 0;
  }
  for (uint64_t i = 0; i < count; i++) {
    if (rows[i].call == PD_NONE) continue;
    pd_call *call = &self->calls[rows[i].call];
    indices[call->activity_first + call->activity_count++] = (uint32_t)i;
  }
  for (uint64_t i = 0; i < self->call_count; i++) {
    const pd_call *call = &self->calls[i];
    const bool launch = trace_is_launch(call);
    if (launch && !call->activity_count)
      merge_lost(merge, PD_LOSS_UNMATCHED_LAUNCH,
                 call->thread < merge->thread_count ? merge->threads[call->thread].tid : LOSS_NO_THREAD,
                 call->start_ns);
    if (call->step == PD_NONE) continue;
    pd_trace_step *step = &merge->steps[call->step];
    step->launches += launch;
    step->matched += launch && call->activity_count;
    step->device_rows += call->activity_count;
  }
  return PD_OK;
}

/* Moves what begins before its call to after it, and all that follows by as much, so that lengths and order stay as
 * they were on every stream, in whatever order the records came. `order` is by start. */
static void correct_times(correlation *self, const uint32_t *order) {
  merging *merge = self->merge;
  int64_t shift_ns = 0;
  for (uint64_t i = 0; i < self->kept_count; i++) {
    const uint32_t kept = order[i], call = self->kept_call[kept];
    self->kept_shifts[kept] = 0;
    if (!pd_activity_is_work(&merge->input->devices[self->kept[kept]].activity)) continue;
    const int64_t early_ns = call == PD_NONE ? 0 : self->calls[call].start_ns - self->kept_starts[kept];
    if (early_ns > shift_ns) shift_ns = early_ns;
    self->kept_shifts[kept] = shift_ns;
    if (shift_ns) merge_lost(merge, PD_LOSS_TIME_CORRECTED, LOSS_NO_THREAD, self->kept_starts[kept]);
  }
  merge->trace->trace.corrected_ns = shift_ns;
}

static void fill_device_row(correlation *self, stream_table *streams, uint32_t kept, pd_device_row *row) {
  merging *merge = self->merge;
  const raw_device *device = &merge->input->devices[self->kept[kept]];
  uint32_t call = self->kept_call[kept];
  *row = (pd_device_row){.start_ns = self->kept_starts[kept] + self->kept_shifts[kept],
                         .end_ns =
                             correlation_time_of(merge, device->clock, device->activity.end) + self->kept_shifts[kept],
                         .stream = streams_find(streams, &device->activity),
                         .call = call,
                         .range = call == PD_NONE ? PD_NONE : self->calls[call].range,
                         .step = call == PD_NONE ? PD_NONE : self->calls[call].step,
                         .detail = device->activity};
  if (device->activity.kind != PD_ACTIVITY_KERNEL) row->detail.name = streams_copy_name(streams, &device->activity);
  row->name = row->detail.name;
  row->detail.start = row->start_ns;
  row->detail.end = row->end_ns;
}

static void fill_other_row(correlation *self, const stream_table *streams, uint32_t kept, pd_other_row *row) {
  const raw_device *device = &self->merge->input->devices[self->kept[kept]];
  int64_t end_ns = correlation_time_of(self->merge, device->clock, device->activity.end);
  uint32_t call = self->kept_call[kept];
  *row = (pd_other_row){.start_ns = self->kept_starts[kept],
                        .end_ns = end_ns < self->kept_starts[kept] ? self->kept_starts[kept] : end_ns,
                        .name = device->activity.name,
                        .kind = device->activity.kind,
                        .thread = call == PD_NONE ? merge_find_thread(self->merge, device->activity.thread)
                                                  : self->calls[call].thread,
                        .stream = streams_find(streams, &device->activity),
                        .correlation = device->activity.kind == PD_ACTIVITY_SYNC ? device->activity.correlation : 0,
                        .device = device->activity.device,
                        .context = device->activity.context};
}

static pd_status write_devices(correlation *self) {
  merging *merge = self->merge;
  const window_input *input = merge->input;
  stream_table *streams = NULL;
  uint64_t work = 0, at = 0, other = 0;
  uint32_t *order = trace_scratch_alloc(self->kept_count, 2 * sizeof *order);
  pd_status status = order ? PD_OK : PD_NO_MEMORY;
  for (uint64_t i = 0; status == PD_OK && i < self->kept_count; i++) {
    order[i] = (uint32_t)i;
    work += pd_activity_is_work(&input->devices[self->kept[i]].activity);
  }
  if (status == PD_OK) status = streams_open(merge, self->kept, self->kept_count, &streams);
  pd_array *activities = &merge->trace->trace.activities, *others = &merge->trace->trace.others;
  if (status == PD_OK) status = trace_array(merge->trace, activities, work, sizeof(pd_device_row));
  if (status == PD_OK) status = trace_array(merge->trace, others, self->kept_count - work, sizeof(pd_other_row));
  if (status != PD_OK) goto out;
  pd_device_row *rows = (pd_device_row *)activities->data;
  pd_other_row *other_rows = (pd_other_row *)others->data;
  sort_runs(order, order + self->kept_count, self->kept_count, device_after_by_start, self);
  correct_times(self, order);
  for (uint64_t i = 0; i < self->kept_count; i++) {
    if (pd_activity_is_work(&input->devices[self->kept[order[i]]].activity))
      fill_device_row(self, streams, order[i], &rows[at++]);
    else
      fill_other_row(self, streams, order[i], &other_rows[other++]);
  }
  status = group_by_call(self, rows, work);
out:
  streams_close(streams);
  free(order);
  return status;
}

pd_status correlation_add_devices(correlation *self, const raw_fate *call_fates, raw_fate *device_fates) {
  const pd_status status = join(self, call_fates, device_fates);
  return status == PD_OK ? write_devices(self) : status;
}
