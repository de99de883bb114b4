/*
 * What CUPTI costs per launch on this GPU: never attached, attached with all kinds off, recording (pdhost's collector
 * and a bare one), detached again. First all rounds without CUPTI, before it is loaded; then every round measures each
 * other state once, pdhost's and the bare ones in turns, so that drift hits those alike. The medians and the spread of
 * the rounds are printed. What recording adds is the median of its differences to the state without CUPTI right behind
 * it: a launch itself changes from one second to the next by as much. bench_cupti_idle [ROUNDS], 7 at most and by
 * default. Exit 77: no GPU.
 */
#include "bare.h"
#include "devices/cuda/cupti/cupti_collect.h"

#include <pdhost/clocks.h>

#include <cuda_runtime_api.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

cudaError_t bench_launch(cudaStream_t stream);

enum { LAUNCHES = 50000, ROUNDS = 7 };
enum { NEVER, BARE_KERNELS, BARE, AFTER_BARE, ATTACHED, RECORDING, DISABLED, AFTER, STATES };
static const char *const states[STATES] = {"never attached",
                                           "bare CUPTI: kernels, copies, sets",
                                           "bare CUPTI: all that pdhost records",
                                           "after bare CUPTI's finalize",
                                           "pdhost: attached, nothing on",
                                           "pdhost: recording a window",
                                           "pdhost: between windows, disabled",
                                           "pdhost: detached"};
static double ns[STATES][ROUNDS];
static uint32_t counts[STATES];
static int rounds = ROUNDS;
static cudaStream_t stream;

static void fail(const char *what) {
  fprintf(stderr, "bench_cupti_idle: %s\n", what);
  exit(1);
}

static void measure(int state) {
  for (int i = 0; i < 1000; i++) (void)bench_launch(stream);
  if (cudaStreamSynchronize(stream) != cudaSuccess) fail("cudaStreamSynchronize");
  int64_t start = pd_monotonic_ns();
  for (int i = 0; i < LAUNCHES; i++) (void)bench_launch(stream);
  ns[state][counts[state]++] = (double)(pd_monotonic_ns() - start) / LAUNCHES;
  if (cudaStreamSynchronize(stream) != cudaSuccess) fail("cudaStreamSynchronize");
}

static int by_value(const void *a, const void *b) {
  double x = *(const double *)a, y = *(const double *)b;
  return (x > y) - (x < y);
}

static void round_of_pdhost(const cupti_api *api) {
  char why[256];
  cupti_collect *collect;
  cupti_drained drained;
  const cupti_collect_config config = {
      .api = api, .max_bytes = (uint64_t)1 << 30, .between = CUPTI_BETWEEN_DISABLE, .sync = true};
  if (cupti_collect_open(&config, &collect, why, sizeof why) != PD_OK) fail(why);
  measure(ATTACHED);
  if (cupti_collect_start(collect, why, sizeof why) != PD_OK) fail(why);
  measure(RECORDING);
  cupti_collect_stop(collect);
  cupti_collect_drain(collect, INT64_C(10000000000), &drained);
  if (!drained.complete) fail("not every launch has its record");
  measure(DISABLED);
  cupti_collect_close(collect);
  measure(AFTER);
}

/* What `state` adds to a launch, against `off` of the same round. */
static double added(int state, int off) {
  double more[ROUNDS] = {0};
  for (int i = 0; i < rounds; i++) more[i] = ns[state][i] - ns[off][i];
  qsort(more, (size_t)rounds, sizeof more[0], by_value);
  return more[rounds / 2];
}

int main(int argc, char **argv) {
  static cupti_api api;
  char why[1024];
  int devices = 0;
  if (argc > 1) rounds = (int)strtol(argv[1], NULL, 10);
  if (rounds < 1 || rounds > ROUNDS) fail("ROUNDS is 1 to 7");
  if (cudaGetDeviceCount(&devices) != cudaSuccess || !devices) {
    printf("skipped: no CUDA device\n");
    return 77;
  }
  if (cudaStreamCreateWithFlags(&stream, cudaStreamNonBlocking) != cudaSuccess) fail("cudaStreamCreate");
  for (int i = 0; i < rounds; i++) measure(NEVER);
  if (cupti_api_load(&api, getenv("PDHOST_CUPTI"), why, sizeof why) != PD_OK) fail(why);
  for (int i = 0; i < rounds; i++) {
    for (int order = 0; order < 2; order++) {
      if (order != i % 2) {
        if (bare_attach(false)) fail("bare CUPTI");
        measure(BARE_KERNELS);
        if (bare_detach() || bare_attach(true)) fail("bare CUPTI");
        measure(BARE);
        if (bare_detach()) fail("bare CUPTI");
        measure(AFTER_BARE);
      } else {
        round_of_pdhost(&api);
      }
    }
  }
  /* Before the rounds are sorted. */
  const double ours = added(RECORDING, AFTER), bare = added(BARE, AFTER_BARE),
               kernels = added(BARE_KERNELS, AFTER_BARE);
  printf("CUPTI %u, %d launches of an empty kernel a measurement, %d rounds\n", api.version, LAUNCHES, rounds);
  printf("%-42s %10s %10s %10s\n", "ns per launch", "median", "least", "most");
  for (int s = 0; s < STATES; s++) {
    qsort(ns[s], counts[s], sizeof ns[s][0], by_value);
    printf("%-42s %10.0f %10.0f %10.0f\n", states[s], ns[s][counts[s] / 2], ns[s][0], ns[s][counts[s] - 1]);
  }
  printf("added per launch: pdhost %.0f ns, bare CUPTI %.0f ns (%.2fx), kernels alone %.0f ns\n", ours, bare,
         ours / bare, kernels);
  return 0;
}
