/* See guard.h. */
#include "guard.h"

#include "writing/feed.h"

#include "base/monotonic.h"

#include "heartbeat.h"
#include "nvml.h"
#include "powercap.h"

#include <sched.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/resource.h>
#include <unistd.h>

#define LOOK_EVERY_NS 20000000

struct guard {
  bool has_energy;
  uint64_t energy_mj; /* when energy_ns was */
  int64_t energy_ns;
  bool has_processors;
  powercap_count processors; /* when energy_ns was */
  const char *powercap;      /* the folder */
  char fault[POWERCAP_FAULT_ROOM];
  nvml *gpu; /* NULL: none, or no NVML */
  guard_facts facts;
  int64_t begun_ns, looked_ns;
  double busy_s, own_s; /* of processors, when it began */
  double stopped_s;     /* by the heartbeat, when it began */
};

static double load_average(void) {
  double load;
  return getloadavg(&load, 1) == 1 ? load : -1;
}

/* Whether this process may use processor `index`. */
static bool is_allowed(const cpu_set_t *allowed, unsigned long index) {
  return index < CPU_SETSIZE && CPU_ISSET(index, allowed);
}

/* Busy ticks of a line "cpu3 ...": user nice system idle iowait irq softirq steal, all but the two that wait. */
static unsigned long long busy_ticks(char *at) {
  enum { COLUMNS = 8, IDLE = 3, IOWAIT = 4 };
  unsigned long long busy = 0;
  for (int i = 0; i < COLUMNS; i++) {
    const unsigned long long ticks = strtoull(at, &at, 10);
    if (i != IDLE && i != IOWAIT) busy += ticks;
  }
  return busy;
}

/* Seconds that the processors of this process have worked together since the machine started, and how many these are;
 * negative: unknown. */
static double busy_seconds(uint32_t *cores) {
  char line[512];
  unsigned long long busy = 0;
  cpu_set_t allowed;
  *cores = 0;
  FILE *file = fopen("/proc/stat", "r");
  if (!file || sched_getaffinity(0, sizeof allowed, &allowed) != 0) {
    if (file) fclose(file);
    return -1;
  }
  while (fgets(line, sizeof line, file) && strncmp(line, "cpu", 3) == 0) {
    char *at = line + 3;
    if (line[3] < '0' || line[3] > '9' || !is_allowed(&allowed, strtoul(line + 3, &at, 10))) continue;
    busy += busy_ticks(at);
    ++*cores;
  }
  fclose(file);
  return *cores ? (double)busy / (double)sysconf(_SC_CLK_TCK) : -1;
}

/* The processor time of this process and of the one that has the sinks. */
static double own_seconds(void) {
  struct rusage use;
  if (getrusage(RUSAGE_SELF, &use) != 0) return -1;
  return feed_writer_seconds() + (double)(use.ru_utime.tv_sec + use.ru_stime.tv_sec) +
         1e-6 * (double)(use.ru_utime.tv_usec + use.ru_stime.tv_usec);
}

guard *guard_open(bool is_cuda, uint32_t device_index) {
  guard *self = calloc(1, sizeof *self);
  if (self && is_cuda) self->gpu = nvml_open(device_index);
  return self;
}

void guard_close(guard *self) {
  if (!self) return;
  if (self->begun_ns) heartbeat_end();
  nvml_close(self->gpu);
  free(self);
}

static void look(guard *self) {
  guard_facts *facts = &self->facts;
  nvml_clocks clocks;
  self->looked_ns = monotonic_ns();
  if (!self->gpu || !nvml_read(self->gpu, &clocks)) return;
  if (!facts->looks || clocks.sm_mhz < facts->least_sm_mhz) facts->least_sm_mhz = clocks.sm_mhz;
  facts->last_sm_mhz = clocks.sm_mhz;
  facts->most_sm_mhz = clocks.most_sm_mhz;
  facts->reasons |= clocks.reasons;
  facts->looks++;
}

