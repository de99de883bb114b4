/* The collector on a real GPU: windows of plain launches, copies and captured graphs under every policy between
 * windows. Exact: each launch has its record, each graph launch all its nodes, no kernel's name is mangled. CUPTI's map
 * of the device's clock may put a record before its call, for the trace to move: each is counted, and none is off by
 * more than the collector allows. In short windows under detach, the default, without a second thread there is none; in
 * the window of a million launches, and where CUPTI stays attached, there were. Exit 0: all held; 77: no GPU. Figures
 * go to stdout, a few lines per plan; about 70 s. */
#include "devices/cuda/cupti/cupti_collect.h"
#include "kept_record.h"

#include <pdhost/clocks.h>

#include <cuda_runtime_api.h>
#include <inttypes.h>
#include <stdatomic.h>
#include <stdio.h>
#include <time.h>
#include <unistd.h>

cudaError_t launch_empty(cudaStream_t stream);
cudaError_t launch_spin(cudaStream_t stream, long long cycles);
cudaError_t launch_named(cudaStream_t stream, float *data, int count);
cudaError_t launch_driver(cudaStream_t stream);
cudaError_t launch_big_shared(cudaStream_t stream, float *out, int bytes);

enum {
  WINDOWS = 20,
  PLAIN = 2000,
  NODES = 1000,
  GRAPH_LAUNCHES = 6,
  DRIVER = 10,
  MANY = 1000000,
  BIG_BYTES = 200000,
  COUNT = 1 << 20
};

static int failures;
static cudaStream_t stream;
static float *device_data, *host_data;
static cudaGraphExec_t graph;

static void check(bool ok, const char *what, uint64_t got, uint64_t wanted) {
  if (ok) return;
  failures++;
  printf("FAILED: %s: %" PRIu64 ", wanted %" PRIu64 "\n", what, got, wanted);
}
static void cuda(cudaError_t error, const char *what) {
  if (error == cudaSuccess) return;
  printf("FAILED: %s: %s\n", what, cudaGetErrorString(error));
  exit(1);
}
static double now_s(void) { return 1e-9 * (double)pd_monotonic_ns(); }
static void nap(double seconds) {
  struct timespec pause = {.tv_sec = (time_t)seconds, .tv_nsec = (long)((seconds - (double)(time_t)seconds) * 1e9)};
  nanosleep(&pause, NULL);
}

static void capture(void) {
  cudaGraph_t captured;
  cuda(cudaStreamBeginCapture(stream, cudaStreamCaptureModeThreadLocal), "cudaStreamBeginCapture");
  for (int i = 0; i < NODES; i++) cuda(launch_empty(stream), "launch into a capture");
  cuda(cudaMemsetAsync(device_data, 0, 4096, stream), "memset into a capture");
  cuda(cudaStreamEndCapture(stream, &captured), "cudaStreamEndCapture");
  cuda(cudaGraphInstantiate(&graph, captured, 0), "cudaGraphInstantiate");
  cuda(cudaGraphDestroy(captured), "cudaGraphDestroy");
}

/* One window's work; returns launches with one record each. */
static uint64_t work(bool graphs) {
  uint64_t launches = 0;
  for (int i = 0; i < PLAIN; i++, launches++)
    cuda(i % 100 == 99 ? launch_spin(stream, 100000)
         : i % 3       ? launch_empty(stream)
                       : launch_named(stream, device_data, COUNT),
         "launch");
  for (int i = 0; i < 5; i++, launches++)
    cuda(cudaMemcpyAsync(device_data, host_data, COUNT * sizeof(float), cudaMemcpyHostToDevice, stream), "copy");
  for (int i = 0; i < DRIVER; i++, launches++) cuda(launch_driver(stream), "launch through the driver");
  cuda(cudaMemsetAsync(device_data, 0, COUNT, stream), "memset");
  cuda(cudaMemsetAsync(device_data, 0, 0, stream), "memset of no bytes"); /* has no record, and is not waited for */
  cuda(launch_big_shared(stream, device_data, BIG_BYTES), "big launch");
  launches += 2;
  if (graphs)
    for (int i = 0; i < GRAPH_LAUNCHES; i++) cuda(cudaGraphLaunch(graph, stream), "cudaGraphLaunch");
  return launches;
}

