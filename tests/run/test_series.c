/* What profile.series_every looks at: of this process, and of a GPU as tests/fixtures' libnvidia-ml.so.1 tells it. */
#include "pd_test.h"

#include "base/log.h"
#include "base/monotonic.h"
#include "run/series/series.h"

#include <pthread.h>
#include <stdatomic.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/prctl.h>
#include <unistd.h>

enum { MOST = 4096, NAMES = 64 };
/* A recorder of counters alone; one thread writes. */
static struct {
  uint32_t on;
  char names[NAMES][64];
  uint32_t name_count, count;
  uint32_t name[MOST];
  double value[MOST];
} kept;

static uint32_t intern(const pd_record *record, const char *text) {
  (void)record;
  uint32_t at = 0;
  while (at < kept.name_count && strcmp(kept.names[at], text) != 0) at++;
  if (at == kept.name_count && at < NAMES) snprintf(kept.names[kept.name_count++], sizeof kept.names[0], "%s", text);
  return at;
}

static void counter(const pd_record *record, uint32_t name, double value) {
  (void)record;
  if (kept.count == MOST) return;
  kept.name[kept.count] = name;
  kept.value[kept.count++] = value;
}

static const pd_record recorder = {
    .size = sizeof(pd_record), .enabled = &kept.on, .intern = intern, .counter = counter};

static uint32_t looks_at(const char *name, double *least, double *most) {
  uint32_t looks = 0;
  for (uint32_t i = 0; i < kept.count; i++) {
    const double value = kept.value[i];
    if (strcmp(kept.names[kept.name[i]], name) != 0) continue;
    if (!looks || value < *least) *least = value;
    if (!looks || value > *most) *most = value;
    looks++;
  }
  return looks;
}

static void look_for(const series_wish *wish, useconds_t us) {
  memset(&kept, 0, sizeof kept);
  kept.on = 1;
  series *self = series_begin(&recorder, wish);
  cr_assert(self);
  usleep(us);
  series_end(self);
}

static void expect_all(const char *name, double value, double within) {
  double least = 0, most = 0;
  cr_assert_gt(looks_at(name, &least, &most), 1, "%s", name);
  cr_assert(least >= value - within && most <= value + within, "%s: %g to %g", name, least, most);
}

static void expect_none(const char *name) {
  double least, most;
  cr_assert_eq(looks_at(name, &least, &most), 0, "%s", name);
}

static atomic_bool enough;

static void *spin(void *name) {
  (void)prctl(PR_SET_NAME, name);
  while (!atomic_load(&enough)) {}
  return NULL;
}

static void *rest(void *name) {
  (void)prctl(PR_SET_NAME, name);
  while (!atomic_load(&enough)) usleep(1000);
  return NULL;
}

PD_TEST(series, has_the_cores_of_each_name_of_threads) {
  pthread_t threads[3];
  double least = 0, busy = 0, idle = 0, all = 0;
  atomic_store(&enough, false);
  cr_assert_eq(pthread_create(&threads[0], NULL, spin, "spins"), 0);
  cr_assert_eq(pthread_create(&threads[1], NULL, rest, "rests"), 0);
  cr_assert_eq(pthread_create(&threads[2], NULL, rest, "rests"), 0);
  look_for(&(series_wish){.every_ms = 50, .loader_bytes = 4096}, 600000);
  atomic_store(&enough, true);
  for (int i = 0; i < 3; i++) pthread_join(threads[i], NULL);
  const uint32_t looks = looks_at("process memory, bytes", &least, &all);
  cr_assert_gt(looks, 2);
  cr_assert_eq(looks_at("thread spins, cores busy", &least, &busy), looks - 1, "the first look has nothing before it");
  cr_assert_eq(looks_at("thread rests, cores busy", &least, &idle), looks - 1,
               "two threads of one name are one series");
  cr_assert_gt(looks_at("thread main, cores busy", &least, &all), 0);
  cr_assert(busy > 0.1 && busy < 1.1, "%g of a core", busy);
  cr_assert_lt(idle, busy / 2);
  expect_all("loader batches, bytes", 4096, 0);
  expect_none("GPU power, W");
}

