/*
 * What a big window costs: a million ranges on four threads, and a million device records with their runtime calls,
 * recorded and merged. Prints bytes per record in the buffers, in the trace and at the peak of the merge, and the
 * merge's time: device records once in order, once shuffled as they come out of a profiler's buffers.
 */
#include "trace/recorder.h"

#include <pdhost/clocks.h>

#include <pthread.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/resource.h>
#include <sys/wait.h>
#include <unistd.h>

enum { ROUNDS = 3 };
enum { THREADS = 4, PER_THREAD = 250000, LAUNCHES = THREADS * PER_THREAD, PER_STEP = 1000, BATCH = 1000 };

static double now_ms(void) { return 1e-6 * (double)pd_monotonic_ns(); }

static double resident_mib(void) {
  char text[128] = "";
  FILE *file = fopen("/proc/self/statm", "r");
  if (!file) return 0;
  size_t read = fread(text, 1, sizeof text - 1, file);
  (void)fclose(file);
  const char *second = read ? strchr(text, ' ') : NULL; /* total, resident, ... in pages */
  return second ? (double)strtoul(second, NULL, 10) * (double)sysconf(_SC_PAGESIZE) / (1 << 20) : 0;
}

static double peak_mib(void) {
  struct rusage usage;
  getrusage(RUSAGE_SELF, &usage);
  return (double)usage.ru_maxrss / 1024;
}

/* What one round took, written by the child that ran it. */
typedef struct result {
  uint64_t ranges, calls, records;
  double buffers_mib, trace_mib, peak_mib, merge_ms;
} result;

typedef struct worker {
  const pd_record *record;
  pd_activity *calls;
  pthread_t thread;
} worker;

/* One user range around four operations, each with a launch: 4/5 of the ranges launch. */
static void *work(void *given) {
  static pd_site outer = PD_SITE("layer", PD_RANGE_USER), op = PD_SITE("op", PD_RANGE_OP);
  worker *self = given;
  const pd_record *record = self->record;
  uint32_t tid = (uint32_t)gettid();
  for (int i = 0; i < PER_THREAD; i += 5) {
    bool begun = pd_range_begin(record, &outer, NULL);
    for (int k = 0; k < 5; k++) {
      bool inner = k ? pd_range_begin(record, &op, NULL) : false;
      pd_activity *call = &self->calls[i + k];
      call->thread = tid;
      call->start = (int64_t)record->ticks(record);
      call->end = (int64_t)record->ticks(record);
      pd_range_end(record, inner);
    }
    pd_range_end(record, begun);
  }
  return NULL;
}

static uint64_t array_bytes(const pd_array *array) { return array->count * array->stride; }

static uint64_t trace_bytes(const pd_trace *trace) {
  return array_bytes(&trace->ranges) + array_bytes(&trace->calls) + array_bytes(&trace->activities) +
         array_bytes(&trace->activities_by_call) + array_bytes(&trace->steps) + array_bytes(&trace->strings);
}

static void shuffle(pd_activity *rows, uint64_t count) {
  uint64_t seed = 88172645463325252;
  for (uint64_t i = count; i > 1; i--) {
    seed ^= seed << 13;
    seed ^= seed >> 7;
    seed ^= seed << 17;
    uint64_t k = (seed >> 11) % i;
    pd_activity row = rows[i - 1];
    rows[i - 1] = rows[k];
    rows[k] = row;
  }
}

