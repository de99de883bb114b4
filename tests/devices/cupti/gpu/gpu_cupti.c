/* The collector on a real GPU: windows of plain launches, copies and captured graphs under every policy between
 * windows. Exact: each launch has its record, each graph launch all its nodes, no kernel's name is mangled. CUPTI's map
 * of the device's clock may put a record before its call, for the trace to move: each is counted, and none is off by
 * more than the collector allows. In short windows under detach, the default, without a second thread there is none; in
 * the window of a million launches, and where CUPTI stays attached, there were. Exit 0: all held; 77: no GPU. Figures
 * go to stdout, a few lines per plan; about 70 s. */
#include "gpu_tally.h"

#include <pdhost/clocks.h>

#include <inttypes.h>
#include <stdio.h>
#include <time.h>

enum { WINDOWS = 20, MANY = 1000000 };

static double now_s(void) { return 1e-9 * (double)pd_monotonic_ns(); }
static void nap(double seconds) {
  struct timespec pause = {.tv_sec = (time_t)seconds, .tv_nsec = (long)((seconds - (double)(time_t)seconds) * 1e9)};
  nanosleep(&pause, NULL);
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

typedef struct window_figures {
  uint64_t launches, incomplete, polls, others_held;
  int64_t early_ns;
  double attach_s, first_s, start_s, start_most_s, drain_s, drain_most_s, close_s; /* sums, and the longest */
  double before_ns, between_ns, after_ns; /* of a launch; `between_ns` is the sum over the windows */
} window_figures;

/* Window `w` of a plan; false: it could not be started. */
static bool run_window(const window_plan *plan, int w, cupti_collect *collect, kept_record *record, gpu_tally *sum,
                       window_figures *of) {
  cupti_drained drained;
  char why[256] = "";
  double at = now_s();
  if (cupti_collect_start(collect, why, sizeof why) != PD_OK) {
    printf("FAILED: %s: window %d: %s\n", plan->name, w, why);
    gpu_failures++;
    return false;
  }
  double took = now_s() - at;
  if (w == 0)
    of->first_s = took;
  else
    of->start_s += took, of->start_most_s = took > of->start_most_s ? took : of->start_most_s;
  if (w == 0 && plan->graphs && !plan->early) gpu_capture(); /* inside a window, as the warm-up does */
  of->launches += gpu_work(plan->graphs);
  if (w % 2) gpu_cuda(cudaStreamSynchronize(gpu_stream), "cudaStreamSynchronize"); /* with and without */
  cupti_collect_stop(collect);
  at = now_s();
  cupti_collect_drain(collect, 10000000000, &drained);
  took = now_s() - at;
  of->drain_s += took;
  of->drain_most_s = took > of->drain_most_s ? took : of->drain_most_s;
  of->polls += drained.polls;
  of->incomplete += plan->beside ? !drained.loop_complete : !drained.complete;
  of->others_held += drained.others_held > 0;
  if (drained.early_ns > of->early_ns) of->early_ns = drained.early_ns;
  gpu_tally_window(record, sum);
  return true;
}

/* `stuck`: switched off beside another thread, CUPTI may give all its calls one id (docs/cuda.md): then that thread's
 * records are a matter of order, and only the loop's own are exact. */
static void check_windows(const window_plan *plan, const gpu_tally *sum, const cupti_counts *counts,
                          const window_figures *of, bool stuck) {
  const uint64_t graph_calls = plan->graphs ? (uint64_t)WINDOWS * GPU_GRAPH_LAUNCHES : 0,
                 driver_calls = (uint64_t)WINDOWS * GPU_DRIVER_LAUNCHES,
                 times = counts->zero_stamped + counts->implausible;
  if (plan->beside)
    gpu_check(sum->others == sum->others_matched || of->others_held || stuck, "other threads' launches with a record",
              sum->others_matched, sum->others);
  gpu_check(sum->driver_calls == driver_calls, "driver launches", sum->driver_calls, driver_calls);
  gpu_check(of->incomplete == 0, "windows not drained", of->incomplete, 0);
  gpu_check(sum->calls == of->launches, "launch calls", sum->calls, of->launches);
  gpu_check(sum->matched == of->launches, "launches with a record", sum->matched, of->launches);
  gpu_check(sum->doubled == 0, "launches with two records", sum->doubled, 0);
  gpu_check(counts->surplus == 0 || stuck, "second records of a launch", counts->surplus, 0);
  /* Beside: calls begun before the kinds were on leave a record of the device's and none of their own. */
  gpu_check(sum->orphans == 0 || plan->beside, "records without a launch", sum->orphans, 0);
  if (!stuck) gpu_check_early(sum, counts, of->early_ns);
  gpu_check_names(sum);
  if (plan->between == CUPTI_BETWEEN_DETACH && !plan->beside)
    gpu_check(counts->early == 0, "records before their launch", counts->early, 0);
  gpu_check(counts->dropped == 0, "dropped", counts->dropped, 0);
  gpu_check(times == 0 || stuck, "bad times", times, 0);
  gpu_check(sum->graph_full == sum->graph_calls, "graph launches with all nodes", sum->graph_full, sum->graph_calls);
  gpu_check(sum->graph_calls == graph_calls, "graph launches", sum->graph_calls, graph_calls);
}

static void print_counts(const window_plan *plan, const gpu_tally *sum, const cupti_counts *counts,
                         const window_figures *of) {
  printf("%s graphs=%d: windows %d launches %" PRIu64 " matched %" PRIu64 " graph launches %" PRIu64 " full %" PRIu64
         " device rows %" PRIu64 " nested %" PRIu64 " stale %" PRIu64 " of earlier sessions %" PRIu64
         " unknown %" PRIu64 " orphans %" PRIu64 " with another call's id %" PRIu64 " buffers %" PRIu64 " MiB\n",
         plan->name, plan->graphs, WINDOWS, of->launches, sum->matched, sum->graph_calls, sum->graph_full,
         sum->device_rows, counts->nested, counts->stale, counts->strays, counts->unknown, sum->orphans, counts->twins,
         counts->buffer_bytes >> 20);
}

static void print_figures(const gpu_tally *sum, const cupti_counts *counts, const window_figures *of) {
  printf("  least call-to-start %.3f us; attach %.2f ms, first start %.2f ms, later starts %.3f (most %.3f) ms, drain "
         "%.3f (most %.3f) ms in %.1f polls, close %.2f ms\n",
         (double)sum->least_gap_ns * 1e-3, of->attach_s * 1e3, of->first_s * 1e3, of->start_s * 1e3 / (WINDOWS - 1),
         of->start_most_s * 1e3, of->drain_s * 1e3 / WINDOWS, of->drain_most_s * 1e3, (double)of->polls / WINDOWS,
         of->close_s * 1e3);
  printf("  before their launch, by the clocks: %" PRIu64 " records, by up to %.3f us\n", counts->early,
         (double)of->early_ns * 1e-3);
  printf("  launch: before %.0f ns, between windows %.0f ns, after close %.0f ns\n", of->before_ns,
         of->between_ns / WINDOWS, of->after_ns);
}

static void run(const cupti_api *api, const pd_device_props *props, const window_plan *plan) {
  kept_record record;
  cupti_collect *collect;
  cupti_counts counts;
  gpu_tally sum = {.least_gap_ns = INT64_MAX};
  window_figures of = {.before_ns = brief ? 0 : gpu_launch_cost_ns()};
  char why[256] = "";
  kept_record_init(&record);
  const cupti_collect_config config = {.api = api,
                                       .record = &record.table,
                                       .props = props,
                                       .max_bytes = (uint64_t)1 << 30,
                                       .between = plan->between,
                                       .sync = true};
  if (plan->graphs && plan->early) {
    gpu_capture();
    gpu_graph_launch("cudaGraphLaunch before CUPTI");
  }
  if (plan->beside) gpu_beside_start(plan->calm);
  double at = now_s();
  if (cupti_collect_open(&config, &collect, why, sizeof why) != PD_OK) {
    printf("FAILED: %s: %s\n", plan->name, why);
    gpu_failures++;
    return;
  }
  of.attach_s = now_s() - at;
  for (int w = 0; w < WINDOWS; w++) {
    if (plan->idle && !brief && w % 10 == 5) nap(10.0);
    if (!run_window(plan, w, collect, &record, &sum, &of)) break;
    if (!brief) of.between_ns += gpu_launch_cost_ns();
    if (plan->graphs) gpu_graph_launch("cudaGraphLaunch outside a window");
  }
  cupti_collect_counts(collect, &counts);
  at = now_s();
  cupti_collect_close(collect);
  of.close_s = now_s() - at;
  of.after_ns = brief ? 0 : gpu_launch_cost_ns();
  if (plan->beside)
    printf("  beside: %" PRIu64 " launches, %" PRIu64 " in windows, %" PRIu64 " with a record, %" PRIu64
           " windows left early\n",
           gpu_beside_stop(), sum.others, sum.others_matched, of.others_held);
  check_windows(plan, &sum, &counts, &of, plan->beside && plan->between == CUPTI_BETWEEN_DISABLE && counts.twins);
  print_counts(plan, &sum, &counts, &of);
  if (!brief) {
    print_figures(&sum, &counts, &of);
    for (uint32_t i = 1; i < record.name_count && plan->graphs && plan->between == CUPTI_BETWEEN_KEEP && !plan->early;
         i++)
      printf("  name %s\n", record.names[i]);
  }
  kept_record_free(&record);
  gpu_graph_free();
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
  for (int i = 0; i < MANY; i++) gpu_cuda(launch_empty(gpu_stream), "launch");
  double launch_s = now_s() - at;
  cupti_collect_stop(collect);
  at = now_s();
  cupti_collect_drain(collect, INT64_C(20000000000), &drained);
  double drain_s = now_s() - at;
  gpu_tally sum = {.least_gap_ns = INT64_MAX};
  gpu_tally_window(&record, &sum);
  cupti_collect_counts(collect, &counts);
  gpu_check(drained.complete, "drained", drained.pending, 0);
  gpu_check(sum.matched == MANY, "launches with a record", sum.matched, MANY);
  const uint64_t losses = counts.dropped + counts.zero_stamped + counts.implausible;
  gpu_check(losses == 0, "losses", losses, 0);
  gpu_check_early(&sum, &counts, drained.early_ns);
  gpu_check_names(&sum);
  printf("one window of %d launches: %.0f ns a launch, drained in %.2f ms, %" PRIu64 " matched, %" PRIu64
         " begin before their call, by up to %.3f us\n",
         MANY, launch_s / MANY * 1e9, drain_s * 1e3, sum.matched, sum.early, (double)sum.early_ns * 1e-3);
  if (cupti_collect_start(collect, why, sizeof why) != PD_OK) exit(1);
  gpu_cuda(launch_empty(gpu_stream), "launch");
  gpu_cuda(launch_spin(gpu_stream, 600000000), "long launch");
  cupti_collect_stop(collect);
  at = now_s();
  cupti_collect_drain(collect, INT64_C(20000000000), &drained);
  drain_s = now_s() - at;
  sum = (gpu_tally){.least_gap_ns = INT64_MAX};
  gpu_tally_window(&record, &sum);
  gpu_check(sum.matched == 2, "launches with a record, one of them long", sum.matched, 2);
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
  gpu_tally sum = {.least_gap_ns = INT64_MAX};
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
    gpu_work(false);
    cupti_collect_stop(collect);
    cupti_collect_drain(collect, INT64_C(10000000000), &drained);
    drift_ns += host_drift_ns();
    sum.least_gap_ns = INT64_MAX;
    cupti_collect_counts(collect, &counts);
    gpu_tally_window(&record, &sum);
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
  gpu_check(sum.matched == sum.calls, "launches with a record", sum.matched, sum.calls);
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
  gpu_cuda(cudaGetDeviceProperties(&device, 0), "cudaGetDeviceProperties");
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
  gpu_work_open();
  double at = now_s();
  if (cupti_api_load(&api, NULL, why, sizeof why) != PD_OK) {
    printf("FAILED: %s\n", why);
    return 1;
  }
  printf("CUPTI %u loaded in %.2f ms; device %s\n", api.version, (now_s() - at) * 1e3, device.name);
  if (argc > 2 && !strcmp(argv[1], "clocks")) {
    clocks(&api, &props, CUPTI_BETWEEN_DISABLE, atoi(argv[2]));
    clocks(&api, &props, CUPTI_BETWEEN_DETACH, atoi(argv[2]));
    return gpu_failures != 0;
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
    printf(gpu_failures ? "%d failures\n" : "all held\n", gpu_failures);
    return gpu_failures != 0;
  }
  many(&api, &props);
  for (size_t i = 0; i < sizeof plans / sizeof plans[0]; i++) run(&api, &props, &plans[i]);
  printf(gpu_failures ? "%d failures\n" : "all held\n", gpu_failures);
  return gpu_failures != 0;
}
