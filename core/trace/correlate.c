/* Correlation of calls and device records. See correlate.h. */
#include "correlate.h"
#include "sort.h"
#include "streams.h"

#include <stdlib.h>
#include <string.h>

struct correlation {
  merging *merge;
  int64_t *starts;  /* of all calls, on the trace's axis */
  uint32_t *order;  /* all calls that may have device records, by correlation id; room for twice as many */
  uint64_t ordered; /* how many */
  uint32_t *rows;   /* of all calls: row in the trace */
  pd_call *calls;
  uint64_t call_count;
  /* device records that get a row: index of the raw one, and its call's row or PD_NONE */
  uint32_t *kept, *kept_call;
  uint64_t kept_count;
  int64_t *kept_starts, *kept_shifts; /* as recorded, and by how much each is moved */
};

/* Whether device work must follow the call. */
static bool call_launches(const raw_call *call) {
  return call->result == 0 && call->api >= PD_API_LAUNCH && call->api <= PD_API_GRAPH_LAUNCH;
}

static int64_t time_of(const merging *merge, uint32_t clock, int64_t stamp) {
  if (clock == PD_CLOCK_TICKS) return merge_ticks_ns(merge, (uint64_t)stamp);
  return trace_clock_from_realtime(merge->input->clock, stamp) - merge->base_ns;
}

/* Order by content where nothing else tells two records apart, so that their arrival does not. */
static bool content_after(const void *first, const void *second, size_t bytes) {
  return memcmp(first, second, bytes) > 0;
}

static bool call_after_by_correlation(const void *rows, uint32_t a, uint32_t b) {
  const correlation *self = rows;
  const raw_call *first = &self->merge->input->calls[a], *second = &self->merge->input->calls[b];
  if (first->correlation != second->correlation) return first->correlation > second->correlation;
  if (first->kind != second->kind) return first->kind > second->kind;
  if (self->starts[a] != self->starts[b]) return self->starts[a] > self->starts[b];
  return content_after(first, second, sizeof *first);
}

static bool call_after_by_start(const void *rows, uint32_t a, uint32_t b) {
  const correlation *self = rows;
  const raw_call *first = &self->merge->input->calls[a], *second = &self->merge->input->calls[b];
  if (self->starts[a] != self->starts[b]) return self->starts[a] > self->starts[b];
  if (first->thread != second->thread) return first->thread > second->thread;
  if (first->kind != second->kind) return first->kind > second->kind;
  if (first->correlation != second->correlation) return first->correlation > second->correlation;
  return content_after(first, second, sizeof *first);
}

/* Among the calls of one correlation id, order[from..to), drops driver calls made inside a runtime call. Runtime calls
 * come first, both by start. */
static void drop_nested(correlation *self, uint64_t from, uint64_t to, raw_fate *fates) {
  const raw_call *calls = self->merge->input->calls;
  uint64_t outer = from;
  if (calls[self->order[from]].kind != PD_ACTIVITY_RUNTIME) return;
  for (uint64_t i = from; i < to; i++) {
    uint32_t inner = self->order[i];
    if (calls[inner].kind == PD_ACTIVITY_RUNTIME) continue;
    while (outer + 1 < to && calls[self->order[outer + 1]].kind == PD_ACTIVITY_RUNTIME &&
           self->starts[self->order[outer + 1]] <= self->starts[inner])
      outer++;
    const raw_call *runtime = &calls[self->order[outer]];
    if (runtime->thread == calls[inner].thread && self->starts[self->order[outer]] <= self->starts[inner] &&
        time_of(self->merge, calls[inner].clock, calls[inner].end) <=
            time_of(self->merge, runtime->clock, runtime->end))
      fates[inner] = FATE_DROPPED;
  }
}

static void classify(correlation *self, raw_fate *fates) {
  merging *merge = self->merge;
  const window_input *input = merge->input;
  for (uint64_t i = 0; i < input->call_count; i++) {
    const raw_call *call = &input->calls[i];
    self->starts[i] = time_of(merge, call->clock, call->start);
    self->rows[i] = PD_NONE;
    fates[i] = FATE_DROPPED;
    if (call->start <= 0)
      merge_lost(merge, PD_LOSS_ZERO_TIMESTAMP, call->thread, MERGE_NO_TIME);
    else if (self->starts[i] >= merge->end_ns)
      fates[i] = FATE_LATER;
    else if (self->starts[i] >= 0)
      fates[i] = FATE_KEPT;
    if (call->correlation && call->start > 0) self->order[self->ordered++] = (uint32_t)i;
  }
  sort_runs(self->order, self->order + input->call_count, self->ordered, call_after_by_correlation, self);
  for (uint64_t i = 0, end; i < self->ordered; i = end) {
    uint64_t id = input->calls[self->order[i]].correlation;
    for (end = i + 1; end < self->ordered && input->calls[self->order[end]].correlation == id;) end++;
    if (end - i > 1) drop_nested(self, i, end, fates);
  }
}