static int by_correlation(const void *a_, const void *b_) {
  const pd_activity *a = a_, *b = b_;
  if (a->correlation != b->correlation) return a->correlation < b->correlation ? -1 : 1;
  return (a->kind > PD_ACTIVITY_DRIVER) - (b->kind > PD_ACTIVITY_DRIVER);
}

typedef struct tally {
  uint64_t calls, driver_calls, matched, others, others_matched, graph_calls, graph_full, device_rows, early, orphans,
      doubled;
  uint64_t mangled, demangled; /* kernels by what their names show */
  int64_t least_gap_ns, early_ns;
} tally;

/* The first few launches with two records, row by row; times from the call's start. */
static void show(const pd_activity *rows, uint64_t count) {
  static int shown;
  if (shown++ >= 5) return;
  printf("  doubled: id %#" PRIx64 ", the loop's thread %d\n", rows->correlation, gettid());
  for (uint64_t i = 0; i < count; i++)
    printf("    kind %d name %u thread %u stream %u graph %u from %+" PRId64 " to %+" PRId64 " ns, %" PRIu64 " bytes\n",
           (int)rows[i].kind, rows[i].name, rows[i].thread, rows[i].stream,
           rows[i].kind == PD_ACTIVITY_KERNEL ? rows[i].u.kernel.graph : 0, rows[i].start - rows->start,
           rows[i].end - rows->start, rows[i].bytes);
}

static void tally_early(tally *sum, int64_t early_ns) {
  sum->early++;
  if (early_ns > sum->early_ns) sum->early_ns = early_ns;
}
static void tally_name(tally *sum, const char *name) {
  sum->mangled += !strncmp(name, "_Z", 2);
  sum->demangled += strpbrk(name, "(<") != NULL;
}

static void tally_window(kept_record *record, tally *sum) {
  qsort(record->rows, record->count, sizeof *record->rows, by_correlation);
  for (uint64_t i = 0; i < record->count;) {
    uint64_t end = i, rows = 0;
    const pd_activity *call = record->rows[i].kind <= PD_ACTIVITY_DRIVER ? &record->rows[i] : NULL;
    for (; end < record->count && record->rows[end].correlation == record->rows[i].correlation; end++) {
      const pd_activity *row = &record->rows[end];
      if (row->kind < PD_ACTIVITY_KERNEL || row->kind > PD_ACTIVITY_MEMSET) continue;
      rows++;
      sum->device_rows++;
      if (row->kind == PD_ACTIVITY_KERNEL) tally_name(sum, record->names[row->name]);
      if (!call)
        sum->orphans++;
      else if (row->start < call->start)
        tally_early(sum, call->start - row->start);
      else if (row->start - call->start < sum->least_gap_ns)
        sum->least_gap_ns = row->start - call->start;
    }
    const bool empty = call && call->u.api.api == PD_API_MEMSET && !rows;
    if (call && !empty && call->u.api.api >= PD_API_LAUNCH && call->u.api.api <= PD_API_MEMSET &&
        call->u.api.result == 0) {
      bool own = call->thread == (uint32_t)gettid();
      if (own)
        sum->calls++, sum->matched += rows > 0;
      else
        sum->others++, sum->others_matched += rows > 0;
      /* A call in which CUPTI was attached may have the driver's part alone: another thread's are not counted. */
      sum->driver_calls += own && call->kind == PD_ACTIVITY_DRIVER;
      sum->doubled += rows > 1;
      if (rows > 1) show(record->rows + i, end - i);
    } else if (call && call->u.api.api == PD_API_GRAPH_LAUNCH) {
      sum->graph_calls++;
      sum->graph_full += rows == NODES + 1;
      if (rows != NODES + 1) printf("  graph launch %" PRIu64 ": %" PRIu64 " records\n", call->correlation, rows);
    }
    i = end;
  }
  record->count = 0;
}

