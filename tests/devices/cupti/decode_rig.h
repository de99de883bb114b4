/* A decoder over the fake CUPTI, and a buffer that is written by hand. */
#ifndef TESTS_DEVICES_CUPTI_DECODE_RIG_H
#define TESTS_DEVICES_CUPTI_DECODE_RIG_H

#include "devices/cuda/cupti/cupti_decode.h"
#include "h200.h"
#include "fake_cupti.h"
#include "kept_record.h"
#include "pd_test.h"

#include <string.h>

static cupti_api api;
static cupti_allowlist calls;
static occupancy fullness;
static cupti_decoder decoder;
static kept_record record;
static _Alignas(8) uint8_t buffer[1 << 16];
static size_t used;

static inline void open_decoder(void) {
  const pd_device_props props = h200_props();
  char why[256];
  cr_assert_eq(cupti_api_load(&api, FAKE_CUPTI_PATH, why, sizeof why), PD_OK, "%s", why);
  cr_assert_eq(cupti_allowlist_build(&calls, &api, false), PD_OK);
  occupancy_init(&fullness, &props);
  kept_record_init(&record);
  cupti_decoder_init(&decoder, &api, &record.table, &calls, &fullness);
  cupti_decoder_session(&decoder);
  cupti_decoder_window_open(&decoder, 1000, false);
  used = 0;
}
static inline void close_decoder(void) {
  cupti_decoder_free(&decoder);
  cupti_allowlist_free(&calls);
  kept_record_free(&record);
}

static inline void add(const void *row, size_t bytes) {
  memcpy(buffer + used, row, bytes);
  used += bytes + fake_set()->record_growth;
}
static inline void decode(void) {
  cupti_decoder_buffer(&decoder, buffer, used);
  memset(buffer, 0, sizeof buffer);
  used = 0;
}
static inline void add_call_at(bool driver, uint32_t cbid, uint32_t correlation, uint64_t start, uint32_t thread) {
  const CUpti_ActivityAPI row = {.kind = driver ? CUPTI_ACTIVITY_KIND_DRIVER : CUPTI_ACTIVITY_KIND_RUNTIME,
                                 .cbid = cbid,
                                 .start = start,
                                 .end = start + 100,
                                 .processId = 1,
                                 .threadId = thread,
                                 .correlationId = correlation};
  add(&row, sizeof row);
}
static inline void add_call(uint32_t cbid, uint32_t correlation) { add_call_at(false, cbid, correlation, 2000, 42); }
static inline CUpti_ActivityKernel10 kernel_row(uint32_t correlation, const char *name, uint64_t start, uint64_t end) {
  /* No two fields alike, so that none can stand for another. */
  return (CUpti_ActivityKernel10){.kind = CUPTI_ACTIVITY_KIND_CONCURRENT_KERNEL,
                                  .registersPerThread = 16,
                                  .start = start,
                                  .end = end,
                                  .deviceId = 1,
                                  .contextId = 2,
                                  .streamId = 7,
                                  .gridX = 63,
                                  .gridY = 17,
                                  .gridZ = 3,
                                  .blockX = 32,
                                  .blockY = 8,
                                  .blockZ = 4,
                                  .staticSharedMemory = 512,
                                  .dynamicSharedMemory = 1024,
                                  .correlationId = correlation,
                                  .name = name};
}
static inline void add_kernel(uint32_t correlation, const char *name, uint64_t start, uint64_t end) {
  const CUpti_ActivityKernel10 row = kernel_row(correlation, name, start, end);
  add(&row, sizeof row);
}

#endif
