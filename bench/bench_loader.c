/*
 * Samples per second of the data loader at 1 and 2 workers with cpu_work 200 and 0, images of 224, beside the rate at
 * which memcpy alone would move the same bytes on as many threads.
 */
#include "data/loader.h"
#include "stderr_host.h"

#include <pdhost/clocks.h>

#include <pthread.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

enum { BATCH = 64, IMAGE = 224, ROUNDS = 5 };
static const size_t sample_bytes = (size_t)3 * IMAGE * IMAGE * 4; /* float32 */
static const double seconds_per_round = 0.5;

static const pd_host host = {STDERR_HOST};
static const uint32_t off = 0;
static void record_name_thread(const pd_record *record, const char *name) { (void)record, (void)name; }
static const pd_record record = {.size = sizeof(pd_record), .enabled = &off, .name_thread = record_name_thread};
static const pd_device_access device = {.size = sizeof(pd_device_access)}; /* pageable batches need no device */

static double now_s(void) { return 1e-9 * (double)pd_monotonic_ns(); }

static int ascending(const void *a, const void *b) {
  const double x = *(const double *)a, y = *(const double *)b;
  return (x > y) - (x < y);
}

/* ---- the ideal: copies of whole samples; a rate below 0 is a failure ---- */

typedef struct copier {
  pthread_t thread;
  char *from, *to;
  double rate;
} copier;

static void *copy(void *state) {
  copier *self = state;
  const double start = now_s();
  uint64_t samples = 0;
  do {
    for (size_t i = 0; i < BATCH; i++) memcpy(self->to + i * sample_bytes, self->from + i * sample_bytes, sample_bytes);
    samples += BATCH;
  } while (now_s() - start < seconds_per_round);
  self->rate = (double)samples / (now_s() - start);
  return NULL;
}

static double copy_rate(int threads) {
  copier copiers[2] = {0};
  double rate = 0;
  int started = 0;
  for (int i = 0; i < threads; i++) {
    copiers[i].from = malloc(BATCH * sample_bytes);
    copiers[i].to = malloc(BATCH * sample_bytes);
    if (!copiers[i].from || !copiers[i].to) goto out;
    memset(copiers[i].from, 1, BATCH * sample_bytes);
    memset(copiers[i].to, 1, BATCH * sample_bytes);
  }
  while (started < threads && !pthread_create(&copiers[started].thread, NULL, copy, &copiers[started])) started++;
out:
  for (int i = 0; i < started; i++) {
    pthread_join(copiers[i].thread, NULL);
    rate += copiers[i].rate;
  }
  for (int i = 0; i < threads; i++) {
    free(copiers[i].from);
    free(copiers[i].to);
  }
  return started == threads ? rate : -1;
}

/* ---- the loader ---- */

static double loader_rate(int workers, int64_t cpu_work) {
  const data_config config = {.batch_size = BATCH,
                              .image_size = IMAGE,
                              .dataset_size = 100000,
                              .num_workers = workers,
                              .prefetch_factor = 2,
                              .drop_last = true,
                              .cpu_work = cpu_work,
                              .seed = 1};
  data_loader *loader = NULL;
  const pd_batch *batch = NULL;
  double rate = -1;
  if (data_loader_open(&host, &device, &record, &config, &loader) != PD_OK) return rate;
  if (data_loader_iter_begin(loader) != PD_OK) goto out;
  /* What was made ahead is not measured: every buffer is written once before the clock starts. */
  for (int i = 0; i < 2 * workers + 1; i++)
    if (data_loader_next(loader, &batch) != PD_OK) goto out;
  const double start = now_s();
  uint64_t samples = 0;
  do {
    if (data_loader_next(loader, &batch) != PD_OK) goto out;
    samples += (uint64_t)batch->count;
  } while (now_s() - start < seconds_per_round);
  rate = (double)samples / (now_s() - start);
out:
  data_loader_close(loader);
  return rate;
}

int main(void) {
  printf("data loader, images of %d, batches of %d: samples/s, median of %d rounds (least .. most)\n", IMAGE, BATCH,
         ROUNDS);
  printf("%8s %9s %28s %12s %8s\n", "workers", "cpu_work", "samples/s", "memcpy", "of it");
  static const int64_t work[] = {200, 0};
  for (int workers = 1; workers <= 2; workers++) {
    const double ideal = copy_rate(workers);
    for (int k = 0; k < 2; k++) {
      double rates[ROUNDS];
      for (int i = 0; i < ROUNDS; i++) rates[i] = loader_rate(workers, work[k]);
      for (int i = 0; i < ROUNDS; i++)
        if (rates[i] < 0 || ideal < 0) return 1;
      qsort(rates, ROUNDS, sizeof rates[0], ascending);
      printf("%8d %9ld %10.0f (%.0f .. %.0f) %12.0f %7.1f%%\n", workers, (long)work[k], rates[ROUNDS / 2], rates[0],
             rates[ROUNDS - 1], ideal, 100 * rates[ROUNDS / 2] / ideal);
    }
  }
  return 0;
}
