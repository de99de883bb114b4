/* The decoder over any bytes that pass the library's own iterator: no crash, no leak, no row with impossible times,
 * every device record handed on or counted. The first byte of each record's name field picks a real string, since the
 * library owns that pointer. */
#include "fuzz.h"

#include "devices/cuda/cupti/cupti_decode.h"
#include "h200.h"

#include <stdlib.h>
#include <string.h>

static size_t bytes_of(CUpti_ActivityKind kind) {
  switch ((int)kind) {
  case CUPTI_ACTIVITY_KIND_CONCURRENT_KERNEL:
  case CUPTI_ACTIVITY_KIND_KERNEL: return sizeof(CUpti_ActivityKernel10);
  case CUPTI_ACTIVITY_KIND_MEMCPY: return sizeof(CUpti_ActivityMemcpy6);
  case CUPTI_ACTIVITY_KIND_MEMCPY2: return sizeof(CUpti_ActivityMemcpyPtoP4);
  case CUPTI_ACTIVITY_KIND_MEMSET: return sizeof(CUpti_ActivityMemset4);
  case CUPTI_ACTIVITY_KIND_RUNTIME:
  case CUPTI_ACTIVITY_KIND_DRIVER: return sizeof(CUpti_ActivityAPI);
  case CUPTI_ACTIVITY_KIND_SYNCHRONIZATION: return sizeof(CUpti_ActivitySynchronization2);
  case CUPTI_ACTIVITY_KIND_OVERHEAD: return sizeof(CUpti_ActivityOverhead3);
  case CUPTI_ACTIVITY_KIND_DEVICE: return 16; /* one nobody asked for */
  default: return 0;
  }
}

static CUptiResult CUPTIAPI next_record(uint8_t *buffer, size_t valid, CUpti_Activity **record) {
  CUpti_ActivityKind kind;
  uint8_t *next = *record ? (uint8_t *)*record + bytes_of((*record)->kind) : buffer;
  if (next + sizeof kind > buffer + valid) return CUPTI_ERROR_MAX_LIMIT_REACHED;
  memcpy(&kind, next, sizeof kind);
  if (!bytes_of(kind) || next + bytes_of(kind) > buffer + valid) return CUPTI_ERROR_MAX_LIMIT_REACHED;
  *record = (CUpti_Activity *)(void *)next;
  return CUPTI_SUCCESS;
}

static CUptiResult CUPTIAPI callback_name(CUpti_CallbackDomain domain, uint32_t cbid, const char **name) {
  static const char *const names[] = {"cudaLaunchKernel_v7000",      "cudaGraphLaunch_v10000",
                                      "cudaMemcpyAsync_v3020",       "cudaStreamBeginCapture_v10000",
                                      "cudaStreamEndCapture_v10000", "cudaMalloc_v3020"};
  static const char *const driver_names[] = {"cuLaunchKernel", "cuMemcpyHtoDAsync_v2"};
  if (domain == CUPTI_CB_DOMAIN_RUNTIME_API && cbid >= 1 && cbid <= 6)
    *name = names[cbid - 1];
  else if (domain == CUPTI_CB_DOMAIN_DRIVER_API && cbid >= 1 && cbid <= 2)
    *name = driver_names[cbid - 1];
  else
    return CUPTI_ERROR_INVALID_PARAMETER;
  return CUPTI_SUCCESS;
}

static uint64_t kernels_handed_on;
static uint32_t intern(const pd_record *record, const char *text) {
  (void)record;
  return (uint32_t)strlen(text) + 1; /* reads all of it */
}
static void activities(const pd_record *record, pd_clock clock, const pd_activity *rows, uint64_t count) {
  (void)record;
  if (clock != PD_CLOCK_REALTIME) abort();
  for (uint64_t i = 0; i < count; i++) {
    if (rows[i].kind < PD_ACTIVITY_RUNTIME || rows[i].kind > PD_ACTIVITY_OVERHEAD) abort();
    if (rows[i].start <= 0 || rows[i].end < rows[i].start) abort();
    kernels_handed_on += rows[i].kind == PD_ACTIVITY_KERNEL;
  }
}
static void lost(const pd_record *record, pd_loss loss, uint64_t count) {
  (void)record;
  if (loss >= PD_LOSS_COUNT || !count) abort();
}

