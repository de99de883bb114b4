/* What the file says of the machine. See kineto.h. */
#include "kineto.h"

#include <stdio.h>

typedef struct member_reader {
  const char *at, *end;
} member_reader;

/* The next member of an object; false at its end. */
static bool next_member(member_reader *self, scan_text *key, scan_text *value) {
  bool cut = false;
  self->at = scan_blanks(self->at, self->end);
  if (self->at < self->end && (*self->at == ',' || *self->at == '{')) self->at = scan_blanks(self->at + 1, self->end);
  if (self->at >= self->end || *self->at == '}') return false;
  const char *at = scan_key(self->at, self->end, key, &cut);
  if (at) at = scan_value(at, self->end, value, &cut);
  if (at) self->at = at;
  return at != NULL;
}

static uint32_t small(scan_text value) {
  int64_t number;
  return scan_integer(value, &number) && number >= 0 && number <= UINT32_MAX ? (uint32_t)number : 0;
}

static void copy(scan_text text, char *out, size_t room) {
  if (text.length >= room) text.length = room - 1;
  out[scan_unescape(text, out)] = '\0';
}

static void take_device(kineto_reader *self, scan_text object) {
  enum { DEVICES = sizeof self->devices / sizeof self->devices[0] };
  member_reader members = {object.at, object.at + object.length};
  scan_text key, value;
  if (self->source.device_count == DEVICES) return;
  const uint32_t at = self->source.device_count++;
  pd_device_props *device = &self->devices[at];
  *device = (pd_device_props){.size = sizeof *device, .is_cuda = 1, .name = self->device_names[at]};
  while (next_member(&members, &key, &value)) {
    if (SCAN_IS(key, "id")) device->index = small(value);
    if (SCAN_IS(key, "name")) copy(value, self->device_names[at], sizeof self->device_names[at]);
    int64_t bytes;
    if (SCAN_IS(key, "totalGlobalMem") && scan_integer(value, &bytes) && bytes > 0)
      device->total_bytes = (uint64_t)bytes;
    if (SCAN_IS(key, "computeMajor")) device->compute_major = small(value);
    if (SCAN_IS(key, "computeMinor")) device->compute_minor = small(value);
    if (SCAN_IS(key, "numSms")) device->sm_count = small(value);
    if (SCAN_IS(key, "warpSize")) device->warp_size = small(value);
    if (SCAN_IS(key, "maxThreadsPerBlock")) device->max_threads_per_block = small(value);
    if (SCAN_IS(key, "maxThreadsPerMultiprocessor")) device->max_threads_per_sm = small(value);
    if (SCAN_IS(key, "regsPerBlock")) device->registers_per_block = small(value);
    if (SCAN_IS(key, "regsPerMultiprocessor")) device->registers_per_sm = small(value);
    if (SCAN_IS(key, "sharedMemPerBlock")) device->shared_per_block = small(value);
    if (SCAN_IS(key, "sharedMemPerBlockOptin")) device->shared_per_block_optin = small(value);
    if (SCAN_IS(key, "sharedMemPerMultiprocessor") || SCAN_IS(key, "maxSharedMemoryPerMultiProcessor"))
      device->shared_per_sm = small(value);
  }
  /* pdhost's own device of threads: it has a name and nothing else. */
  if (!device->total_bytes && strncmp(device->name, "CPU", strlen("CPU")) == 0) device->is_cuda = 0;
}

static void take_devices(kineto_reader *self, scan_text list) {
  const char *at = list.at, *end = list.at + list.length;
  bool cut = false;
  if (!list.length || *at != '[') return;
  self->source.device_count = 0;
  for (at = scan_blanks(at + 1, end); at < end && *at == '{'; at = scan_blanks(at, end)) {
    scan_text object;
    at = scan_value(at, end, &object, &cut);
    if (!at) return;
    take_device(self, object);
    at = scan_blanks(at, end);
    if (at < end && *at == ',') at++;
  }
}

static void take_distributed(kineto_reader *self, scan_text object) {
  member_reader members = {object.at, object.at + object.length};
  scan_text key, value;
  while (next_member(&members, &key, &value)) {
    if (SCAN_IS(key, "rank")) self->source.rank = small(value);
    if (SCAN_IS(key, "world_size")) self->source.ranks = small(value);
  }
}

static void add_version(kineto_reader *self, const char *of, scan_text value) {
  const size_t used = strlen(self->versions);
  snprintf(self->versions + used, sizeof self->versions - used, "%s%s %.*s", used ? ", " : "", of,
           (int)(value.length < 40 ? value.length : 40), value.at);
}

/* 13000 is 13.0. */
static void add_cuda(kineto_reader *self, const char *of, scan_text value) {
  char text[32];
  const uint32_t number = small(value);
  if (!number) return;
  snprintf(text, sizeof text, "%u.%u", number / 1000, number % 1000 / 10);
  add_version(self, of, (scan_text){text, strlen(text)});
}

void kineto_header_take(kineto_reader *self, scan_text key, scan_text value) {
  if (SCAN_IS(key, "deviceProperties")) take_devices(self, value);
  if (SCAN_IS(key, "distributedInfo")) take_distributed(self, value);
  if (SCAN_IS(key, "baseTimeNanoseconds") &&
      !(scan_integer(value, &self->base_ns) && self->base_ns >= 0 && self->base_ns < INT64_C(4000000000000000000)))
    self->base_ns = 0;
  if (SCAN_IS(key, "cuda_driver_version")) add_cuda(self, "driver for CUDA", value);
  if (SCAN_IS(key, "cuda_runtime_version")) add_cuda(self, "CUDA", value);
  if (SCAN_IS(key, "cupti_version")) add_version(self, "CUPTI", value);
  if (SCAN_IS(key, "roctracer_version")) add_version(self, "roctracer", value);
  if (SCAN_IS(key, "traceName")) copy(value, self->trace_name, sizeof self->trace_name);
}
