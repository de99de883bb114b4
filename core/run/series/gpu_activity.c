/* See gpu_activity.h. Structures, numbers and versions are those of nvml.h; that of GPM metrics grows at its end with
 * each version of NVML, which reads as many of them as it is told. */
#include "gpu_activity.h"

#include "base/monotonic.h"

#include <limits.h>
#include <math.h>
#include <stdlib.h>

enum { NVML_OK = 0, GPM_VERSION = 1, GPM_METRICS = 8 };
enum { SM_ACTIVE = 2, SM_OCCUPANCY = 3, TENSOR_ACTIVE = 5, DRAM_USED = 10 };                 /* per cent */
enum { PCIE_SENT = 20, PCIE_RECEIVED = 21, NVLINK_RECEIVED_ALL = 60, NVLINK_SENT_ALL = 61 }; /* MiB/s */
enum { FIELD_LINKS = 91, FIELD_SENT = 138, FIELD_RECEIVED = 139, FIELDS = 3 };               /* the last two in KiB */
enum { VALUE_UINT = 1, VALUE_ULONG = 2, VALUE_ULONGLONG = 3 };

typedef struct gpm_sample gpm_sample;
typedef struct gpm_support {
  unsigned version, is_supported;
} gpm_support;
typedef struct gpm_metric {
  unsigned id;
  int status;
  double value;
  const char *names[3];
} gpm_metric;
typedef struct gpm_question {
  unsigned version, count;
  gpm_sample *from, *to;
  gpm_metric metrics[GPM_METRICS];
} gpm_question;
typedef struct field_value {
  unsigned field, scope; /* scope UINT_MAX: all links together */
  long long timestamp_us, latency_us;
  int type, status;
  union {
    unsigned u;
    unsigned long ul;
    unsigned long long ull;
  } value;
} field_value;

typedef struct link_counts {
  bool is_known;
  int64_t at_ns;
  uint64_t sent_kib, received_kib;
} link_counts;

struct gpu_activity {
  nvml_device *device;
  int (*free_sample)(gpm_sample *);
  int (*take)(nvml_device *, gpm_sample *);
  int (*metrics)(gpm_question *);
  int (*fields)(nvml_device *, int, field_value *);
  gpm_sample *samples[2]; /* NULL: no GPM */
  bool has_sample;        /* in samples[0] */
  bool has_look;
  link_counts links;
};

static void open_gpm(gpu_activity *self, const nvml *gpu) {
  int (*support)(nvml_device *, gpm_support *);
  int (*allocate)(gpm_sample **);
  gpm_support told = {.version = GPM_VERSION};
  if (!nvml_function(gpu, "nvmlGpmQueryDeviceSupport", &support) ||
      !nvml_function(gpu, "nvmlGpmSampleAlloc", &allocate) ||
      !nvml_function(gpu, "nvmlGpmSampleFree", &self->free_sample) ||
      !nvml_function(gpu, "nvmlGpmSampleGet", &self->take) || !nvml_function(gpu, "nvmlGpmMetricsGet", &self->metrics))
    return;
  if (support(self->device, &told) != NVML_OK || !told.is_supported) return;
  if (allocate(&self->samples[0]) != NVML_OK) {
    self->samples[0] = NULL;
  } else if (allocate(&self->samples[1]) != NVML_OK) {
    (void)self->free_sample(self->samples[0]);
    self->samples[0] = self->samples[1] = NULL;
  }
}

gpu_activity *gpu_activity_open(nvml *gpu) {
  gpu_activity *self = calloc(1, sizeof *self);
  if (!self) return NULL;
  self->device = nvml_handle(gpu);
  open_gpm(self, gpu);
  (void)nvml_function(gpu, "nvmlDeviceGetFieldValues", &self->fields);
  return self;
}

void gpu_activity_close(gpu_activity *self) {
  if (!self) return;
  for (int i = 0; i < 2; i++)
    if (self->samples[i]) (void)self->free_sample(self->samples[i]);
  free(self);
}

void gpu_activity_forget(gpu_activity *self) {
  self->has_look = self->has_sample = false;
  self->links = (link_counts){0};
}