pd_status correlation_open(merging *merge, raw_fate *call_fates, correlation **out) {
  uint64_t count = merge->input->call_count;
  correlation *self = calloc(1, sizeof *self);
  *out = NULL;
  if (!self) return PD_NO_MEMORY;
  self->merge = merge;
  if (count > WINDOW_MAX_ROWS || merge->input->device_count > WINDOW_MAX_ROWS) goto fail;
  self->starts = scratch_alloc(count, sizeof *self->starts);
  self->order = scratch_alloc(count, 2 * sizeof *self->order);
  self->rows = scratch_alloc(count, sizeof *self->rows);
  if (!self->starts || !self->order || !self->rows) goto fail;
  classify(self, call_fates);
  *out = self;
  return PD_OK;
fail:
  correlation_close(self);
  return PD_NO_MEMORY;
}

void correlation_close(correlation *self) {
  if (!self) return;
  free(self->starts);
  free(self->order);
  free(self->rows);
  free(self->kept);
  free(self->kept_call);
  free(self->kept_starts);
  free(self->kept_shifts);
  free(self);
}

uint32_t *merge_range_holders(const pd_range *ranges, uint64_t count) {
  uint32_t *holders = scratch_alloc(count, sizeof *holders);
  for (uint64_t i = 0; holders && i < count; i++) {
    const pd_range *range = &ranges[i];
    bool is_op = range->kind == PD_RANGE_OP || range->kind == PD_RANGE_OP_INNER;
    uint32_t outer = range->parent == PD_NONE ? PD_NONE : holders[range->parent];
    bool outer_is_op =
        outer != PD_NONE && (ranges[outer].kind == PD_RANGE_OP || ranges[outer].kind == PD_RANGE_OP_INNER);
    bool is_user = !is_op && range->kind != PD_RANGE_MODULE;
    holders[i] = is_op || (is_user && !outer_is_op) ? (uint32_t)i : outer;
  }
  return holders;
}

static pd_status write_calls(correlation *self, const raw_fate *fates) {
  merging *merge = self->merge;
  const window_input *input = merge->input;
  range_sweep *sweep = NULL;
  uint32_t *holders = NULL;
  uint64_t count = 0;
  for (uint64_t i = 0; i < input->call_count; i++) count += fates[i] == FATE_KEPT;
  pd_status status = trace_array(merge->trace, &merge->trace->trace.calls, count, sizeof(pd_call));
  if (status != PD_OK || !count) return status;
  self->calls = (pd_call *)merge->trace->trace.calls.data;
  self->call_count = count;
  uint32_t *order = scratch_alloc(count, 2 * sizeof *order);
  holders = merge_range_holders(merge->ranges, merge->trace->trace.ranges.count);
  status = order && holders ? sweep_open(merge, &sweep) : PD_NO_MEMORY;
  if (status != PD_OK) goto out;
  count = 0;
  for (uint64_t i = 0; i < input->call_count; i++)
    if (fates[i] == FATE_KEPT) order[count++] = (uint32_t)i;
  sort_runs(order, order + count, count, call_after_by_start, self);
  step_cursor cursor = {merge->steps, input->step_count, 0};
  uint32_t last_tid = 0, last_thread = PD_NONE;
  for (uint64_t i = 0; i < count; i++) {
    const raw_call *raw = &input->calls[order[i]];
    pd_call *call = &self->calls[i];
    if (last_thread == PD_NONE || raw->thread != last_tid) {
      last_tid = raw->thread;
      last_thread = merge_find_thread(merge, last_tid);
    }
    *call = (pd_call){.start_ns = self->starts[order[i]],
                      .end_ns = time_of(merge, raw->clock, raw->end),
                      .correlation = raw->correlation,
                      .name = raw->name,
                      .thread = last_thread,
                      .kind = raw->kind,
                      .api = raw->api,
                      .cbid = raw->cbid,
                      .result = raw->result};
    if (call->end_ns < call->start_ns) {
      call->end_ns = call->start_ns;
      merge_lost(merge, PD_LOSS_IMPLAUSIBLE, raw->thread, call->start_ns);
    }
    uint32_t innermost = sweep_at(sweep, call->thread, call->start_ns);
    call->range = innermost == PD_NONE ? PD_NONE : holders[innermost];
    call->step = step_at(&cursor, call->start_ns);
    self->rows[order[i]] = (uint32_t)i;
    if (call_launches(raw) && call->range == PD_NONE) merge_lost(merge, PD_LOSS_AMBIGUOUS, raw->thread, call->start_ns);
  }
out:
  sweep_close(sweep);
  free(order);
  free(holders);
  return status;
}

