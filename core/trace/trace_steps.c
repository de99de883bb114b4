/* See trace_steps.h. */
#include "trace_steps.h"

#include "merge.h"

#include <math.h>
#include <stdio.h>
#include <string.h>

uint64_t trace_last_number(const pd_trace *trace) {
  uint64_t last = 0;
  for (uint64_t i = 0; i < trace->activities.count; i++) {
    const uint64_t number = PD_AT(pd_device_row, &trace->activities, i)->detail.correlation;
    if (number > last) last = number;
  }
  return last;
}

uint64_t trace_late_launches(const pd_trace *trace) {
  const uint64_t last = trace_last_number(trace);
  uint64_t late = 0;
  for (uint64_t i = 0; i < trace->calls.count; i++) {
    const pd_call *call = PD_AT(pd_call, &trace->calls, i);
    late += call->step != PD_NONE && trace_is_late(call, last);
  }
  return late;
}

const char *trace_unnumbered_text(char *text, size_t room, uint64_t count) {
  snprintf(text, room, "%llu device record%s no correlation, so %s not known", (unsigned long long)count,
           count == 1 ? " carries" : "s carry", count == 1 ? "its launch is" : "their launches are");
  return text;
}

static void place_ranges(pd_trace *trace, step_cursor cursor) {
  pd_range *ranges = (pd_range *)trace->ranges.data;
  for (uint64_t i = 0; i < trace->ranges.count; i++) {
    if (i && ranges[i].thread != ranges[i - 1].thread) cursor.next = 0;
    ranges[i].step = merge_step_at(&cursor, ranges[i].start_ns);
  }
}

static void place_calls(pd_trace *trace, step_cursor cursor, pd_trace_step *steps) {
  pd_call *calls = (pd_call *)trace->calls.data;
  for (uint64_t i = 0; i < trace->calls.count; i++) {
    pd_call *call = &calls[i];
    call->step = merge_step_at(&cursor, call->start_ns);
    if (call->step == PD_NONE) continue;
    pd_trace_step *step = &steps[call->step];
    step->launches += trace_is_launch(call);
    step->matched += trace_is_launch(call) && call->activity_count;
    step->device_rows += call->activity_count;
  }
  pd_device_row *rows = (pd_device_row *)trace->activities.data;
  for (uint64_t i = 0; i < trace->activities.count; i++)
    rows[i].step = rows[i].call == PD_NONE ? PD_NONE : calls[rows[i].call].step;
}

/* The first launch of each step, at which its waits for the loader are over. */
static void find_waits(const pd_trace *trace, pd_trace_step *steps, uint64_t count) {
  const pd_call *calls = trace->calls.data;
  const pd_range *ranges = trace->ranges.data;
  uint64_t call = 0, range = 0;
  for (uint64_t i = 0; i < count; i++) {
    pd_trace_step *step = &steps[i];
    int64_t first = step->end_ns;
    while (call < trace->calls.count && calls[call].start_ns < step->start_ns) call++;
    for (uint64_t k = call; k < trace->calls.count && calls[k].start_ns < step->end_ns; k++)
      if (trace_is_launch(&calls[k])) {
        first = calls[k].start_ns;
        break;
      }
    for (; range < trace->ranges.count && ranges[range].thread == 0; range++) {
      const pd_range *wait = &ranges[range];
      if (wait->start_ns >= step->end_ns) break;
      if (wait->kind != PD_RANGE_DATALOADER || wait->start_ns < step->start_ns) continue;
      if (wait->parent != PD_NONE && ranges[wait->parent].kind == PD_RANGE_DATALOADER) continue;
      const int64_t end_ns = wait->end_ns < step->end_ns ? wait->end_ns : step->end_ns;
      step->data_wait_ns += end_ns - wait->start_ns;
      if (wait->start_ns < first) step->train_start_ns = end_ns;
    }
    step->step_time_ns = step->train_end_ns - step->train_start_ns;
  }
}

static void place_memory(pd_trace *trace, step_cursor cursor) {
  pd_memory_row *rows = (pd_memory_row *)trace->memory.data;
  for (uint64_t i = 0; i < trace->memory.count; i++) rows[i].step = merge_step_at(&cursor, rows[i].ts_ns);
}

pd_status trace_set_steps(pd_trace *trace, const step_bounds *bounds, uint64_t count) {
  owned_trace *owned = (owned_trace *)(void *)trace;
  const pd_status status = trace_array(owned, &trace->steps, count, sizeof(pd_trace_step));
  if (status != PD_OK) return status;
  pd_trace_step *steps = (pd_trace_step *)trace->steps.data;
  for (uint64_t i = 0; i < count; i++)
    steps[i] = (pd_trace_step){.start_ns = bounds[i].start_ns,
                               .end_ns = bounds[i].end_ns,
                               .train_start_ns = bounds[i].start_ns,
                               .train_end_ns = bounds[i].end_ns,
                               .number = bounds[i].number,
                               .loss = (double)NAN};
  if (count) {
    trace->start_ns = bounds[0].start_ns;
    trace->end_ns = bounds[count - 1].end_ns;
  }
  const step_cursor cursor = {steps, count, 0};
  place_ranges(trace, cursor);
  place_calls(trace, cursor, steps);
  place_memory(trace, cursor);
  find_waits(trace, steps, count);
  return PD_OK;
}

static pd_status keep(pd_trace *trace, const char *text, const char **out) {
  const size_t bytes = strlen(text) + 1;
  char *kept = trace_alloc((owned_trace *)(void *)trace, bytes, 1);
  if (!kept) return PD_NO_MEMORY;
  memcpy(kept, text, bytes);
  *out = kept;
  return PD_OK;
}

pd_status trace_set_steps_note(pd_trace *trace, const char *why) { return keep(trace, why, &trace->steps_note); }

pd_status trace_set_steps_found(pd_trace *trace, const char *how) { return keep(trace, how, &trace->steps_found); }
