/* The texts of a window's trace; see merge.h. */
#include "merge.h"

#include <stdio.h>
#include <string.h>

static bool is_step_name(const pd_range *range) {
  return range->kind == PD_RANGE_STEP && (range->name & RECORDER_STEP_NAME) != 0;
}

/* The name has the lower bits of the number; the rest is as that of a step near by. */
static uint64_t step_number(const pd_trace *trace, uint32_t name) {
  const uint64_t near = trace->steps.count ? PD_AT(pd_trace_step, &trace->steps, 0)->number : 0;
  const int64_t half = RECORDER_STEP_NAME / 2;
  int64_t ahead = (int64_t)((name - near) & (RECORDER_STEP_NAME - 1));
  if (ahead >= half && near) ahead -= 2 * half;
  return near + (uint64_t)ahead;
}

/* Gives each step's range a text of its own, after those of the table. */
static pd_status name_steps(owned_trace *owned, uint32_t first, uint64_t steps) {
  enum { TEXT_BYTES = 40 };
  pd_trace *trace = &owned->trace;
  pd_string *to = (pd_string *)trace->strings.data + first;
  char *text = steps ? trace_alloc(owned, steps, TEXT_BYTES) : NULL;
  if (steps && !text) return PD_NO_MEMORY;
  for (uint64_t i = 0; i < trace->ranges.count; i++) {
    pd_range *range = (pd_range *)trace->ranges.data + i;
    if (!is_step_name(range)) continue;
    const int length =
        snprintf(text, TEXT_BYTES, "ProfilerStep#%llu", (unsigned long long)step_number(trace, range->name));
    range->name = first++;
    *to++ = (pd_string){.text = text, .length = (uint64_t)length};
    text += TEXT_BYTES;
  }
  return PD_OK;
}

pd_status merge_add_strings(owned_trace *trace, string_table *strings) {
  uint32_t count = strings_count(strings);
  uint64_t steps = 0;
  size_t bytes = 0;
  for (uint64_t i = 0; i < trace->trace.ranges.count; i++)
    steps += is_step_name(PD_AT(pd_range, &trace->trace.ranges, i));
  pd_status status = trace_array(trace, &trace->trace.strings, count + steps, sizeof(pd_string));
  if (status != PD_OK) return status;
  pd_string *rows = (pd_string *)trace->trace.strings.data;
  for (uint32_t i = 0; i < count; i++) {
    rows[i] = strings_get(strings, i);
    bytes += (size_t)rows[i].length + 1;
  }
  char *text = trace_alloc(trace, bytes, 1);
  if (!text) return PD_NO_MEMORY;
  for (uint32_t i = 0; i < count; i++) {
    memcpy(text, rows[i].text, (size_t)rows[i].length + 1);
    rows[i].text = text;
    text += rows[i].length + 1;
  }
  const uint32_t first = count; /* after them */
  return name_steps(trace, first, steps);
}