/* Makes the pointers of one buffer's records real ones; returns its kernels. */
static uint64_t repair(uint8_t *buffer, size_t bytes) {
  static const char *const names[] = {"_Z5scaleIfEvPT_i", "plain", "\xff\xfe", "_Z", ""};
  CUpti_Activity *record = NULL;
  uint64_t kernels = 0;
  while (next_record(buffer, bytes, &record) == CUPTI_SUCCESS) {
    if (record->kind == CUPTI_ACTIVITY_KIND_CONCURRENT_KERNEL || record->kind == CUPTI_ACTIVITY_KIND_KERNEL) {
      CUpti_ActivityKernel10 *kernel = (CUpti_ActivityKernel10 *)(void *)record;
      uint64_t pick = (uintptr_t)kernel->name % 6;
      kernel->name = pick < 5 ? names[pick] : NULL;
      kernels++;
    } else if (record->kind == CUPTI_ACTIVITY_KIND_OVERHEAD) {
      CUpti_ActivityOverhead3 *overhead = (CUpti_ActivityOverhead3 *)(void *)record;
      overhead->overheadData = (uintptr_t)overhead->overheadData % 2 ? malloc(8) : NULL;
    }
  }
  return kernels;
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t bytes) {
  static cupti_api api = {.ActivityGetNextRecord = next_record, .GetCallbackName = callback_name};
  static const uint32_t on = 1;
  static cupti_allowlist calls;
  static occupancy fullness;
  static cupti_decoder decoder;
  const pd_record record = {
      .size = sizeof record, .enabled = &on, .intern = intern, .activities = activities, .lost = lost};
  const pd_device_props props = h200_props();
  uint64_t kernels = 0;
  if (!calls.runtime && cupti_allowlist_build(&calls, &api, true) != PD_OK) return 0;
  occupancy_init(&fullness, &props);
  cupti_decoder_init(&decoder, &api, &record, &calls, &fullness);
  cupti_decoder_session(&decoder);
  cupti_decoder_window_open(&decoder, 1, false);
  kernels_handed_on = 0;
  /* Pieces of the input, each led by a byte that says what happens before it and one for its length. */
  for (size_t at = 0; at + 2 <= bytes;) {
    uint8_t what = data[at], length = data[at + 1];
    size_t left = bytes - at - 2, piece = (size_t)length * 8 < left ? (size_t)length * 8 : left;
    uint8_t *buffer = aligned_alloc(8, piece + 8 - piece % 8);
    if (!buffer) break;
    memcpy(buffer, data + at + 2, piece);
    kernels += repair(buffer, piece);
    if (what % 16 == 1) cupti_decoder_session(&decoder);
    if (what % 16 == 2) cupti_decoder_window_stop(&decoder, what * 16);
    if (what % 16 == 3) {
      cupti_decoder_window_close(&decoder);
      cupti_decoder_window_open(&decoder, what, what & 16);
    }
    cupti_decoder_buffer(&decoder, buffer, piece);
    (void)cupti_decoder_settle(&decoder);
    free(buffer);
    at += 2 + piece;
  }
  cupti_decoder_window_close(&decoder);
  const cupti_counts *counts = &decoder.counts;
  if (kernels_handed_on > kernels) abort();
  /* Other records share these counters, so this is one-sided: no kernel may be missing from them all. */
  if (kernels_handed_on + counts->stale + counts->surplus + counts->zero_stamped + counts->implausible +
          counts->lost_memory <
      kernels)
    abort();
  cupti_decoder_free(&decoder);
  return 0;
}