/* ---- GPM ---- */

static double metric(const gpm_question *question, unsigned id, double unit) {
  for (unsigned i = 0; i < question->count; i++)
    if (question->metrics[i].id == id && question->metrics[i].status == NVML_OK)
      return unit * question->metrics[i].value;
  return (double)NAN;
}

static void look_at_gpm(gpu_activity *self, gpu_means *out) {
  static const unsigned ids[GPM_METRICS] = {SM_ACTIVE, SM_OCCUPANCY,  TENSOR_ACTIVE,       DRAM_USED,
                                            PCIE_SENT, PCIE_RECEIVED, NVLINK_RECEIVED_ALL, NVLINK_SENT_ALL};
  if (!self->samples[0]) return;
  gpm_sample *const now = self->samples[self->has_sample], *const before = self->samples[0];
  if (self->take(self->device, now) != NVML_OK) return;
  if (!self->has_sample) {
    self->has_sample = true;
    return;
  }
  gpm_question question = {.version = GPM_VERSION, .count = GPM_METRICS, .from = before, .to = now};
  for (int i = 0; i < GPM_METRICS; i++) question.metrics[i] = (gpm_metric){.id = ids[i], .status = -1};
  self->samples[0] = now;
  self->samples[1] = before;
  if (self->metrics(&question) != NVML_OK) return;
  const double mib = 1024.0 * 1024;
  *out = (gpu_means){.sm_active = metric(&question, SM_ACTIVE, 1),
                     .sm_occupancy = metric(&question, SM_OCCUPANCY, 1),
                     .tensor_active = metric(&question, TENSOR_ACTIVE, 1),
                     .dram_used = metric(&question, DRAM_USED, 1),
                     .pcie_sent = metric(&question, PCIE_SENT, mib),
                     .pcie_received = metric(&question, PCIE_RECEIVED, mib),
                     .nvlink_sent = metric(&question, NVLINK_SENT_ALL, mib),
                     .nvlink_received = metric(&question, NVLINK_RECEIVED_ALL, mib)};
}

/* ---- NVLink ---- */

static bool whole_number(const field_value *field, uint64_t *out) {
  if (field->status != NVML_OK) return false;
  switch (field->type) {
  case VALUE_UINT: *out = field->value.u; return true;
  case VALUE_ULONG: *out = field->value.ul; return true;
  case VALUE_ULONGLONG: *out = field->value.ull; return true;
  default: return false;
  }
}

/* The counters of all links; a GPU without links has zeros that are no measurement. */
static void look_at_links(gpu_activity *self, gpu_means *out) {
  field_value told[FIELDS] = {{.field = FIELD_LINKS, .status = -1},
                              {.field = FIELD_SENT, .scope = UINT_MAX, .status = -1},
                              {.field = FIELD_RECEIVED, .scope = UINT_MAX, .status = -1}};
  const link_counts before = self->links;
  uint64_t links = 0;
  self->links = (link_counts){.at_ns = monotonic_ns()};
  if (!self->fields || self->fields(self->device, FIELDS, told) != NVML_OK) return;
  if (whole_number(&told[0], &links) && !links) {
    out->nvlink_sent = out->nvlink_received = (double)NAN;
    return;
  }
  self->links.is_known =
      whole_number(&told[1], &self->links.sent_kib) && whole_number(&told[2], &self->links.received_kib);
  const double s = 1e-9 * (double)(self->links.at_ns - before.at_ns);
  if (!before.is_known || !self->links.is_known || s <= 0 || self->links.sent_kib < before.sent_kib ||
      self->links.received_kib < before.received_kib)
    return;
  out->nvlink_sent = 1024 * (double)(self->links.sent_kib - before.sent_kib) / s;
  out->nvlink_received = 1024 * (double)(self->links.received_kib - before.received_kib) / s;
}

bool gpu_activity_look(gpu_activity *self, gpu_means *out) {
  const bool is_first = !self->has_look;
  const double none = (double)NAN;
  *out = (gpu_means){none, none, none, none, none, none, none, none};
  self->has_look = true;
  look_at_gpm(self, out);
  look_at_links(self, out);
  return !is_first;
}