/* What the collector says of records before their calls is what its records show. */
static void check_early(const tally *sum, const cupti_counts *counts, int64_t early_ns) {
  check(counts->early == sum->early, "records before their launch that were counted", counts->early, sum->early);
  check(early_ns == sum->early_ns, "ns by which one begins before its launch", (uint64_t)early_ns,
        (uint64_t)sum->early_ns);
  check(sum->early_ns <= PD_EARLY_NS, "ns before a launch", (uint64_t)sum->early_ns, PD_EARLY_NS);
}
static void check_names(const tally *sum) {
  check(sum->mangled == 0, "kernels with a mangled name", sum->mangled, 0);
  check(sum->demangled > 0, "kernels with a demangled name", sum->demangled, 1);
}

/* A thread with work of its own on another stream, as a loader's might have. It waits for it now and then, or, calm,
 * each time, so that CUPTI can be detached beside it. */
static _Atomic bool beside_on;
static _Atomic uint64_t beside_launches;
static void *beside(void *calm) {
  cudaStream_t own;
  float *data, *host;
  uint64_t each = calm ? 2 : 16;
  cuda(cudaStreamCreateWithFlags(&own, cudaStreamNonBlocking), "cudaStreamCreate");
  cuda(cudaMalloc((void **)&data, 1 << 16), "cudaMalloc");
  cuda(cudaMallocHost((void **)&host, 1 << 16), "cudaMallocHost");
  while (atomic_load(&beside_on)) {
    cuda(cudaMemcpyAsync(data, host, 1 << 16, cudaMemcpyHostToDevice, own), "copy beside");
    cuda(launch_empty(own), "launch beside");
    atomic_fetch_add(&beside_launches, 2);
    if (atomic_load(&beside_launches) % each == 0) cuda(cudaStreamSynchronize(own), "synchronize beside");
  }
  cuda(cudaStreamSynchronize(own), "synchronize beside");
  return NULL;
}

static double launch_cost_ns(void) {
  cuda(cudaStreamSynchronize(stream), "cudaStreamSynchronize");
  double start = now_s();
  for (int i = 0; i < 20000; i++) cuda(launch_empty(stream), "launch");
  double ns = (now_s() - start) / 20000 * 1e9;
  cuda(cudaStreamSynchronize(stream), "cudaStreamSynchronize");
  return ns;
}

typedef struct window_plan {
  const char *name;
  cupti_between between;
  bool graphs;
  bool early; /* the graph is captured before CUPTI is attached */
  bool idle;  /* two waits of 10 s */
  bool beside, calm;
} window_plan;

static bool brief; /* no waits and no figures, for repetitions */

