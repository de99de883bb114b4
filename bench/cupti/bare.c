/* See bare.h. Built into the bench, and as libpdhost_cupti_bare.so for CUDA_INJECTION64_PATH, where it counts a whole
 * process, whoever wrote it, and prints the counts at its end. It attaches as a run of pdhost does (cupti_session.h),
 * so that both ask CUPTI for the same work. pdhost record asks for less: no synchronisations, and calls one by one. */
#include "bare.h"

#include "devices/cuda/cupti/cupti_session.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

enum { BUFFER_BYTES = 4 << 20, BUFFERS = 16 };

static cupti_api api;
static cupti_allowlist allowlist;
static cupti_session session = {.api = &api, .calls = &allowlist, .sync = true};
static _Atomic uint64_t device_records, call_records;
/* A buffer that is free; more than BUFFERS at a time are allocated. */
static _Atomic(uint8_t *) idle[BUFFERS];

static void CUPTIAPI on_request(uint8_t **buffer, size_t *bytes, size_t *records) {
  *buffer = NULL;
  for (int i = 0; i < BUFFERS && !*buffer; i++) *buffer = atomic_exchange(&idle[i], NULL);
  if (!*buffer) *buffer = calloc(1, BUFFER_BYTES);
  *bytes = *buffer ? BUFFER_BYTES : 0;
  *records = 0;
}

static void give_back(uint8_t *buffer) {
  for (int i = 0; i < BUFFERS; i++) {
    uint8_t *none = NULL;
    if (atomic_compare_exchange_strong(&idle[i], &none, buffer)) return;
  }
  free(buffer);
}

static void CUPTIAPI on_complete(CUcontext context, uint32_t stream, uint8_t *buffer, size_t bytes, size_t valid) {
  CUpti_Activity *record = NULL;
  uint64_t device = 0, calls = 0;
  (void)context;
  (void)stream;
  (void)bytes;
  while (valid && api.ActivityGetNextRecord(buffer, valid, &record) == CUPTI_SUCCESS) {
    device += record->kind == CUPTI_ACTIVITY_KIND_CONCURRENT_KERNEL || record->kind == CUPTI_ACTIVITY_KIND_MEMCPY ||
              record->kind == CUPTI_ACTIVITY_KIND_MEMCPY2 || record->kind == CUPTI_ACTIVITY_KIND_MEMSET;
    calls += record->kind == CUPTI_ACTIVITY_KIND_RUNTIME || record->kind == CUPTI_ACTIVITY_KIND_DRIVER;
  }
  atomic_fetch_add(&device_records, device);
  atomic_fetch_add(&call_records, calls);
  memset(buffer, 0, valid); /* the session says that buffers come zeroed */
  give_back(buffer);
}

static int failed(const char *why) {
  fprintf(stderr, "bare CUPTI: %s\n", why);
  return -1;
}

static int enable_device_records(void) {
  static const CUpti_ActivityKind kinds[] = {CUPTI_ACTIVITY_KIND_CONCURRENT_KERNEL, CUPTI_ACTIVITY_KIND_MEMCPY,
                                             CUPTI_ACTIVITY_KIND_MEMSET};
  CUptiResult result = CUPTI_SUCCESS;
  for (int i = 0; i < 3 && result == CUPTI_SUCCESS; i++) result = api.ActivityEnable(kinds[i]);
  return result == CUPTI_SUCCESS ? 0 : failed(cupti_api_explain(&api, result));
}

int bare_attach(bool calls) {
  char why[1024];
  if (!api.library) {
    if (cupti_api_load(&api, getenv("PDHOST_CUPTI"), why, sizeof why) != PD_OK) return failed(why);
    if (cupti_allowlist_build(&allowlist, &api, session.sync) != PD_OK) return failed("out of memory");
    for (int i = 0; i < BUFFERS; i++) {
      uint8_t *buffer = malloc(BUFFER_BYTES);
      if (buffer) memset(buffer, 0, BUFFER_BYTES); /* not calloc: its pages would be faulted in while it is measured */
      atomic_store(&idle[i], buffer);
    }
  }
  if (cupti_session_attach(&session, on_request, on_complete, why, sizeof why) != PD_OK) return failed(why);
  if (!calls) return enable_device_records();
  return cupti_session_enable(&session, why, sizeof why) == PD_OK ? 0 : failed(why);
}

int bare_detach(void) {
  const CUptiResult result = api.ActivityFlushAll(1);
  cupti_session_disable(&session);
  cupti_session_detach(&session);
  return result == CUPTI_SUCCESS ? 0 : failed(cupti_api_explain(&api, result));
}

void bare_counts(uint64_t *device, uint64_t *calls) {
  *device = atomic_load(&device_records);
  *calls = atomic_load(&call_records);
}

static void at_end(void) {
  uint64_t device, calls;
  (void)api.ActivityFlushAll(1);
  bare_counts(&device, &calls);
  fprintf(stderr, "bare CUPTI: %llu device records, %llu calls\n", (unsigned long long)device,
          (unsigned long long)calls);
}

/* What the driver looks for in a library named by CUDA_INJECTION64_PATH; called in cuInit(). */
__attribute__((visibility("default"))) int InitializeInjection(void);
int InitializeInjection(void) {
  atexit(at_end);
  return bare_attach(true) == 0;
}
