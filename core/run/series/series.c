/* See series.h. */
#include "series.h"

#include "base/monotonic.h"
#include "run/nvml.h"

#include <pdhost/clocks.h>

#include <math.h>
#include <pthread.h>
#include <semaphore.h>
#include <stdio.h>
#include <stdlib.h>
#include <sys/prctl.h>
#include <sys/resource.h>
#include <time.h>
#include <unistd.h>

struct series {
  const pd_record *record;
  nvml *gpu; /* NULL: none */
  int64_t every_ms;
  int64_t looked_ns;
  double used_s; /* of processors by this process, when looked_ns was; negative: not known */
  pthread_t thread;
  sem_t ends;
};

static void put(const series *self, const char *name, double value) {
  if (!isnan(value)) self->record->counter(self->record, self->record->intern(self->record, name), value);
}

static double used_seconds(void) {
  struct rusage use;
  if (getrusage(RUSAGE_SELF, &use) != 0) return -1;
  return (double)(use.ru_utime.tv_sec + use.ru_stime.tv_sec) +
         1e-6 * (double)(use.ru_utime.tv_usec + use.ru_stime.tv_usec);
}

/* The second figure of statm. */
static double resident_bytes(void) {
  char line[128] = "", *end = line;
  FILE *file = fopen("/proc/self/statm", "re");
  if (!file) return (double)NAN;
  const char *const read = fgets(line, sizeof line, file);
  (void)fclose(file);
  if (!read) return (double)NAN;
  (void)strtoull(line, &end, 10);
  const char *const second = end;
  const unsigned long long pages = strtoull(second, &end, 10);
  return end > second ? (double)pages * (double)sysconf(_SC_PAGESIZE) : (double)NAN;
}

static void look(series *self) {
  const int64_t now_ns = monotonic_ns();
  const double used_s = used_seconds(), elapsed_s = 1e-9 * (double)(now_ns - self->looked_ns);
  put(self, "process memory, bytes", resident_bytes());
  if (used_s >= 0 && self->used_s >= 0 && elapsed_s > 0)
    put(self, "process, cores busy", (used_s - self->used_s) / elapsed_s);
  self->used_s = used_s;
  self->looked_ns = now_ns;
  if (!self->gpu) return;
  const nvml_state gpu = nvml_state_now(self->gpu);
  put(self, "GPU SM clock, MHz", gpu.sm_mhz);
  put(self, "GPU memory clock, MHz", gpu.memory_mhz);
  put(self, "GPU temperature, C", gpu.celsius);
  put(self, "GPU power, W", gpu.watts);
  put(self, "GPU PCIe sent, bytes/s", gpu.pcie_sent);
  put(self, "GPU PCIe received, bytes/s", gpu.pcie_received);
}

static void *watch(void *user) {
  series *self = user;
  (void)prctl(PR_SET_NAME, "pdhost series");
  for (;;) {
    const struct timespec until = pd_clock_after(CLOCK_REALTIME, self->every_ms * INT64_C(1000000));
    if (sem_timedwait(&self->ends, &until) == 0) return NULL;
    if (pd_record_on(self->record)) look(self);
  }
}

series *series_begin(const pd_record *record, int64_t every_ms, bool is_cuda, uint32_t device_index) {
  series *self = calloc(1, sizeof *self);
  if (!self) return NULL;
  *self = (series){.record = record, .every_ms = every_ms, .looked_ns = monotonic_ns(), .used_s = used_seconds()};
  if (is_cuda) self->gpu = nvml_open(device_index);
  if (sem_init(&self->ends, 0, 0) == 0 && pthread_create(&self->thread, NULL, watch, self) == 0) return self;
  nvml_close(self->gpu);
  free(self);
  return NULL;
}

void series_end(series *self) {
  if (!self) return;
  (void)sem_post(&self->ends);
  (void)pthread_join(self->thread, NULL);
  (void)sem_destroy(&self->ends);
  nvml_close(self->gpu);
  free(self);
}