static void run(const cupti_api *api, const pd_device_props *props, const window_plan *plan) {
  const char *name = plan->name;
  bool graphs = plan->graphs;
  pthread_t other;
  kept_record record;
  cupti_collect *collect;
  cupti_counts counts;
  cupti_drained drained;
  tally sum = {.least_gap_ns = INT64_MAX};
  char why[256] = "";
  uint64_t launches = 0, incomplete = 0, polls = 0, others_held = 0;
  int64_t early_ns = 0;
  double drain_s = 0, drain_most_s = 0, start_s = 0, start_most_s = 0, between_ns = 0,
         before_ns = brief ? 0 : launch_cost_ns();
  kept_record_init(&record);
  const cupti_collect_config config = {.api = api,
                                       .record = &record.table,
                                       .props = props,
                                       .max_bytes = (uint64_t)1 << 30,
                                       .between = plan->between,
                                       .sync = true};
  if (graphs && plan->early) {
    capture();
    cuda(cudaGraphLaunch(graph, stream), "cudaGraphLaunch before CUPTI");
  }
  if (plan->beside) {
    atomic_store(&beside_on, true);
    if (pthread_create(&other, NULL, beside, plan->calm ? &beside_on : NULL)) exit(1);
  }
  double at = now_s();
  if (cupti_collect_open(&config, &collect, why, sizeof why) != PD_OK) {
    printf("FAILED: %s: %s\n", name, why);
    failures++;
    return;
  }
  double attach_s = now_s() - at, first_s = 0;
  for (int w = 0; w < WINDOWS; w++) {
    if (plan->idle && !brief && w % 10 == 5) nap(10.0);
    at = now_s();
    if (cupti_collect_start(collect, why, sizeof why) != PD_OK) {
      printf("FAILED: %s: window %d: %s\n", name, w, why);
      failures++;
      break;
    }
    double took = now_s() - at;
    if (w == 0)
      first_s = took;
    else
      start_s += took, start_most_s = took > start_most_s ? took : start_most_s;
    if (w == 0 && graphs && !plan->early) capture(); /* inside a window, as the warm-up does */
    launches += work(graphs);
    if (w % 2) cuda(cudaStreamSynchronize(stream), "cudaStreamSynchronize"); /* with and without */
    cupti_collect_stop(collect);
    at = now_s();
    cupti_collect_drain(collect, 10000000000, &drained);
    took = now_s() - at;
    drain_s += took;
    drain_most_s = took > drain_most_s ? took : drain_most_s;
    polls += drained.polls;
    incomplete += plan->beside ? !drained.loop_complete : !drained.complete;
    others_held += drained.others_held > 0;
    if (drained.early_ns > early_ns) early_ns = drained.early_ns;
    tally_window(&record, &sum);
    if (!brief) between_ns += launch_cost_ns();
    if (graphs) cuda(cudaGraphLaunch(graph, stream), "cudaGraphLaunch outside a window");
  }
  cupti_collect_counts(collect, &counts);
  at = now_s();
  cupti_collect_close(collect);
  double close_s = now_s() - at, after_ns = brief ? 0 : launch_cost_ns();
  /* Switched off beside another thread, CUPTI may give all its calls one id (docs/cuda.md): then that thread's records
   * are a matter of order, and only the loop's own are exact. */
  const bool stuck = plan->beside && plan->between == CUPTI_BETWEEN_DISABLE && counts.twins;
  if (plan->beside) {
    atomic_store(&beside_on, false);
    pthread_join(other, NULL);
    printf("  beside: %" PRIu64 " launches, %" PRIu64 " in windows, %" PRIu64 " with a record, %" PRIu64
           " windows left early\n",
           atomic_load(&beside_launches), sum.others, sum.others_matched, others_held);
    check(sum.others == sum.others_matched || others_held || stuck, "other threads' launches with a record",
          sum.others_matched, sum.others);
  }
  check(sum.driver_calls == (uint64_t)WINDOWS * DRIVER, "driver launches", sum.driver_calls,
        (uint64_t)WINDOWS * DRIVER);
  check(incomplete == 0, "windows not drained", incomplete, 0);
  check(sum.calls == launches, "launch calls", sum.calls, launches);
  check(sum.matched == launches, "launches with a record", sum.matched, launches);
  check(sum.doubled == 0, "launches with two records", sum.doubled, 0);
  check(counts.surplus == 0 || stuck, "second records of a launch", counts.surplus, 0);
  /* Beside: calls begun before the kinds were on leave a record of the device's and none of their own. */
  check(sum.orphans == 0 || plan->beside, "records without a launch", sum.orphans, 0);
  if (!stuck) check_early(&sum, &counts, early_ns);
  check_names(&sum);
  if (plan->between == CUPTI_BETWEEN_DETACH && !plan->beside)
    check(counts.early == 0, "records before their launch", counts.early, 0);
  check(counts.dropped == 0, "dropped", counts.dropped, 0);
  check(counts.zero_stamped + counts.implausible == 0 || stuck, "bad times", counts.zero_stamped + counts.implausible,
        0);
  check(sum.graph_full == sum.graph_calls, "graph launches with all nodes", sum.graph_full, sum.graph_calls);
  check(sum.graph_calls == (graphs ? (uint64_t)WINDOWS * GRAPH_LAUNCHES : 0), "graph launches", sum.graph_calls,
        (uint64_t)WINDOWS * GRAPH_LAUNCHES);
  printf("%s graphs=%d: windows %d launches %" PRIu64 " matched %" PRIu64 " graph launches %" PRIu64 " full %" PRIu64
         " device rows %" PRIu64 " nested %" PRIu64 " stale %" PRIu64 " of earlier sessions %" PRIu64
         " unknown %" PRIu64 " orphans %" PRIu64 " with another call's id %" PRIu64 " buffers %" PRIu64 " MiB\n",
         name, graphs, WINDOWS, launches, sum.matched, sum.graph_calls, sum.graph_full, sum.device_rows, counts.nested,
         counts.stale, counts.strays, counts.unknown, sum.orphans, counts.twins, counts.buffer_bytes >> 20);
  if (brief) goto out;
  printf("  least call-to-start %.3f us; attach %.2f ms, first start %.2f ms, later starts %.3f (most %.3f) ms, drain "
         "%.3f "
         "(most %.3f) ms in %.1f polls, close %.2f ms\n",
         (double)sum.least_gap_ns * 1e-3, attach_s * 1e3, first_s * 1e3, start_s * 1e3 / (WINDOWS - 1),
         start_most_s * 1e3, drain_s * 1e3 / WINDOWS, drain_most_s * 1e3, (double)polls / WINDOWS, close_s * 1e3);
  printf("  before their launch, by the clocks: %" PRIu64 " records, by up to %.3f us\n", counts.early,
         (double)early_ns * 1e-3);
  printf("  launch: before %.0f ns, between windows %.0f ns, after close %.0f ns\n", before_ns, between_ns / WINDOWS,
         after_ns);
  for (uint32_t i = 1; i < record.name_count && graphs && plan->between == CUPTI_BETWEEN_KEEP && !plan->early; i++)
    printf("  name %s\n", record.names[i]);
out:
  kept_record_free(&record);
  if (graph) cuda(cudaGraphExecDestroy(graph), "cudaGraphExecDestroy");
  graph = NULL;
  fflush(stdout);
}

