/*
 * What the tables of a window cost: traces shaped like tiny_ops windows, from 60 steps (about 450,000 events) to about
 * 5 million events, or of as many steps as asked for. Prints the time of all tables together on one core and whether
 * the cost grows linearly: by the clock, and the processor time in the program and in the kernel, which other work on
 * the machine touches less. The goal is 100 ms for the first line.
 *
 *   bench_analysis [STEPS]
 */
#include "tables/window_tables.h"
#include "trace/trace_memory.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/resource.h>
#include <time.h>

/* Per step: `OPERATIONS` operations with an inner range each, a launch and a kernel under it; 40 allocations. */
enum { OPERATIONS = 1860, NAMES = 60, EVENTS = 4 * OPERATIONS + 40 + 4, ROUNDS = 9 };

typedef struct big_trace {
  pd_trace trace;
  pd_string *strings;
  pd_range *ranges;
  pd_call *calls;
  pd_device_row *rows;
  pd_memory_row *memory;
  pd_trace_step *steps;
} big_trace;

enum { WALL, USER, SYSTEM, CLOCKS };

typedef struct cost {
  double ms[CLOCKS];
} cost;

static cost now_ms(void) {
  struct timespec now;
  struct rusage used;
  clock_gettime(CLOCK_MONOTONIC, &now);
  getrusage(RUSAGE_SELF, &used);
  return (cost){{(double)now.tv_sec * 1e3 + (double)now.tv_nsec / 1e6,
                 (double)used.ru_utime.tv_sec * 1e3 + (double)used.ru_utime.tv_usec / 1e3,
                 (double)used.ru_stime.tv_sec * 1e3 + (double)used.ru_stime.tv_usec / 1e3}};
}

static int compare(const void *a, const void *b) {
  const double first = *(const double *)a, second = *(const double *)b;
  return (first > second) - (first < second);
}

static void name_strings(big_trace *big) {
  static char texts[NAMES + 1][32];
  for (uint32_t i = 0; i <= NAMES; i++) {
    if (i) snprintf(texts[i], sizeof texts[i], "%s_%u", i % 3 ? "aten::op" : "some_kernel", i);
    big->strings[i] = (pd_string){texts[i], strlen(texts[i])};
  }
}

