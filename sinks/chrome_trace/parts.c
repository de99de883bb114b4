/* See parts.h. Sizes are estimates: what the fields of an event take on average, and the length of its name. */
#include "parts.h"

#include <stdlib.h>

enum {
  RANGE_BYTES = 230,
  CALL_BYTES = 290,
  ROW_BYTES = 560,
  MEMORY_BYTES = 340,
  COUNTER_BYTES = 90,
  STATE_BYTES = 150
};

static uint64_t step_of(const pd_trace *trace, int64_t ts_ns) {
  uint64_t low = 0, high = trace->steps.count;
  while (high - low > 1) {
    const uint64_t middle = low + (high - low) / 2;
    if (PD_AT(pd_trace_step, &trace->steps, middle)->start_ns <= ts_ns)
      low = middle;
    else
      high = middle;
  }
  return low;
}

static void weigh(uint64_t *bytes, const pd_trace *trace, const name_table *names) {
  for (uint64_t i = 0; i < trace->ranges.count; i++) {
    const pd_range *row = PD_AT(pd_range, &trace->ranges, i);
    bytes[step_of(trace, row->start_ns)] +=
        RANGE_BYTES + names_at(names, row->name)->length + UINT64_C(32) * row->shape_count;
  }
  for (uint64_t i = 0; i < trace->calls.count; i++)
    bytes[step_of(trace, PD_AT(pd_call, &trace->calls, i)->start_ns)] += CALL_BYTES;
  for (uint64_t i = 0; i < trace->activities.count; i++) {
    const pd_device_row *row = PD_AT(pd_device_row, &trace->activities, i);
    bytes[step_of(trace, row->start_ns)] += ROW_BYTES + names_at(names, row->name)->length;
  }
  for (uint64_t i = 0; i < trace->memory.count; i++)
    bytes[step_of(trace, PD_AT(pd_memory_row, &trace->memory, i)->ts_ns)] += MEMORY_BYTES;
  for (uint64_t i = 0; i < trace->counters.count; i++)
    bytes[step_of(trace, PD_AT(pd_counter_row, &trace->counters, i)->ts_ns)] += COUNTER_BYTES;
  for (uint64_t i = 0; i < trace->states.count; i++)
    bytes[step_of(trace, PD_AT(pd_state_row, &trace->states, i)->start_ns)] += STATE_BYTES;
}

pd_status parts_plan(part_plan *self, const pd_trace *trace, const name_table *names, uint64_t split_bytes) {
  const uint64_t steps = trace->steps.count;
  uint64_t *bytes = calloc(steps ? steps : 1, sizeof *bytes);
  self->starts_ns = calloc(steps ? steps : 1, sizeof *self->starts_ns);
  self->count = 0;
  if (!bytes || !self->starts_ns) {
    free(bytes);
    parts_free(self);
    return PD_NO_MEMORY;
  }
  self->starts_ns[self->count++] = trace->start_ns;
  if (split_bytes && steps) {
    weigh(bytes, trace, names);
    uint64_t so_far = 0;
    for (uint64_t i = 0; i < steps; i++) {
      if (i && so_far + bytes[i] > split_bytes) {
        self->starts_ns[self->count++] = PD_AT(pd_trace_step, &trace->steps, i)->start_ns;
        so_far = 0;
      }
      so_far += bytes[i];
    }
  }
  free(bytes);
  return PD_OK;
}

void parts_free(part_plan *self) {
  free(self->starts_ns);
  self->starts_ns = NULL;
}