/* One long window, and a kernel that runs for long after the window's end. */
static void many(const cupti_api *api, const pd_device_props *props) {
  kept_record record;
  cupti_collect *collect;
  cupti_counts counts;
  cupti_drained drained;
  char why[256] = "";
  kept_record_init(&record);
  const cupti_collect_config config = {
      .api = api, .record = &record.table, .props = props, .max_bytes = (uint64_t)1 << 30, .sync = true};
  if (cupti_collect_open(&config, &collect, why, sizeof why) != PD_OK ||
      cupti_collect_start(collect, why, sizeof why) != PD_OK) {
    printf("FAILED: %s\n", why);
    exit(1);
  }
  double at = now_s();
  for (int i = 0; i < MANY; i++) cuda(launch_empty(stream), "launch");
  double launch_s = now_s() - at;
  cupti_collect_stop(collect);
  at = now_s();
  cupti_collect_drain(collect, INT64_C(20000000000), &drained);
  double drain_s = now_s() - at;
  tally sum = {.least_gap_ns = INT64_MAX};
  tally_window(&record, &sum);
  cupti_collect_counts(collect, &counts);
  check(drained.complete, "drained", drained.pending, 0);
  check(sum.matched == MANY, "launches with a record", sum.matched, MANY);
  const uint64_t losses = counts.dropped + counts.zero_stamped + counts.implausible;
  check(losses == 0, "losses", losses, 0);
  check_early(&sum, &counts, drained.early_ns);
  check_names(&sum);
  printf("one window of %d launches: %.0f ns a launch, drained in %.2f ms, %" PRIu64 " matched, %" PRIu64
         " begin before their call, by up to %.3f us\n",
         MANY, launch_s / MANY * 1e9, drain_s * 1e3, sum.matched, sum.early, (double)sum.early_ns * 1e-3);
  if (cupti_collect_start(collect, why, sizeof why) != PD_OK) exit(1);
  cuda(launch_empty(stream), "launch");
  cuda(launch_spin(stream, 600000000), "long launch");
  cupti_collect_stop(collect);
  at = now_s();
  cupti_collect_drain(collect, INT64_C(20000000000), &drained);
  drain_s = now_s() - at;
  sum = (tally){.least_gap_ns = INT64_MAX};
  tally_window(&record, &sum);
  check(sum.matched == 2, "launches with a record, one of them long", sum.matched, 2);
  printf("a kernel of 600M cycles at the window's end: drained in %.1f ms, %u polls\n", drain_s * 1e3, drained.polls);
  cupti_collect_close(collect);
  kept_record_free(&record);
  fflush(stdout);
}

