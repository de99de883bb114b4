/* See nvml.h. The prototypes are NVML's (nvml.h of CUDA 12 and 13, version 2 of the API), whose header is no part of a
 * machine without the toolkit. */
#include "nvml.h"

#include <dlfcn.h>
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

enum { NVML_OK = 0, NVML_CLOCK_OF_SM = 1, NVML_CLOCK_OF_MEMORY = 2, POWER_CAP = 0x4 };
enum { NVML_TEMPERATURE_OF_GPU = 0, NVML_PCIE_SENT = 0, NVML_PCIE_RECEIVED = 1 };

struct nvml {
  void *library;
  nvml_device *device;
  int (*init)(void);
  int (*shutdown)(void);
  int (*by_index)(unsigned, nvml_device **);
  int (*by_uuid)(const char *, nvml_device **);
  int (*clock)(nvml_device *, int, unsigned *);
  int (*most_clock)(nvml_device *, int, unsigned *);
  int (*reasons)(nvml_device *, unsigned long long *);
  /* NULL: this NVML has none. */
  int (*energy)(nvml_device *, unsigned long long *);
  int (*temperature)(nvml_device *, int, unsigned *);
  int (*power)(nvml_device *, unsigned *);
  int (*pcie)(nvml_device *, int, unsigned *);
};

static const struct {
  uint64_t bit;
  const char *name;
  bool slows;
} all_reasons[] = {{0x1, "idle", false},
                   {0x2, "application clocks", false},
                   {POWER_CAP, "software power cap", true},
                   {0x8, "hardware slowdown", true},
                   {0x10, "sync boost", false},
                   {0x20, "software thermal slowdown", true},
                   {0x40, "hardware thermal slowdown", true},
                   {0x80, "hardware power brake", true},
                   {0x100, "display clocks", false}};
enum { REASONS = sizeof all_reasons / sizeof all_reasons[0] };

static bool load(void *library, const char *symbol, void *slot) {
  void *address = dlsym(library, symbol);
  memcpy(slot, &address, sizeof address);
  return address != NULL;
}

static bool load_all(nvml *self) {
  void *library = self->library;
  (void)load(library, "nvmlDeviceGetTotalEnergyConsumption", &self->energy);
  (void)load(library, "nvmlDeviceGetTemperature", &self->temperature);
  (void)load(library, "nvmlDeviceGetPowerUsage", &self->power);
  (void)load(library, "nvmlDeviceGetPcieThroughput", &self->pcie);
  return load(library, "nvmlInit_v2", &self->init) && load(library, "nvmlShutdown", &self->shutdown) &&
         load(library, "nvmlDeviceGetHandleByIndex_v2", &self->by_index) &&
         load(library, "nvmlDeviceGetHandleByUUID", &self->by_uuid) &&
         load(library, "nvmlDeviceGetClockInfo", &self->clock) &&
         load(library, "nvmlDeviceGetMaxClockInfo", &self->most_clock) &&
         /* The older name leaves NVML with CUDA 14. */
         (load(library, "nvmlDeviceGetCurrentClocksEventReasons", &self->reasons) ||
          load(library, "nvmlDeviceGetCurrentClocksThrottleReasons", &self->reasons));
}

/* NVML counts all GPUs, the runtime those of CUDA_VISIBLE_DEVICES, which has numbers or identifiers. Where GPUs differ
 * the runtime may put the fastest first; CUDA_DEVICE_ORDER=PCI_BUS_ID has both count alike. */
static bool find_device(nvml *self, uint32_t index) {
  const char *at = getenv("CUDA_VISIBLE_DEVICES");
  char name[96], *end;
  if (!at) return self->by_index(index, &self->device) == NVML_OK;
  for (uint32_t i = 0; at && i < index; i++) {
    at = strchr(at, ',');
    if (at) at++;
  }
  if (!at) return false;
  snprintf(name, sizeof name, "%.*s", (int)strcspn(at, ","), at);
  const unsigned long number = strtoul(name, &end, 10);
  if (end != name && !*end) return self->by_index((unsigned)number, &self->device) == NVML_OK;
  return self->by_uuid(name, &self->device) == NVML_OK;
}