static int run(bool shuffled, result *out) {
  recorder *self = NULL;
  pd_trace *trace = NULL;
  worker workers[THREADS];
  int failed = 1;
  pd_activity *calls = calloc(LAUNCHES, sizeof *calls), *kernels = calloc(LAUNCHES, sizeof *kernels);
  if (!calls || !kernels || recorder_open(&(recorder_options){.max_bytes = UINT64_C(1) << 30}, &self)) goto out;
  const pd_record *record = recorder_table(self);
  uint32_t launch = record->intern(record, "cudaLaunchKernel"), kernel = record->intern(record, "kernel");
  double before_mib = resident_mib();
  recorder_enable(self, true);
  if (recorder_window_begin(self, 0)) goto out;
  uint64_t start = record->ticks(record);
  for (int i = 0; i < THREADS; i++) {
    workers[i] = (worker){.record = record, .calls = calls + (size_t)i * PER_THREAD};
    if (pthread_create(&workers[i].thread, NULL, work, &workers[i])) goto out;
    pthread_join(workers[i].thread, NULL); /* one after the other: two cores, and the result is the same */
  }
  uint64_t end = record->ticks(record);
  for (uint64_t i = 0; i < LAUNCHES; i++) {
    calls[i].kind = PD_ACTIVITY_RUNTIME;
    calls[i].name = launch;
    calls[i].correlation = i + 1;
    calls[i].u.api.api = PD_API_LAUNCH;
    kernels[i] = (pd_activity){.kind = PD_ACTIVITY_KERNEL,
                               .name = kernel,
                               .start = calls[i].end,
                               .stream = 7,
                               .end = calls[i].end + 100,
                               .correlation = i + 1};
  }
  if (shuffled) shuffle(kernels, LAUNCHES);
  for (uint64_t i = 0; i < LAUNCHES; i += BATCH) {
    record->activities(record, PD_CLOCK_TICKS, calls + i, BATCH);
    record->activities(record, PD_CLOCK_TICKS, kernels + i, BATCH);
  }
  double recorded_mib = resident_mib();
  for (uint64_t i = 0; i < PER_STEP; i++) {
    uint64_t from = start + (end - start) * i / PER_STEP, to = start + (end - start) * (i + 1) / PER_STEP;
    if (recorder_step_done(self, &(recorder_step){.number = i, .start_ticks = from, .end_ticks = to})) goto out;
  }
  double began_ms = now_ms();
  if (recorder_window_end(self, &(recorder_window){.profile = PD_PROFILE_FULL}, &trace)) goto out;
  double merge_ms = now_ms() - began_ms;
  for (int i = 0; i < PD_LOSS_COUNT; i++)
    if (trace->losses[i] && i != PD_LOSS_AMBIGUOUS) goto out;
  *out = (result){.ranges = trace->ranges.count,
                  .calls = trace->calls.count,
                  .records = trace->activities.count,
                  .buffers_mib = recorded_mib - before_mib,
                  .trace_mib = (double)trace_bytes(trace) / (1 << 20),
                  .peak_mib = peak_mib() - before_mib,
                  .merge_ms = merge_ms};
  failed = trace->ranges.count != LAUNCHES || trace->activities.count != LAUNCHES;
out:
  trace_free(trace);
  recorder_close(self);
  free(calls);
  free(kernels);
  return failed;
}

static int compare(const void *a, const void *b) {
  const result *first = a, *second = b;
  return first->merge_ms < second->merge_ms ? -1 : first->merge_ms > second->merge_ms;
}

/* Each round in a process of its own: the peak of one would hide the next one's. */
static int run_apart(const char *label, bool shuffled, result *shared) {
  for (int i = 0; i < ROUNDS; i++) {
    int status = -1;
    (void)fflush(stdout);
    pid_t child = fork();
    if (!child) _exit(run(shuffled, &shared[i]));
    if (child < 0 || waitpid(child, &status, 0) != child || !WIFEXITED(status) || WEXITSTATUS(status)) {
      (void)fprintf(stderr, "bench_trace_memory: %s: round %d failed\n", label, i);
      return 1;
    }
  }
  qsort(shared, ROUNDS, sizeof *shared, compare);
  const result *median = &shared[ROUNDS / 2];
  (void)printf("%-24s %8llu %8llu %8llu %8.0f %8.0f %8.0f %8.0f %8.0f %8.0f\n", label,
               (unsigned long long)median->ranges, (unsigned long long)median->calls,
               (unsigned long long)median->records, median->buffers_mib, median->trace_mib, median->peak_mib,
               median->merge_ms, shared[0].merge_ms, shared[ROUNDS - 1].merge_ms);
  return 0;
}

int main(void) {
  result *shared = mmap(NULL, ROUNDS * sizeof *shared, PROT_READ | PROT_WRITE, MAP_SHARED | MAP_ANONYMOUS, -1, 0);
  if (shared == MAP_FAILED) return 1;
  (void)printf("%-24s %8s %8s %8s %26s   %s\n", "", "", "", "", "MiB", "merge, ms");
  (void)printf("%-24s %8s %8s %8s %8s %8s %8s %8s %8s %8s\n", "", "ranges", "calls", "records", "buffers", "trace",
               "peak", "median", "least", "most");
  return run_apart("in order", false, shared) || run_apart("device records shuffled", true, shared);
}