/* Many short windows: how well CUPTI's device clock is mapped to the host's. */
static int64_t host_drift_ns(void) { return pd_clock_ns(CLOCK_REALTIME) - pd_clock_ns(CLOCK_MONOTONIC_RAW); }
static void clocks(const cupti_api *api, const pd_device_props *props, cupti_between between, int windows) {
  kept_record record;
  cupti_collect *collect;
  cupti_drained drained;
  cupti_counts counts;
  char why[256] = "";
  tally sum = {.least_gap_ns = INT64_MAX};
  int early = 0, undrained = 0;
  kept_record_init(&record);
  const cupti_collect_config config = {.api = api,
                                       .record = &record.table,
                                       .props = props,
                                       .max_bytes = (uint64_t)1 << 30,
                                       .between = between,
                                       .sync = true};
  if (cupti_collect_open(&config, &collect, why, sizeof why) != PD_OK) exit(1);
  for (int w = 0; w < windows; w++) {
    int64_t drift_ns = -host_drift_ns();
    if (cupti_collect_start(collect, why, sizeof why) != PD_OK) exit(1);
    work(false);
    cupti_collect_stop(collect);
    cupti_collect_drain(collect, INT64_C(10000000000), &drained);
    drift_ns += host_drift_ns();
    sum.least_gap_ns = INT64_MAX;
    cupti_collect_counts(collect, &counts);
    tally_window(&record, &sum);
    if (drained.early_ns || sum.least_gap_ns < 2000) {
      early += drained.early_ns > 0;
      printf("  window %d: early by up to %" PRId64 " ns, %" PRIu64 " records so far, least gap %" PRId64
             " ns, implausible %" PRIu64 ", host clock against raw %+" PRId64 " ns\n",
             w, drained.early_ns, counts.early, sum.least_gap_ns, counts.implausible, drift_ns);
    }
    undrained += !drained.complete;
  }
  printf("clocks, %s: %d windows, %d with early records, %" PRIu64 " of %" PRIu64 " launches matched, %d not drained\n",
         between == CUPTI_BETWEEN_DETACH ? "detach" : "disable", windows, early, sum.matched, sum.calls, undrained);
  check(sum.matched == sum.calls, "launches with a record", sum.matched, sum.calls);
  cupti_collect_close(collect);
  kept_record_free(&record);
  fflush(stdout);
}

