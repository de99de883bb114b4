/*
 * What a range's call stack costs where many libraries are loaded: median nanoseconds of an operation's range without
 * and with its stack, and of the C library's own walk, for stacks of several depths. First in this program alone, then
 * with the CUDA libraries of this machine loaded, as a run on a GPU has them.
 *
 *   bench_stack [LIBRARY...]    load these in place of the CUDA libraries
 *
 * The frames are of functions that call each other from many places, as a step does. Rounds alternate between the
 * cases.
 */
#include "trace/recorder.h"

#include <pdhost/clocks.h>

#include <dlfcn.h>
#include <execinfo.h>
#include <link.h>
#include <stdio.h>
#include <stdlib.h>

enum { ROUNDS = 15, OPERATIONS = 2000, FRAMES = 40 };

static double now_ns(void) { return (double)pd_monotonic_ns(); }

typedef void leaf(const pd_record *record, int count);

static void ranges(const pd_record *record, int count) {
  static pd_site site = PD_SITE("op", PD_RANGE_OP);
  for (int i = 0; i < count; i++) pd_range_end(record, pd_range_begin(record, &site, NULL));
}

static void c_library(const pd_record *record, int count) {
  void *frames[FRAMES];
  (void)record;
  for (int i = 0; i < count; i++) (void)backtrace(frames, FRAMES);
}

/* ---- a deep stack of many places ---- */

typedef struct task {
  const pd_record *record;
  leaf *run;
  int depth, count;
  unsigned way;
} task;

typedef void frame(task *self);
static frame *const next[8];
static volatile unsigned returned;

static void descend(task *self) {
  if (self->depth-- <= 0) {
    self->run(self->record, self->count);
    return;
  }
  self->way = self->way * 1103515245u + 12345u;
  next[self->way >> 16 & 7](self);
}

#define FRAME(n)                                                                                                       \
  static __attribute__((noinline)) void frame_##n(task *self) {                                                        \
    char room[16 + 24 * (n)];                                                                                          \
    room[0] = (char)self->way;                                                                                         \
    __asm__ volatile("" : : "r"(room) : "memory");                                                                     \
    descend(self);                                                                                                     \
    returned = (unsigned)room[0] + (n);                                                                                \
  }
FRAME(0)
FRAME(1)
FRAME(2)
FRAME(3)
FRAME(4)
FRAME(5)
FRAME(6)
FRAME(7)
static frame *const next[8] = {frame_0, frame_1, frame_2, frame_3, frame_4, frame_5, frame_6, frame_7};

/* ---- measuring ---- */

static int compare(const void *a, const void *b) {
  const double first = *(const double *)a, second = *(const double *)b;
  return first < second ? -1 : first > second;
}

static int measure(recorder *self, leaf *run, int depth, double *out) {
  enum { WAYS = 16, EACH = OPERATIONS / WAYS };
  const pd_record *record = recorder_table(self);
  double taken = 0;
  recorder_enable(self, true);
  if (recorder_window_begin(self, 0)) return 1;
  for (unsigned way = 0; way < 2 * WAYS; way++) { /* the first half warms up */
    task work = {record, run, depth, EACH, way % WAYS};
    const double start = now_ns();
    descend(&work);
    if (way >= WAYS) taken += now_ns() - start;
  }
  *out = taken / OPERATIONS;
  pd_trace *trace = NULL;
  if (recorder_window_end(self, &(recorder_window){.profile = PD_PROFILE_NONE}, &trace)) return 1;
  trace_free(trace);
  return 0;
}

static int count_library(struct dl_phdr_info *info, size_t size, void *out) {
  (void)info;
  (void)size;
  (*(unsigned *)out)++;
  return 0;
}

static int print_all(recorder *plain, recorder *stacked) {
  static const int depths[] = {4, 12, 24};
  enum { DEPTHS = sizeof depths / sizeof depths[0], CASES = 3 };
  static double ns[DEPTHS][CASES][ROUNDS];
  unsigned libraries = 0;
  for (int round = 0; round < ROUNDS; round++)
    for (int i = 0; i < DEPTHS; i++)
      if (measure(plain, ranges, depths[i], &ns[i][0][round]) ||
          measure(stacked, ranges, depths[i], &ns[i][1][round]) ||
          measure(plain, c_library, depths[i], &ns[i][2][round]))
        return 1;
  (void)dl_iterate_phdr(count_library, &libraries);
  printf("%u shared objects loaded; medians of %d rounds, ns an operation\n", libraries, (int)ROUNDS);
  printf("%8s %14s %14s %14s %22s\n", "frames", "range", "with stack", "stack adds", "C library's backtrace");
  for (int i = 0; i < DEPTHS; i++) {
    for (int k = 0; k < CASES; k++) qsort(ns[i][k], ROUNDS, sizeof ns[i][k][0], compare);
    const double range = ns[i][0][ROUNDS / 2], with = ns[i][1][ROUNDS / 2];
    printf("%8d %14.1f %14.1f %14.1f %22.1f\n", 2 * depths[i], range, with, with - range, ns[i][2][ROUNDS / 2]);
  }
  return 0;
}

static void load(const char *const *names) {
  for (; *names; names++)
    if (!dlopen(*names, RTLD_NOW | RTLD_GLOBAL)) printf("not here: %s\n", *names);
}

int main(int count, char **words) {
  static const char *const cuda[] = {"libcuda.so.1",
                                     "libcudart.so.13",
                                     "libcublas.so.13",
                                     "libcublasLt.so.13",
                                     "libcudnn.so.9",
                                     "libcudnn_graph.so.9",
                                     "libcudnn_ops.so.9",
                                     "libcudnn_cnn.so.9",
                                     "libcudnn_engines_precompiled.so.9",
                                     "libcudnn_engines_runtime_compiled.so.9",
                                     "libcudnn_heuristic.so.9",
                                     "libcupti.so.13",
                                     "libnvidia-ml.so.1",
                                     NULL};
  recorder *plain = NULL, *stacked = NULL;
  int failed = 1;
  if (recorder_open(&(recorder_options){.max_bytes = 64 << 20}, &plain) ||
      recorder_open(&(recorder_options){.max_bytes = 64 << 20, .with_stack = true}, &stacked) ||
      print_all(plain, stacked))
    goto out;
  load(count > 1 ? (const char *const *)(words + 1) : cuda);
  failed = print_all(plain, stacked);
out:
  recorder_close(plain);
  recorder_close(stacked);
  return failed;
}
