/* See series.h. */
#include "series.h"

#include "base/log.h"
#include "base/monotonic.h"
#include "facts/series_names.h"
#include "gpu_activity.h"
#include "run/nvml.h"
#include "run/powercap.h"
#include "thread_use.h"

#include <pdhost/clocks.h>
#include <pdhost/thread_start.h>

#include <math.h>
#include <semaphore.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/prctl.h>
#include <sys/resource.h>
#include <time.h>
#include <unistd.h>

struct series {
  const pd_record *record;
  series_wish wish;
  nvml *gpu;              /* NULL: none */
  gpu_activity *activity; /* NULL: no GPU */
  thread_use *threads;
  bool was_on; /* at the tick before */
  bool told;   /* which series of the GPU there are not */
  bool seen[SERIES_COUNT];
  int64_t looked_ns;
  bool has_energy;
  powercap_count energy; /* of the processors, when looked_ns was */
  double used_s;         /* of processors by this process, when looked_ns was; negative: not known */
  pthread_t thread;
  sem_t ends;
};

static const char *const names[SERIES_COUNT] = {
#define SERIES_NAME(id, name, resolution) name,
    SERIES_MAP(SERIES_NAME)
#undef SERIES_NAME
};

static void count(const series *self, const char *name, double value) {
  if (isfinite(value)) self->record->counter(self->record, self->record->intern(self->record, name), value);
}

static void put(series *self, int which, double value) {
  count(self, names[which], value);
  self->seen[which] = self->seen[which] || isfinite(value);
}

