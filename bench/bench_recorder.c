/*
 * What recording costs: nanoseconds per range with the recorder on and off, per range with details and with its call
 * stack, per pair of clock readings (the floor of a range), and per activity handed over.
 *
 * The recorders work in memory that another process shares, as that of a run does.
 *
 * Prints median, min and max over the rounds. Rounds alternate between the cases, so that a slow spell of the
 * machine falls on all of them.
 */
#include "trace/kept/room.h"
#include "trace/recorder.h"

#include <pdhost/clocks.h>

#include <stdio.h>
#include <stdlib.h>

enum { ROUNDS = 15, RANGES = 200000, DETAILED = 100000, STACKS = 20000, ACTIVITIES = 100000, BATCH = 64 };

typedef void bench_case(const pd_record *record, uint64_t count);

static double now_ns(void) { return (double)pd_monotonic_ns(); }

static void ranges(const pd_record *record, uint64_t count) {
  static pd_site site = PD_SITE("range", PD_RANGE_USER);
  for (uint64_t i = 0; i < count; i++) {
    bool begun = pd_range_begin(record, &site, NULL);
    pd_range_end(record, begun);
  }
}

static void nested(const pd_record *record, uint64_t count) {
  static pd_site outer = PD_SITE("outer", PD_RANGE_USER), inner = PD_SITE("inner", PD_RANGE_OP_INNER);
  for (uint64_t i = 0; i < count; i += 4) {
    bool begun = pd_range_begin(record, &outer, NULL);
    for (int k = 0; k < 3; k++) pd_range_end(record, pd_range_begin(record, &inner, NULL));
    pd_range_end(record, begun);
  }
}

static void detailed(const pd_record *record, uint64_t count) {
  static pd_site site = PD_SITE("conv2d", PD_RANGE_USER);
  const pd_shape shapes[2] = {{4, PD_F32, {64, 3, 224, 224}}, {4, PD_F32, {64, 3, 3, 3}}};
  const pd_range_info info = {.size = sizeof info,
                              .part = PD_PART_FORWARD,
                              .flops = 1000000,
                              .sequence = 1,
                              .shape_count = 2,
                              .shapes = shapes};
  for (uint64_t i = 0; i < count; i++) pd_range_end(record, pd_range_begin(record, &site, &info));
}

static void stacks(const pd_record *record, uint64_t count) {
  static pd_site site = PD_SITE("op", PD_RANGE_OP);
  for (uint64_t i = 0; i < count; i++) pd_range_end(record, pd_range_begin(record, &site, NULL));
}

static void clocks(const pd_record *record, uint64_t count) {
  uint64_t sum = 0;
  for (uint64_t i = 0; i < count; i++) {
    sum += record->ticks(record);
    sum += record->ticks(record);
  }
  __asm__ volatile("" : : "r"(sum));
}

static void activities(const pd_record *record, uint64_t count) {
  pd_activity batch[BATCH];
  for (uint64_t i = 0; i < BATCH; i++)
    batch[i] = (pd_activity){.kind = i % 2 ? PD_ACTIVITY_KERNEL : PD_ACTIVITY_RUNTIME, .correlation = i / 2 + 1};
  for (uint64_t i = 0; i < count; i += BATCH) record->activities(record, PD_CLOCK_TICKS, batch, BATCH);
}

static int compare(const void *a, const void *b) {
  double first = *(const double *)a, second = *(const double *)b;
  return first < second ? -1 : first > second;
}

static int measure(const char *label, recorder *self, bool on, bench_case *run, uint64_t count, double *out) {
  const pd_record *record = recorder_table(self);
  recorder_enable(self, on);
  if (recorder_window_begin(self, 0)) return 1;
  run(record, count / 20); /* warms caches and branch predictors */
  double start = now_ns();
  run(record, count);
  *out = (now_ns() - start) / (double)count;
  pd_trace *trace = NULL;
  if (recorder_window_end(self, &(recorder_window){.profile = PD_PROFILE_NONE}, &trace)) return 1;
  uint64_t lost = trace->losses[PD_LOSS_RANGES_FULL] + trace->losses[PD_LOSS_RECORDS_DROPPED];
  trace_free(trace);
  if (lost) (void)fprintf(stderr, "bench_recorder: %s: %llu records lost\n", label, (unsigned long long)lost);
  return lost ? 1 : 0;
}

int main(void) {
  static const struct {
    const char *label;
    bench_case *run;
    uint64_t count;
    bool on, stack;
  } cases[] = {{"two clock readings", clocks, RANGES, true, false},
               {"range, on", ranges, RANGES, true, false},
               {"range, on, nested", nested, RANGES, true, false},
               {"range, on, with two shapes", detailed, DETAILED, true, false},
               {"range, on, with its stack", stacks, STACKS, true, true},
               {"range, off", ranges, 5 * (uint64_t)RANGES, false, false},
               {"activity", activities, ACTIVITIES, false, false}};
  enum { CASES = sizeof cases / sizeof cases[0] };
  static double ns[CASES][ROUNDS];
  recorder *plain = NULL, *stacked = NULL;
  trace_room *rooms[2] = {NULL, NULL};
  int failed = 1;
  if (room_open(64 << 20, true, &rooms[0]) || room_open(64 << 20, true, &rooms[1]) ||
      recorder_open(&(recorder_options){.room = rooms[0], .record_shapes = true}, &plain) ||
      recorder_open(&(recorder_options){.room = rooms[1], .with_stack = true}, &stacked))
    goto out;
  for (int round = 0; round < ROUNDS; round++)
    for (int i = 0; i < CASES; i++)
      if (measure(cases[i].label, cases[i].stack ? stacked : plain, cases[i].on, cases[i].run, cases[i].count,
                  &ns[i][round]))
        goto out;
  (void)printf("%-28s %10s %10s %10s   (ns, %d rounds)\n", "", "median", "least", "most", (int)ROUNDS);
  for (int i = 0; i < CASES; i++) {
    qsort(ns[i], ROUNDS, sizeof ns[i][0], compare);
    (void)printf("%-28s %10.2f %10.2f %10.2f\n", cases[i].label, ns[i][ROUNDS / 2], ns[i][0], ns[i][ROUNDS - 1]);
  }
  failed = 0;
out:
  recorder_close(plain);
  recorder_close(stacked);
  room_close(rooms[0]);
  room_close(rooms[1]);
  return failed;
}