int main(int argc, char **argv) {
  static cupti_api api;
  char why[1024] = "";
  int devices = 0;
  struct cudaDeviceProp device;
  if (cudaGetDeviceCount(&devices) != cudaSuccess || !devices) {
    printf("skipped: no CUDA device\n");
    return 77;
  }
  cuda(cudaGetDeviceProperties(&device, 0), "cudaGetDeviceProperties");
  pd_device_props props = {.size = sizeof props,
                           .compute_major = (uint32_t)device.major,
                           .compute_minor = (uint32_t)device.minor,
                           .sm_count = (uint32_t)device.multiProcessorCount,
                           .warp_size = 32,
                           .max_threads_per_block = (uint32_t)device.maxThreadsPerBlock,
                           .max_threads_per_sm = (uint32_t)device.maxThreadsPerMultiProcessor,
                           .registers_per_block = (uint32_t)device.regsPerBlock,
                           .registers_per_sm = (uint32_t)device.regsPerMultiprocessor,
                           .shared_per_block = (uint32_t)device.sharedMemPerBlock,
                           .shared_per_sm = (uint32_t)device.sharedMemPerMultiprocessor,
                           .shared_per_block_optin = (uint32_t)device.sharedMemPerBlockOptin,
                           .shared_reserved_per_block = (uint32_t)device.reservedSharedMemPerBlock};
  cuda(cudaStreamCreateWithFlags(&stream, cudaStreamNonBlocking), "cudaStreamCreate");
  cuda(cudaMalloc((void **)&device_data, COUNT * sizeof(float)), "cudaMalloc");
  cuda(cudaMallocHost((void **)&host_data, COUNT * sizeof(float)), "cudaMallocHost");
  for (int i = 0; i < 3; i++) work(false);
  cuda(cudaDeviceSynchronize(), "cudaDeviceSynchronize");
  double at = now_s();
  if (cupti_api_load(&api, NULL, why, sizeof why) != PD_OK) {
    printf("FAILED: %s\n", why);
    return 1;
  }
  printf("CUPTI %u loaded in %.2f ms; device %s\n", api.version, (now_s() - at) * 1e3, device.name);
  if (argc > 2 && !strcmp(argv[1], "clocks")) {
    clocks(&api, &props, CUPTI_BETWEEN_DISABLE, atoi(argv[2]));
    clocks(&api, &props, CUPTI_BETWEEN_DETACH, atoi(argv[2]));
    return failures != 0;
  }
  const window_plan plans[] = {
      {"detach", CUPTI_BETWEEN_DETACH, false, false, false, false, false},
      {"disable", CUPTI_BETWEEN_DISABLE, false, false, false, false, false},
      {"keep", CUPTI_BETWEEN_KEEP, false, false, false, false, false},
      {"detach", CUPTI_BETWEEN_DETACH, true, false, true, false, false},
      {"disable", CUPTI_BETWEEN_DISABLE, true, false, false, false, false},
      {"keep", CUPTI_BETWEEN_KEEP, true, false, false, false, false},
      {"detach, graph captured before CUPTI", CUPTI_BETWEEN_DETACH, true, true, false, false, false},
      {"keep, graph captured before CUPTI", CUPTI_BETWEEN_KEEP, true, true, false, false, false},
      {"detach, a second thread", CUPTI_BETWEEN_DETACH, true, false, false, true, false},
      {"disable, a second thread", CUPTI_BETWEEN_DISABLE, false, false, false, true, false},
      {"detach, a calm second thread", CUPTI_BETWEEN_DETACH, true, false, false, true, true},
  };
  if (argc > 1 && !strcmp(argv[1], "beside")) {
    brief = argc > 2;
    size_t only = argc > 3 ? (size_t)atoi(argv[3]) : 0;
    for (int round = 0; round < (brief ? atoi(argv[2]) : 1); round++)
      for (size_t i = 8; i < sizeof plans / sizeof plans[0]; i++)
        if (!only || i == only) run(&api, &props, &plans[i]);
    printf(failures ? "%d failures\n" : "all held\n", failures);
    return failures != 0;
  }
  many(&api, &props);
  for (size_t i = 0; i < sizeof plans / sizeof plans[0]; i++) run(&api, &props, &plans[i]);
  printf(failures ? "%d failures\n" : "all held\n", failures);
  return failures != 0;
}
