/*
 * What the tables of a window cost: traces shaped like tiny_ops windows, from 60 steps (about 450,000 events) to about
 * 5 million events, or of as many steps as asked for. Prints the time of all tables together and whether the cost grows
 * linearly: by the clock, and the processor time in the program and in the kernel, which other work on the machine
 * touches less. The goal is 100 ms for the first line.
 *
 *   bench_analysis [STEPS]
 */
#include "big_tables.h"
#include "big_trace.h"
#include "trace/trace_memory.h"

#include <pdhost/clocks.h>

#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/resource.h>

enum { ROUNDS = 9 };

enum { WALL, USER, SYSTEM, CLOCKS };

typedef struct cost {
  double ms[CLOCKS];
} cost;

static cost now_ms(void) {
  struct rusage used;
  getrusage(RUSAGE_SELF, &used);
  return (cost){{1e-6 * (double)pd_monotonic_ns(),
                 (double)used.ru_utime.tv_sec * 1e3 + (double)used.ru_utime.tv_usec / 1e3,
                 (double)used.ru_stime.tv_sec * 1e3 + (double)used.ru_stime.tv_usec / 1e3}};
}

static int compare(const void *a, const void *b) {
  const double first = *(const double *)a, second = *(const double *)b;
  return (first > second) - (first < second);
}

/* Medians of ROUNDS, and the shortest; false on no memory. */
static bool time_tables(const pd_trace *trace, cost *median, double *shortest) {
  double ms[CLOCKS][ROUNDS];
  for (int i = 0; i < ROUNDS; i++) {
    analysis *of;
    const cost start = now_ms();
    if (big_tables_open(&of) != PD_OK) return false;
    const pd_analysis *table = analysis_table(of);
    table->prepare(table, trace); /* as whoever asks for them does: the gains are made beside the other tables */
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
  trace_return_large_blocks(); /* as analyze does */
  printf("all tables of a tiny_ops window, gains beside the others, %d rounds; ms\n", ROUNDS);
  printf("%8s %10s %9s %9s %9s %9s %16s %9s\n", "steps", "events", "median", "least", "user", "system", "user ns/event",
         "to first");
  for (size_t i = 0; i < sizes; i++) {
    const double events = (double)steps[i] * BIG_TRACE_EVENTS;
    big_trace big;
    cost median;
    double least;
    const bool done = big_trace_open(&big, steps[i]) && time_tables(&big.trace, &median, &least);
    big_trace_close(&big);
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