static bool is_work(const pd_activity *activity) {
  return activity->kind == PD_ACTIVITY_KERNEL || activity->kind == PD_ACTIVITY_MEMCPY ||
         activity->kind == PD_ACTIVITY_MEMSET;
}

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
  return content_after(first, second, sizeof *first);
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

/* A record whose call nobody knows: shown if it ran in the window, and counted. What ran before was launched before. */
static raw_fate unknown_fate(const correlation *self, const pd_activity *activity, int64_t start_ns) {
  merging *merge = self->merge;
  if (activity->start <= 0 || activity->end <= 0) {
    merge_lost(merge, PD_LOSS_UNMATCHED_ACTIVITY, LOSS_NO_THREAD, MERGE_NO_TIME);
    return FATE_DROPPED;
  }
  if (start_ns >= merge->end_ns) return FATE_LATER;
  if (start_ns < 0) return FATE_DROPPED;
  merge_lost(merge, PD_LOSS_UNMATCHED_ACTIVITY, LOSS_NO_THREAD, start_ns);
  if (activity->end >= activity->start) return FATE_KEPT;
  merge_lost(merge, PD_LOSS_IMPLAUSIBLE, LOSS_NO_THREAD, start_ns);
  return FATE_DROPPED;
}

static raw_fate work_fate(const correlation *self, const pd_activity *activity, int64_t start_ns, uint32_t call,
                          raw_fate call_fate) {
  merging *merge = self->merge;
  if (call == PD_NONE) {
    if (activity->correlation && known_earlier(merge->input, activity->correlation)) return FATE_DROPPED;
    return unknown_fate(self, activity, start_ns);
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
static raw_fate other_fate(const correlation *self, int64_t start_ns, uint32_t call, raw_fate call_fate) {
  if (call != PD_NONE) return call_fate;
  if (start_ns >= self->merge->end_ns) return FATE_LATER;
  return start_ns < 0 ? FATE_DROPPED : FATE_KEPT;
}

/* Joins device records to calls, both in the order of their correlation ids. */
static pd_status join(correlation *self, const raw_fate *call_fates, raw_fate *device_fates) {
  const window_input *input = self->merge->input;
  uint64_t count = input->device_count, at = 0;
  uint32_t *order = scratch_alloc(count, 2 * sizeof *order);
  self->kept = scratch_alloc(count, sizeof *self->kept);
  self->kept_call = scratch_alloc(count, sizeof *self->kept_call);
  self->kept_starts = scratch_alloc(count, sizeof *self->kept_starts);
  self->kept_shifts = scratch_alloc(count, sizeof *self->kept_shifts);
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
    int64_t start_ns = time_of(self->merge, device->clock, activity->start);
    raw_fate fate = is_work(activity) ? work_fate(self, activity, start_ns, call, call_fate)
                                      : other_fate(self, start_ns, call, call_fate);
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
    bool launch = call->result == 0 && call->api >= PD_API_LAUNCH && call->api <= PD_API_GRAPH_LAUNCH;
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

/* Moves what begins before its call behind it, and all that follows by as much, so that lengths and order stay as they
 * were on every stream, in whatever order the records came. `order` is by start. */
static void correct_times(correlation *self, const uint32_t *order) {
  merging *merge = self->merge;
  int64_t shift_ns = 0;
  for (uint64_t i = 0; i < self->kept_count; i++) {
    const uint32_t kept = order[i], call = self->kept_call[kept];
    self->kept_shifts[kept] = 0;
    if (!is_work(&merge->input->devices[self->kept[kept]].activity)) continue;
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
                         .end_ns = time_of(merge, device->clock, device->activity.end) + self->kept_shifts[kept],
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
  int64_t end_ns = time_of(self->merge, device->clock, device->activity.end);
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
  uint32_t *order = scratch_alloc(self->kept_count, 2 * sizeof *order);
  pd_status status = order ? PD_OK : PD_NO_MEMORY;
  for (uint64_t i = 0; status == PD_OK && i < self->kept_count; i++) {
    order[i] = (uint32_t)i;
    work += is_work(&input->devices[self->kept[i]].activity);
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
    if (is_work(&input->devices[self->kept[order[i]]].activity))
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

pd_status correlation_run(correlation *self, const raw_fate *call_fates, raw_fate *device_fates) {
  pd_status status = write_calls(self, call_fates);
  if (status == PD_OK) status = join(self, call_fates, device_fates);
  return status != PD_OK ? status : write_devices(self);
}
