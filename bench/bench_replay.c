/*
 * How fast the replay is: a window shaped like one of tiny_ops (about 450,000 events), replayed as it was and without
 * each of a few causes; then what finding all gains of it takes, with the timeline, the intervals and the ranking.
 * Items are stretches of the host's time, records the device's; times are the processor's. The goals are 20 million
 * items and records a second and variant, and 0.5 s for all gains.
 *
 *   bench_replay [STEPS]
 */
#include "big_trace.h"
#include "ledger/gains.h"
#include "ledger/program.h"

#include <pdhost/clocks.h>

#include <stdio.h>
#include <stdlib.h>

enum { STEPS = 60, ROUNDS = 15 };

static int by_value(const void *a, const void *b) {
  const double *x = a, *y = b;
  return (*x > *y) - (*x < *y);
}

/* Processor time of this thread, which other work on the machine touches less. */
static double processor_s(void) { return 1e-9 * (double)pd_clock_ns(CLOCK_THREAD_CPUTIME_ID); }

static double replay_once(const program *of, const replay_variant *variant, int64_t *bounds) {
  double seconds[ROUNDS];
  for (int i = 0; i < ROUNDS; i++) {
    const double from = processor_s();
    replay_steps(&of->replay, variant, bounds);
    seconds[i] = processor_s() - from;
  }
  qsort(seconds, ROUNDS, sizeof *seconds, by_value);
  return seconds[ROUNDS / 2];
}

static bool time_variants(const trace_facts *facts) {
  static const struct {
    const char *name;
    replay_variant variant;
  } all[] = {{"as it was", {.keep = 1}},
             {"without the recorder", {.keep = 0.7}},
             {"without waits for input", {.without = REPLAY_INPUT, .keep = 0.7}},
             {"as a graph", {.graph = REPLAY_LAUNCH, .keep = 0.7}},
             {"eager", {.eager = true, .keep = 0.7}}};
  timeline of;
  program is;
  bool ok = timeline_open(facts, &of) && program_open(&of, &is);
  int64_t *bounds = ok ? malloc((of.step_count + 1u) * sizeof *bounds) : NULL;
  for (size_t i = 0; bounds && i < sizeof all / sizeof *all; i++) {
    const double s = replay_once(&is, &all[i].variant, bounds), count = (double)of.item_count + of.record_count;
    printf("%-26s %8.2f ms %8.1f million items and records a second\n", all[i].name, 1e3 * s, 1e-6 * count / s);
  }
  ok = bounds != NULL;
  free(bounds);
  if (ok) program_close(&is);
  timeline_close(&of);
  return ok;
}

static bool time_gains(const trace_facts *facts, uint64_t events) {
  gains found;
  const int64_t from = pd_clock_ns(CLOCK_MONOTONIC); /* by several threads */
  if (!gains_find(facts, &found)) return false;
  printf("%-26s %8.2f ms for all gains of %llu events\n", "gains", 1e-6 * (double)(pd_clock_ns(CLOCK_MONOTONIC) - from),
         (unsigned long long)events);
  return true;
}

int main(int argc, char **argv) {
  const uint32_t steps = argc > 1 ? (uint32_t)strtoul(argv[1], NULL, 10) : STEPS;
  big_trace big;
  const bool made = steps && big_trace_open(&big, steps);
  trace_facts *facts = made ? facts_open(&big.trace) : NULL;
  const bool ok = facts && time_variants(facts) && time_gains(facts, (uint64_t)steps * BIG_TRACE_EVENTS);
  facts_close(facts);
  if (made) big_trace_close(&big);
  if (!ok) fprintf(stderr, "bench_replay: no memory, or no steps\n");
  return ok ? 0 : 1;
}