PD_TEST(series, begins_anew_in_each_window) {
  double least, most = 0;
  memset(&kept, 0, sizeof kept);
  series *self = series_begin(&recorder, &(series_wish){.every_ms = 30});
  const int64_t began_ns = monotonic_ns();
  while (monotonic_ns() - began_ns < 300000000) {} /* busy, and not recorded */
  __atomic_store_n(&kept.on, 1, __ATOMIC_RELAXED);
  usleep(300000);
  series_end(self);
  cr_assert_gt(looks_at("thread main, cores busy", &least, &most), 0);
  cr_assert_lt(most, 0.5, "what came before the window is in none of its means: %g", most);
}

PD_TEST(series, has_what_gpm_and_the_links_of_a_gpu_tell) {
  setenv("FAKE_NVML", "1755 1980 0", 1);
  setenv("FAKE_NVML_STATE", "2619,41,350500,2048,1024", 1);
  setenv("FAKE_NVML_GPM", "2 61.5;3 33;5 12.25;10 40;20 3;21 5;60 9;61 9", 1);
  setenv("FAKE_NVML_LINKS", "18,4000000,2000000", 1);
  unsetenv("CUDA_VISIBLE_DEVICES");
  look_for(&(series_wish){.every_ms = 40, .is_cuda = true}, 400000);
  expect_all("GPU SM clock, MHz", 1755, 0);
  expect_all("GPU power, W", 350.5, 1e-9);
  expect_all("GPU SMs active, %", 61.5, 0);
  expect_all("GPU SM occupancy, %", 33, 0);
  expect_all("GPU tensor cores active, %", 12.25, 0);
  expect_all("GPU memory bandwidth used, %", 40, 0);
  expect_all("GPU PCIe sent, bytes/s", 3 * 1048576, 0);
  expect_all("GPU PCIe received, bytes/s", 5 * 1048576, 0);
  expect_all("GPU NVLink sent, bytes/s", 4000000.0 * 1024, 0.3 * 4000000 * 1024);
  expect_all("GPU NVLink received, bytes/s", 2000000.0 * 1024, 0.3 * 2000000 * 1024);
  expect_none("GPU PCIe sent in 20 ms, bytes/s");
  const char *said[LOG_WARNINGS_KEPT];
  cr_assert_eq(log_warnings(said, LOG_WARNINGS_KEPT), 0, "nothing is missing");
}

PD_TEST(series, takes_the_links_from_gpm_where_there_are_no_counters) {
  setenv("FAKE_NVML", "1755 1980 0", 1);
  setenv("FAKE_NVML_GPM", "60 2;61 7", 1);
  unsetenv("FAKE_NVML_LINKS");
  unsetenv("CUDA_VISIBLE_DEVICES");
  look_for(&(series_wish){.every_ms = 40, .is_cuda = true}, 300000);
  expect_all("GPU NVLink sent, bytes/s", 7 * 1048576, 0);
  expect_all("GPU NVLink received, bytes/s", 2 * 1048576, 0);
}

PD_TEST(series, says_once_what_a_gpu_does_not_tell) {
  setenv("FAKE_NVML", "1755 1980 0", 1);
  setenv("FAKE_NVML_STATE", "2619,x,350500,2048,1024", 1);
  setenv("FAKE_NVML_LINKS", "0,0,0", 1); /* counters of links that are not there */
  unsetenv("FAKE_NVML_GPM");
  unsetenv("CUDA_VISIBLE_DEVICES");
  look_for(&(series_wish){.every_ms = 40, .is_cuda = true}, 400000);
  expect_all("GPU PCIe sent in 20 ms, bytes/s", 2048 * 1024, 0);
  expect_none("GPU temperature, C");
  expect_none("GPU SMs active, %");
  expect_none("GPU NVLink sent, bytes/s");
  const char *said[LOG_WARNINGS_KEPT];
  cr_assert_eq(log_warnings(said, LOG_WARNINGS_KEPT), 1);
  cr_assert(strstr(said[0], "no series: GPU temperature, GPU SMs active, GPU SM occupancy, GPU tensor cores active, "
                            "GPU memory bandwidth used, GPU NVLink sent, GPU NVLink received"),
            "%s", said[0]);
  cr_assert_null(strstr(said[0], "PCIe"));
}

PD_TEST(series, says_that_there_is_no_nvml) {
  unsetenv("FAKE_NVML");
  look_for(&(series_wish){.every_ms = 40, .is_cuda = true}, 100000);
  const char *said[LOG_WARNINGS_KEPT];
  cr_assert_eq(log_warnings(said, LOG_WARNINGS_KEPT), 1);
  cr_assert(strstr(said[0], "NVML cannot be asked"), "%s", said[0]);
}