nvml *nvml_open(uint32_t index) {
  nvml *self = calloc(1, sizeof *self);
  if (!self) return NULL;
  self->library = dlopen("libnvidia-ml.so.1", RTLD_LAZY | RTLD_LOCAL);
  if (!self->library || !load_all(self) || self->init() != NVML_OK) {
    if (self->library) dlclose(self->library);
    free(self);
    return NULL;
  }
  if (find_device(self, index)) return self;
  nvml_close(self);
  return NULL;
}

void nvml_close(nvml *self) {
  if (!self) return;
  (void)self->shutdown();
  dlclose(self->library);
  free(self);
}

bool nvml_read(nvml *self, nvml_clocks *out) {
  unsigned clock = 0, most = 0;
  unsigned long long reasons = 0;
  *out = (nvml_clocks){0};
  if (self->clock(self->device, NVML_CLOCK_OF_SM, &clock) != NVML_OK) return false;
  if (self->most_clock(self->device, NVML_CLOCK_OF_SM, &most) != NVML_OK) most = 0;
  if (self->reasons(self->device, &reasons) != NVML_OK) reasons = 0;
  *out = (nvml_clocks){.sm_mhz = clock, .most_sm_mhz = most, .reasons = reasons};
  return true;
}

bool nvml_energy(nvml *self, uint64_t *out) {
  unsigned long long mj = 0;
  if (!self->energy || self->energy(self->device, &mj) != NVML_OK) return false;
  *out = mj;
  return true;
}

/* One answer of NVML's in its unit, or NaN. */
static double ask(int (*question)(nvml_device *, int, unsigned *), nvml_device *device, int which, double unit) {
  unsigned answer = 0;
  return question && question(device, which, &answer) == NVML_OK ? unit * (double)answer : (double)NAN;
}

nvml_state nvml_state_now(nvml *self) {
  unsigned milliwatts = 0;
  nvml_state now = {.sm_mhz = ask(self->clock, self->device, NVML_CLOCK_OF_SM, 1),
                    .memory_mhz = ask(self->clock, self->device, NVML_CLOCK_OF_MEMORY, 1),
                    .celsius = ask(self->temperature, self->device, NVML_TEMPERATURE_OF_GPU, 1),
                    .watts = (double)NAN};
  if (self->power && self->power(self->device, &milliwatts) == NVML_OK) now.watts = 1e-3 * (double)milliwatts;
  return now;
}

nvml_pcie nvml_pcie_now(nvml *self) {
  return (nvml_pcie){.sent = ask(self->pcie, self->device, NVML_PCIE_SENT, 1024), /* KiB a second */
                     .received = ask(self->pcie, self->device, NVML_PCIE_RECEIVED, 1024)};
}

nvml_device *nvml_handle(const nvml *self) { return self->device; }

bool nvml_function(const nvml *self, const char *symbol, void *slot) { return load(self->library, symbol, slot); }

uint64_t nvml_slowing(uint64_t reasons) {
  uint64_t slowing = 0;
  for (int i = 0; i < REASONS; i++)
    if (all_reasons[i].slows) slowing |= reasons & all_reasons[i].bit;
  return slowing;
}

uint64_t nvml_disturbing(uint64_t reasons) { return nvml_slowing(reasons) & ~(uint64_t)POWER_CAP; }

const char *nvml_reasons_text(uint64_t reasons, char *text, uint32_t room) {
  size_t used = 0;
  snprintf(text, room, "none");
  for (int i = 0; i < REASONS && used < room; i++)
    if (reasons & all_reasons[i].bit)
      used += (size_t)snprintf(text + used, room - used, "%s%s", used ? ", " : "", all_reasons[i].name);
  return text;
}
