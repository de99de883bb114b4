/* Correlation of calls to ranges. See correlate.h. */
#include "correlation.h"
#include "sort.h"

#include <stdlib.h>

static bool call_after_by_correlation(const void *rows, uint32_t a, uint32_t b) {
  const correlation *self = rows;
  const raw_call *first = &self->merge->input->calls[a], *second = &self->merge->input->calls[b];
  if (first->correlation != second->correlation) return first->correlation > second->correlation;
  if (first->kind != second->kind) return first->kind > second->kind;
  if (self->starts[a] != self->starts[b]) return self->starts[a] > self->starts[b];
  return correlation_content_after(first, second, sizeof *first);
}

static bool call_after_by_start(const void *rows, uint32_t a, uint32_t b) {
  const correlation *self = rows;
  const raw_call *first = &self->merge->input->calls[a], *second = &self->merge->input->calls[b];
  if (self->starts[a] != self->starts[b]) return self->starts[a] > self->starts[b];
  if (first->thread != second->thread) return first->thread > second->thread;
  if (first->kind != second->kind) return first->kind > second->kind;
  if (first->correlation != second->correlation) return first->correlation > second->correlation;
  return correlation_content_after(first, second, sizeof *first);
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
        correlation_time_of(self->merge, calls[inner].clock, calls[inner].end) <=
            correlation_time_of(self->merge, runtime->clock, runtime->end))
      fates[inner] = FATE_DROPPED;
  }
}

static void classify(correlation *self, raw_fate *fates) {
  merging *merge = self->merge;
  const window_input *input = merge->input;
  for (uint64_t i = 0; i < input->call_count; i++) {
    const raw_call *call = &input->calls[i];
    self->starts[i] = correlation_time_of(merge, call->clock, call->start);
    self->rows[i] = PD_NONE;
    fates[i] = FATE_DROPPED;
    if (call->start <= 0)
      merge_lost(merge, PD_LOSS_ZERO_TIMESTAMP, call->thread, MERGE_NO_TIME);
    else if (self->starts[i] >= merge->end_ns)
      fates[i] = FATE_LATER;
    else if (self->starts[i] >= 0 && !merge_is_paused_at(merge, call->clock, call->start))
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
  self->starts = trace_scratch_alloc(count, sizeof *self->starts);
  self->order = trace_scratch_alloc(count, 2 * sizeof *self->order);
  self->rows = trace_scratch_alloc(count, sizeof *self->rows);
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
  uint32_t *holders = trace_scratch_alloc(count, sizeof *holders);
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
  uint32_t *order = trace_scratch_alloc(count, 2 * sizeof *order);
  holders = merge_range_holders(merge->ranges, merge->trace->trace.ranges.count);
  status = order && holders ? merge_sweep_open(merge, &sweep) : PD_NO_MEMORY;
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
                      .end_ns = correlation_time_of(merge, raw->clock, raw->end),
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
    uint32_t innermost = merge_sweep_at(sweep, call->thread, call->start_ns);
    call->range = innermost == PD_NONE ? PD_NONE : holders[innermost];
    call->step = merge_step_at(&cursor, call->start_ns);
    self->rows[order[i]] = (uint32_t)i;
    if (correlation_launches(raw) && call->range == PD_NONE)
      merge_lost(merge, PD_LOSS_AMBIGUOUS, raw->thread, call->start_ns);
  }
out:
  merge_sweep_close(sweep);
  free(order);
  free(holders);
  return status;
}

pd_status correlation_run(correlation *self, const raw_fate *call_fates, raw_fate *device_fates) {
  pd_status status = write_calls(self, call_fates);
  return status == PD_OK ? correlation_add_devices(self, call_fates, device_fates) : status;
}