void guard_look(guard *self) {
  if (self->begun_ns && self->gpu && monotonic_ns() - self->looked_ns >= LOOK_EVERY_NS) look(self);
}

void guard_begin(guard *self) {
  self->facts = (guard_facts){.load_before = load_average()};
  look(self);
  (void)heartbeat_begin();
  self->stopped_s = heartbeat_stopped_s();
  self->busy_s = busy_seconds(&self->facts.cores);
  self->own_s = own_seconds();
  self->begun_ns = monotonic_ns();
}

void guard_so_far(guard *self, guard_facts *facts) {
  uint32_t cores;
  self->facts.elapsed_s = 1e-9 * (double)(monotonic_ns() - self->begun_ns);
  self->facts.stopped_s = heartbeat_stopped_s() - self->stopped_s;
  const double busy_s = busy_seconds(&cores), own_s = own_seconds(), elapsed_s = self->facts.elapsed_s;
  self->facts.own_cores = self->facts.other_cores = -1;
  if (elapsed_s > 0 && self->busy_s >= 0 && busy_s >= self->busy_s) {
    const double own = (own_s - self->own_s) / elapsed_s, all = (busy_s - self->busy_s) / elapsed_s;
    self->facts.own_cores = own;
    self->facts.other_cores = all > own ? all - own : 0;
  }
  *facts = self->facts;
}

void guard_end(guard *self, guard_facts *facts) {
  guard_so_far(self, facts);
  look(self);
  self->facts.load_after = load_average();
  heartbeat_end();
  self->begun_ns = 0;
  *facts = self->facts;
}

void guard_energy_begin(guard *self, const char *powercap) {
  self->powercap = powercap;
  self->has_energy = self->gpu && nvml_energy(self->gpu, &self->energy_mj);
  self->has_processors = powercap_read(powercap, &self->processors, self->fault, sizeof self->fault);
  self->energy_ns = monotonic_ns();
}

double guard_energy_j(guard *self) {
  uint64_t now_mj = 0;
  const int64_t since_ns = monotonic_ns() - self->energy_ns;
  if (!self->has_energy || since_ns < INT64_C(1000000000) * GUARD_ENERGY_LEAST_S) return 0;
  if (!nvml_energy(self->gpu, &now_mj) || now_mj < self->energy_mj) return 0; /* the driver was loaded again */
  return 1e-3 * (double)(now_mj - self->energy_mj);
}

double guard_processor_energy_j(guard *self) {
  powercap_count now;
  const double seconds = 1e-9 * (double)(monotonic_ns() - self->energy_ns);
  if (!self->has_processors || seconds < GUARD_ENERGY_LEAST_S) return 0;
  if (!powercap_read(self->powercap, &now, self->fault, sizeof self->fault)) return 0;
  return powercap_joules(&self->processors, &now, seconds);
}

const char *guard_processor_fault(const guard *self) { return self->fault[0] ? self->fault : NULL; }

/* Ticks are 10 ms: of a shorter time they say little. */
#define TELLING_S 0.3
/* A share of the cores, together with this process's own: above it there was a wait for a core. */
#define TAKEN 0.9

bool guard_tells_taken_cores(const guard_facts *facts, char *text, size_t room) {
  const double cores = facts->cores;
  text[0] = '\0';
  if (facts->elapsed_s < TELLING_S || facts->other_cores < GUARD_OTHERS_WARN * cores ||
      facts->own_cores + facts->other_cores < TAKEN * cores)
    return false;
  snprintf(text, room, "other programs kept %.1f of %u core%s busy while the steps ran, and this run the rest",
           facts->other_cores, facts->cores, facts->cores == 1 ? "" : "s");
  return true;
}

bool guard_tells_stop(const guard_facts *facts, char *text, size_t room) {
  text[0] = '\0';
  if (!(facts->stopped_s > 0)) return false;
  snprintf(text, room, "the process stood still for %.1f s (stopped by a signal or a debugger, or the machine was)",
           facts->stopped_s);
  return true;
}
