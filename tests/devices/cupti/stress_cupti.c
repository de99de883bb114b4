/* Threads that launch, fill and complete while windows open, drain and close under every policy. For ThreadSanitizer;
 * each window's count is exact all the same. Exit 0: all held. */
#include "devices/cuda/cupti/cupti_collect.h"
#include "fake_cupti.h"
#include "kept_record.h"

#include <stdatomic.h>
#include <stdio.h>

enum { THREADS = 4, WINDOWS = 12, LAUNCHES = 400, NOISE = 25 };

static _Atomic uint64_t held;

/* Requests and completes as CUPTI's own threads might, without a record in any buffer. */
static void *make_noise(void *unused) {
  (void)unused;
  for (int i = 0; i < NOISE; i++) {
    size_t bytes;
    uint8_t *data = fake_request(&bytes);
    if (data) fake_complete(data, 0);
    atomic_fetch_add(&held, data != NULL);
    sched_yield();
  }
  return NULL;
}

static void *launch(void *unused) {
  (void)unused;
  for (int i = 0; i < LAUNCHES; i++) {
    fake_launch("_Z6stressv");
    if (i % 40 == 39) fake_finish(20), fake_fill();
  }
  return NULL;
}

static void *flush(void *api_) {
  const cupti_api *api = api_;
  for (int i = 0; i < 20; i++) (void)api->ActivityFlushAll(0); /* CUPTI's worker hands full buffers over */
  return NULL;
}

static int run(const cupti_api *api, cupti_between between, bool late) {
  kept_record record;
  cupti_collect *collect;
  cupti_drained drained;
  pthread_t threads[THREADS], noise, worker;
  char why[256];
  int failures = 0;
  fake_reset();
  fake_set()->late_completion = late;
  kept_record_init(&record);
  const cupti_collect_config config = {.api = api, .record = &record.table, .max_bytes = 256 << 20, .between = between};
  if (cupti_collect_open(&config, &collect, why, sizeof why) != PD_OK) {
    printf("%s\n", why);
    return 1;
  }
  for (int window = 1; window <= WINDOWS; window++) {
    if (cupti_collect_start(collect, why, sizeof why) != PD_OK) return printf("%s\n", why), 1;
    for (int i = 0; i < THREADS; i++)
      if (pthread_create(&threads[i], NULL, launch, NULL)) return 1;
    if (pthread_create(&noise, NULL, make_noise, NULL)) return 1;
    if (pthread_create(&worker, NULL, flush, (void *)(uintptr_t)api)) return 1;
    for (int i = 0; i < THREADS; i++) pthread_join(threads[i], NULL);
    pthread_join(worker, NULL);
    pthread_join(noise, NULL);
    fake_finish(0);
    cupti_collect_stop(collect);
    cupti_collect_drain(collect, INT64_C(60000000000), &drained);
    uint64_t calls = 0, kernels = 0;
    pthread_mutex_lock(&record.lock);
    for (uint64_t i = 0; i < record.count; i++) {
      calls += record.rows[i].kind == PD_ACTIVITY_RUNTIME;
      kernels += record.rows[i].kind == PD_ACTIVITY_KERNEL;
    }
    pthread_mutex_unlock(&record.lock);
    uint64_t wanted = (uint64_t)window * THREADS * LAUNCHES;
    if (!drained.complete || calls != wanted || kernels != wanted) {
      printf("window %d: complete %d, %llu calls, %llu kernels, wanted %llu\n", window, drained.complete,
             (unsigned long long)calls, (unsigned long long)kernels, (unsigned long long)wanted);
      failures++;
    }
  }
  cupti_collect_close(collect);
  fake_join();
  fake_counts did = fake_get();
  if (did.in_callback || did.overlapping || did.bad_order || did.unzeroed || did.cleared) {
    printf("breaches: %u in callbacks, %u during finalize, %u order, %u unzeroed, %u cleared\n", did.in_callback,
           did.overlapping, did.bad_order, did.unzeroed, did.cleared);
    failures++;
  }
  kept_record_free(&record);
  return failures;
}

int main(void) {
  static cupti_api api;
  char why[1024];
  int failures = 0;
  if (cupti_api_load(&api, FAKE_CUPTI_PATH, why, sizeof why) != PD_OK) return printf("%s\n", why), 1;
  failures += run(&api, CUPTI_BETWEEN_KEEP, false);
  failures += run(&api, CUPTI_BETWEEN_DISABLE, true);
  failures += run(&api, CUPTI_BETWEEN_DETACH, false);
  printf("%d failures, %llu buffers came and went on the side\n", failures, (unsigned long long)atomic_load(&held));
  return failures != 0;
}
