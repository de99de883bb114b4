/* See bare.h. Built into the bench, and as libpdhost_cupti_bare.so for CUDA_INJECTION64_PATH, where it counts a whole
 * process, whoever wrote it, and prints the counts at its end. */
#include "bare.h"

#include <cupti.h>

#include <stdatomic.h>
#include <stdio.h>
#include <stdlib.h>

enum { BUFFER_BYTES = 4 << 20 };

static _Atomic uint64_t device_records, call_records;

static void CUPTIAPI on_request(uint8_t **buffer, size_t *bytes, size_t *records) {
  *buffer = aligned_alloc(8, BUFFER_BYTES);
  *bytes = *buffer ? BUFFER_BYTES : 0;
  *records = 0;
}

static void CUPTIAPI on_complete(CUcontext context, uint32_t stream, uint8_t *buffer, size_t bytes, size_t valid) {
  CUpti_Activity *record = NULL;
  uint64_t device = 0, calls = 0;
  (void)context;
  (void)stream;
  (void)bytes;
  while (valid && cuptiActivityGetNextRecord(buffer, valid, &record) == CUPTI_SUCCESS) {
    bool call = record->kind == CUPTI_ACTIVITY_KIND_RUNTIME || record->kind == CUPTI_ACTIVITY_KIND_DRIVER;
    device += !call;
    calls += call;
  }
  atomic_fetch_add(&device_records, device);
  atomic_fetch_add(&call_records, calls);
  free(buffer);
}

int bare_attach(bool calls) {
  static const CUpti_ActivityKind kinds[] = {CUPTI_ACTIVITY_KIND_CONCURRENT_KERNEL, CUPTI_ACTIVITY_KIND_MEMCPY,
                                             CUPTI_ACTIVITY_KIND_MEMSET, CUPTI_ACTIVITY_KIND_RUNTIME};
  CUptiResult result = cuptiActivityRegisterCallbacks(on_request, on_complete);
  for (int i = 0; i < (calls ? 4 : 3) && result == CUPTI_SUCCESS; i++) result = cuptiActivityEnable(kinds[i]);
  return (int)result;
}

int bare_detach(void) {
  CUptiResult result = cuptiActivityFlushAll(1);
  return (int)(result == CUPTI_SUCCESS ? cuptiFinalize() : result);
}

void bare_counts(uint64_t *device, uint64_t *calls) {
  *device = atomic_load(&device_records);
  *calls = atomic_load(&call_records);
}

static void at_end(void) {
  uint64_t device, calls;
  (void)cuptiActivityFlushAll(1);
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