static void fill_step(big_trace *big, uint32_t s) {
  const int64_t start = (int64_t)s * 40000000, span = 39000000 / OPERATIONS;
  const uint32_t first = s * (2 * OPERATIONS + 1);
  big->steps[s] = (pd_trace_step){.start_ns = start,
                                  .end_ns = start + 40000000,
                                  .train_start_ns = start + 100,
                                  .train_end_ns = start + 39900000,
                                  .step_time_ns = 39899900,
                                  .number = s,
                                  .launches = OPERATIONS,
                                  .matched = OPERATIONS,
                                  .device_rows = OPERATIONS};
  big->ranges[first] = (pd_range){.start_ns = start + 100,
                                  .end_ns = start + 39900000,
                                  .name = 1,
                                  .kind = PD_RANGE_USER,
                                  .parent = PD_NONE,
                                  .step = s,
                                  .stack = PD_NONE};
  for (uint32_t i = 0; i < OPERATIONS; i++) {
    const uint32_t at = first + 1 + 2 * i, call = s * OPERATIONS + i;
    const int64_t t = start + 1000 + (int64_t)i * span;
    big->ranges[at] = (pd_range){.start_ns = t,
                                 .end_ns = t + span - 500,
                                 .name = 2 + i % (NAMES / 2),
                                 .kind = PD_RANGE_OP,
                                 .part = i < OPERATIONS / 2 ? PD_PART_FORWARD : PD_PART_BACKWARD,
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

static void big_close(big_trace *big) {
  free(big->strings);
  free(big->ranges);
  free(big->calls);
  free(big->rows);
  free(big->memory);
  free(big->steps);
}

/* As the rows of a real trace lie in memory. */
static void *rows_of(uint64_t count, size_t bytes_each) {
  void *rows = scratch_alloc(count, bytes_each);
  if (rows) memset(rows, 0, (size_t)count * bytes_each);
  return rows;
}

static bool big_open(big_trace *big, uint32_t steps) {
  static const pd_thread thread = {.tid = 1, .name = 1};
  static const pd_stream_row stream = {.stream = 7, .name = 1};
  const uint64_t launches = (uint64_t)steps * OPERATIONS, ranges = (uint64_t)steps * (2 * OPERATIONS + 1);
  memset(big, 0, sizeof *big);
  big->strings = calloc(NAMES + 1, sizeof *big->strings);
  big->ranges = rows_of(ranges, sizeof *big->ranges);
  big->calls = rows_of(launches, sizeof *big->calls);
  big->rows = rows_of(launches, sizeof *big->rows);
  big->memory = calloc((uint64_t)steps * 40, sizeof *big->memory);
  big->steps = calloc(steps, sizeof *big->steps);
  if (!big->strings || !big->ranges || !big->calls || !big->rows || !big->memory || !big->steps) return false;
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
                          .memory = {big->memory, (uint64_t)steps * 40, sizeof *big->memory},
                          .steps = {big->steps, steps, sizeof *big->steps},
                          .stacks = {NULL, 0, sizeof(pd_stack)},
                          .profile = PD_PROFILE_FULL};
  return true;
}

/* Medians of ROUNDS, and the shortest; false on no memory. */
static bool time_tables(const pd_trace *trace, cost *median, double *shortest) {
  static const pd_device_props device = {.size = sizeof device, .is_cuda = 1};
  const analysis_context context = {.device = &device,
                                    .batch_size = 64,
                                    .with_flops = true,
                                    .with_modules = true,
                                    .profile_memory = true,
                                    .cores = 1};
  double ms[CLOCKS][ROUNDS];
  for (int i = 0; i < ROUNDS; i++) {
    analysis *of;
    const cost start = now_ms();
    if (analysis_open(&context, &of) != PD_OK) return false;
    const pd_analysis *table = analysis_table(of);
    const pd_table_set *set = table->tables(table, trace, NULL);
    const cost end = now_ms();
    analysis_close(of);
    if (!set) return false;
    for (int c = 0; c < CLOCKS; c++) ms[c][i] = end.ms[c] - start.ms[c];
  }
  for (int c = 0; c < CLOCKS; c++) {
    qsort(ms[c], ROUNDS, sizeof ms[c][0], compare);
    median->ms[c] = ms[c][ROUNDS / 2];
  }
  *shortest = ms[WALL][0];
  return true;
}

int main(int argc, char **argv) {
  uint32_t steps[] = {60, 120, 240, 480, 672};
  size_t sizes = sizeof steps / sizeof *steps;
  double first_per_event = 0;
  if (argc > 1) {
    steps[0] = (uint32_t)strtoul(argv[1], NULL, 10);
    sizes = 1;
    if (argc > 2 || !steps[0] || steps[0] > 100000) {
      fprintf(stderr, "usage: bench_analysis [STEPS]\n");
      return 2;
    }
  }
  printf("all tables of a tiny_ops window, one core, %d rounds; ms\n", ROUNDS);
  printf("%8s %10s %9s %9s %9s %9s %16s %9s\n", "steps", "events", "median", "least", "user", "system", "user ns/event",
         "to first");
  for (size_t i = 0; i < sizes; i++) {
    const double events = (double)steps[i] * EVENTS;
    big_trace big;
    cost median;
    double least;
    const bool done = big_open(&big, steps[i]) && time_tables(&big.trace, &median, &least);
    big_close(&big);
    if (!done) {
      fprintf(stderr, "out of memory\n");
      return 1;
    }
    const double per_event = median.ms[USER] * 1e6 / events;
    if (!i) first_per_event = per_event;
    printf("%8u %10.0f %9.1f %9.1f %9.1f %9.1f %16.1f %9.2f\n", steps[i], events, median.ms[WALL], least,
           median.ms[USER], median.ms[SYSTEM], per_event, first_per_event > 0 ? per_event / first_per_event : 0);
  }
  return 0;
}