static void put_thread(void *user, const char *thread, double cores) {
  char name[64];
  snprintf(name, sizeof name, SERIES_THREAD_FORMAT, thread);
  count(user, name, cores);
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

/* Before looked_ns is set anew. */
static void look_at_processors(series *self, bool is_first, double elapsed_s) {
  char why[POWERCAP_FAULT_ROOM]; /* the run says so */
  powercap_count now;
  const bool has_now = self->wish.powercap && powercap_read(self->wish.powercap, &now, why, sizeof why);
  if (!is_first && has_now && self->has_energy && elapsed_s > 0)
    put(self, SERIES_PROCESSOR_POWER, powercap_joules(&self->energy, &now, elapsed_s) / elapsed_s);
  self->has_energy = has_now;
  if (has_now) self->energy = now;
}

static void look_at_process(series *self, bool is_first) {
  const int64_t now_ns = monotonic_ns();
  const double used_s = used_seconds(), elapsed_s = 1e-9 * (double)(now_ns - self->looked_ns);
  put(self, SERIES_PROCESS_MEMORY, resident_bytes());
  if (self->wish.loader_bytes) put(self, SERIES_LOADER_MEMORY, (double)self->wish.loader_bytes);
  if (!is_first && used_s >= 0 && self->used_s >= 0 && elapsed_s > 0)
    put(self, SERIES_PROCESS_CORES, (used_s - self->used_s) / elapsed_s);
  look_at_processors(self, is_first, elapsed_s);
  self->used_s = used_s;
  self->looked_ns = now_ns;
  if (self->threads && is_first) thread_use_forget(self->threads);
  if (self->threads) thread_use_look(self->threads, put_thread, self);
}

/* In one warning, what this GPU has no series of. PCIe counts as known by either way. */
static void tell_missing(series *self) {
  static const int asked[] = {SERIES_SM_CLOCK,  SERIES_MEMORY_CLOCK,  SERIES_TEMPERATURE, SERIES_POWER,
                              SERIES_SM_ACTIVE, SERIES_SM_OCCUPANCY,  SERIES_TENSOR,      SERIES_DRAM,
                              SERIES_PCIE_SENT, SERIES_PCIE_RECEIVED, SERIES_NVLINK_SENT, SERIES_NVLINK_RECEIVED};
  char text[512] = "";
  size_t used = 0;
  for (size_t i = 0; i < sizeof asked / sizeof asked[0]; i++) {
    const char *const name = names[asked[i]];
    const bool is_known = self->seen[asked[i]] ||
                          (asked[i] == SERIES_PCIE_SENT && self->seen[SERIES_PCIE_SENT_20_MS]) ||
                          (asked[i] == SERIES_PCIE_RECEIVED && self->seen[SERIES_PCIE_RECEIVED_20_MS]);
    if (is_known || used + 64 > sizeof text) continue;
    used +=
        (size_t)snprintf(text + used, sizeof text - used, "%s%.*s", used ? ", " : "", (int)strcspn(name, ","), name);
  }
  if (used)
    log_line(PD_LOG_WARN, NULL,
             "[profile] series_every: NVML does not tell these of this GPU, so they have no series: %s", text);
  self->told = true;
}

static void look_at_gpu(series *self) {
  const nvml_state now = nvml_state_now(self->gpu);
  gpu_means means;
  const bool has_means = self->activity && gpu_activity_look(self->activity, &means);
  put(self, SERIES_SM_CLOCK, now.sm_mhz);
  put(self, SERIES_MEMORY_CLOCK, now.memory_mhz);
  put(self, SERIES_TEMPERATURE, now.celsius);
  put(self, SERIES_POWER, now.watts);
  if (!has_means) return;
  put(self, SERIES_SM_ACTIVE, means.sm_active);
  put(self, SERIES_SM_OCCUPANCY, means.sm_occupancy);
  put(self, SERIES_TENSOR, means.tensor_active);
  put(self, SERIES_DRAM, means.dram_used);
  put(self, SERIES_PCIE_SENT, means.pcie_sent);
  put(self, SERIES_PCIE_RECEIVED, means.pcie_received);
  put(self, SERIES_NVLINK_SENT, means.nvlink_sent);
  put(self, SERIES_NVLINK_RECEIVED, means.nvlink_received);
  if (!self->seen[SERIES_PCIE_SENT] || !self->seen[SERIES_PCIE_RECEIVED]) {
    const nvml_pcie pcie = nvml_pcie_now(self->gpu);
    put(self, SERIES_PCIE_SENT_20_MS, pcie.sent);
    put(self, SERIES_PCIE_RECEIVED_20_MS, pcie.received);
  }
  if (!self->told) tell_missing(self);
}

static void look(series *self) {
  const bool is_first = !self->was_on;
  look_at_process(self, is_first);
  if (!self->gpu) return;
  if (self->activity && is_first) gpu_activity_forget(self->activity);
  look_at_gpu(self);
}

static void *watch(void *user) {
  series *self = user;
  (void)prctl(PR_SET_NAME, "pdhost series");
  for (;;) {
    const struct timespec until = pd_clock_after(CLOCK_MONOTONIC, self->wish.every_ms * INT64_C(1000000));
    if (sem_clockwait(&self->ends, CLOCK_MONOTONIC, &until) == 0) return NULL;
    const bool on = pd_record_on(self->record);
    if (on) look(self);
    self->was_on = on;
  }
}

static void let_go(series *self) {
  gpu_activity_close(self->activity);
  nvml_close(self->gpu);
  thread_use_close(self->threads);
  free(self);
}

series *series_begin(const pd_record *record, const series_wish *wish) {
  series *self = calloc(1, sizeof *self);
  if (!self) return NULL;
  *self = (series){.record = record, .wish = *wish, .threads = thread_use_open()};
  if (wish->is_cuda) self->gpu = nvml_open(wish->device_index);
  if (self->gpu) self->activity = gpu_activity_open(self->gpu);
  if (wish->is_cuda && !self->gpu)
    log_line(PD_LOG_WARN, NULL, "[profile] series_every: NVML cannot be asked for this GPU, so it has no series");
  if (sem_init(&self->ends, 0, 0) == 0 && pd_thread_start(&self->thread, watch, self) == 0) return self;
  let_go(self);
  return NULL;
}

void series_end(series *self) {
  if (!self) return;
  (void)sem_post(&self->ends);
  (void)pthread_join(self->thread, NULL);
  (void)sem_destroy(&self->ends);
  let_go(self);
}
