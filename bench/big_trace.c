/* See big_trace.h. */
#include "big_trace.h"

#include "trace/trace_memory.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

enum { NAMES = 60 };

static void name_strings(big_trace *big) {
  static char texts[NAMES + 1][32];
  for (uint32_t i = 0; i <= NAMES; i++) {
    if (i) snprintf(texts[i], sizeof texts[i], "%s_%u", i % 3 ? "aten::op" : "some_kernel", i);
    big->strings[i] = (pd_string){texts[i], strlen(texts[i])};
  }
}

static void fill_step(big_trace *big, uint32_t s) {
  const int64_t start = (int64_t)s * 40000000, span = 39000000 / BIG_TRACE_OPERATIONS;
  const uint32_t first = s * (2 * BIG_TRACE_OPERATIONS + 1);
  big->steps[s] = (pd_trace_step){.start_ns = start,
                                  .end_ns = start + 40000000,
                                  .train_start_ns = start + 100,
                                  .train_end_ns = start + 39900000,
                                  .step_time_ns = 39899900,
                                  .number = s,
                                  .launches = BIG_TRACE_OPERATIONS,
                                  .matched = BIG_TRACE_OPERATIONS,
                                  .device_rows = BIG_TRACE_OPERATIONS};
  big->ranges[first] = (pd_range){.start_ns = start + 100,
                                  .end_ns = start + 39900000,
                                  .name = 1,
                                  .kind = PD_RANGE_USER,
                                  .parent = PD_NONE,
                                  .step = s,
                                  .stack = PD_NONE};
  for (uint32_t i = 0; i < BIG_TRACE_OPERATIONS; i++) {
    const uint32_t at = first + 1 + 2 * i, call = s * BIG_TRACE_OPERATIONS + i;
    const int64_t t = start + 1000 + (int64_t)i * span;
    big->ranges[at] = (pd_range){.start_ns = t,
                                 .end_ns = t + span - 500,
                                 .name = 2 + i % (NAMES / 2),
                                 .kind = PD_RANGE_OP,
                                 .part = i < BIG_TRACE_OPERATIONS / 2 ? PD_PART_FORWARD : PD_PART_BACKWARD,
                                 .parent = first,
                                 .depth = 1,
                                 .step = s,
                                 .stack = PD_NONE};
    big->ranges[at + 1] = big->ranges[at];
    big->ranges[at + 1].start_ns += 100;
    big->ranges[at + 1].end_ns -= 100;
    big->ranges[at + 1].kind = PD_RANGE_OP_INNER;
    big->ranges[at + 1].name++;
    big->ranges[at + 1].parent = at;
    big->ranges[at + 1].depth = 2;
    big->calls[call] = (pd_call){.start_ns = t + 200,
                                 .end_ns = t + 5000,
                                 .correlation = call + 1,
                                 .name = NAMES,
                                 .range = at + 1,
                                 .step = s,
                                 .kind = PD_ACTIVITY_RUNTIME,
                                 .api = PD_API_LAUNCH,
                                 .activity_first = call,
                                 .activity_count = 1};
    big->rows[call] = (pd_device_row){.start_ns = t + 6000,
                                      .end_ns = t + 9000,
                                      .name = NAMES / 2 + i % (NAMES / 2),
                                      .call = call,
                                      .range = at + 1,
                                      .step = s};
    big->by_call[call] = call;
    big->rows[call].detail.kind = PD_ACTIVITY_KERNEL;
    big->rows[call].detail.u.kernel.occupancy = 0.5f;
    big->rows[call].detail.u.kernel.blocks_per_sm = 0.1f;
  }
  for (uint32_t i = 0; i < 40; i++)
    big->memory[s * 40 + i] = (pd_memory_row){.ts_ns = start + 2000 + (int64_t)i * 100000,
                                              .range = first + 1 + 2 * i,
                                              .step = s,
                                              .duration_ns = 100,
                                              .event = {.address = 0x1000u + 0x1000u * (i / 2),
                                                        .bytes = i % 2 ? -4096 : 4096,
                                                        .total_allocated = 65536,
                                                        .total_reserved = 131072,
                                                        .device_type = 1}};
}

void big_trace_close(big_trace *big) {
  free(big->strings);
  free(big->ranges);
  free(big->calls);
  free(big->rows);
  free(big->by_call);
  free(big->memory);
  free(big->steps);
}

/* As the rows of a real trace lie in memory. */
static void *rows_of(uint64_t count, size_t bytes_each) {
  void *rows = trace_scratch_alloc(count, bytes_each);
  if (rows) memset(rows, 0, (size_t)count * bytes_each);
  return rows;
}

bool big_trace_open(big_trace *big, uint32_t steps) {
  static const pd_thread thread = {.tid = 1, .name = 1};
  static const pd_stream_row stream = {.stream = 7, .name = 1};
  const uint64_t launches = (uint64_t)steps * BIG_TRACE_OPERATIONS,
                 ranges = (uint64_t)steps * (2 * BIG_TRACE_OPERATIONS + 1);
  memset(big, 0, sizeof *big);
  big->strings = calloc(NAMES + 1, sizeof *big->strings);
  big->ranges = rows_of(ranges, sizeof *big->ranges);
  big->calls = rows_of(launches, sizeof *big->calls);
  big->rows = rows_of(launches, sizeof *big->rows);
  big->by_call = rows_of(launches, sizeof *big->by_call);
  big->memory = calloc((uint64_t)steps * 40, sizeof *big->memory);
  big->steps = calloc(steps, sizeof *big->steps);
  if (!big->strings || !big->ranges || !big->calls || !big->rows || !big->by_call || !big->memory || !big->steps)
    return false;
  name_strings(big);
  for (uint32_t s = 0; s < steps; s++) fill_step(big, s);
  big->trace = (pd_trace){.size = sizeof big->trace,
                          .end_ns = (int64_t)steps * 40000000,
                          .strings = {big->strings, NAMES + 1, sizeof *big->strings},
                          .threads = {&thread, 1, sizeof thread},
                          .streams = {&stream, 1, sizeof stream},
                          .ranges = {big->ranges, ranges, sizeof *big->ranges},
                          .calls = {big->calls, launches, sizeof *big->calls},
                          .activities = {big->rows, launches, sizeof *big->rows},
                          .activities_by_call = {big->by_call, launches, sizeof *big->by_call},
                          .memory = {big->memory, (uint64_t)steps * 40, sizeof *big->memory},
                          .steps = {big->steps, steps, sizeof *big->steps},
                          .stacks = {NULL, 0, sizeof(pd_stack)},
                          .profile = PD_PROFILE_FULL};
  return true;
}
