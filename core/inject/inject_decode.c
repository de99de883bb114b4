/* See inject_decode.h. */
#include "inject_decode.h"

#include "capture/format.h"
#include "devices/cuda/cupti/cupti_rows.h"

#include <stdlib.h>
#include <string.h>

/* One number for the whole recording: a wrap of CUPTI's 32 bits carries into the upper half. */
static uint64_t widen(inject_decoder *self, uint32_t correlation) {
  if (!correlation) return 0;
  if (!self->correlation) return self->correlation = correlation;
  const int32_t distance = (int32_t)(correlation - (uint32_t)self->correlation);
  const uint64_t wide = self->correlation + (uint64_t)(int64_t)distance;
  if (distance > 0) self->correlation = wide;
  return wide;
}

static void put(inject_decoder *self, const pd_activity *row) {
  if (!cupti_row_can_be(row->start, row->end)) {
    ring_lost(self->ring, row->start && row->end ? PD_LOSS_IMPLAUSIBLE : PD_LOSS_ZERO_TIMESTAMP, 1);
    return;
  }
  if (!ring_put(&self->rows, row, sizeof *row, 1)) ring_lost(self->ring, PD_LOSS_RECORDS_DROPPED, 1);
}

/* ---- calls ---- */

static uint32_t *capture_of(inject_decoder *self, uint32_t thread) {
  uint32_t i = 0;
  while (i < INJECT_CAPTURES && self->capturing[i] != thread) i++;
  return i < INJECT_CAPTURES ? &self->capturing[i] : NULL;
}

static void note_capture(inject_decoder *self, const cupti_call *call, const CUpti_ActivityAPI *api) {
  uint32_t *place = capture_of(self, call->capture > 0 && api->returnValue == 0 ? 0 : api->threadId);
  if (call->capture < 0 && place) *place = 0;
  if (call->capture > 0 && place && api->returnValue == 0 && !capture_of(self, api->threadId)) *place = api->threadId;
}

/* Work launched while its thread captures a stream runs never, or later under the graph's launch. */
static void read_call(inject_decoder *self, const CUpti_ActivityAPI *api, bool driver) {
  cupti_call *call = cupti_allowlist_find(self->calls, driver, api->cbid);
  if (!call) return;
  self->calls_seen++;
  if (call->capture) note_capture(self, call, api);
  if (!call->name) call->name = inject_names_add(&self->names, call->text);
  pd_activity row = {.kind = driver ? PD_ACTIVITY_DRIVER : PD_ACTIVITY_RUNTIME,
                     .name = call->name,
                     .start = (int64_t)api->start,
                     .end = (int64_t)api->end,
                     .correlation = widen(self, api->correlationId),
                     .thread = api->threadId};
  const bool launches = call->api >= PD_API_LAUNCH && call->api <= PD_API_GRAPH_LAUNCH;
  row.u.api.cbid = api->cbid;
  row.u.api.api = launches && capture_of(self, api->threadId) ? PD_API_OTHER : call->api;
  row.u.api.result = (int32_t)api->returnValue;
  put(self, &row);
}

/* ---- device records ---- */

static void read_kernel(inject_decoder *self, const CUpti_ActivityKernel10 *kernel) {
  const uint64_t correlation = widen(self, kernel->correlationId);
  self->kernels_seen++;
  pd_activity row = cupti_row_kernel(kernel, correlation, inject_names_kernel(&self->names, kernel->name));
  row.u.kernel.occupancy = row.u.kernel.waves = -1;
  if (row.device < self->gpu_count) occupancy_fill(&self->fullness[row.device], &row);
  put(self, &row);
}

static void read_overhead(inject_decoder *self, const CUpti_ActivityOverhead3 *overhead) {
  const uint32_t number = cupti_row_overhead_number(overhead);
  pd_activity row = cupti_row_overhead(overhead, widen(self, overhead->correlationId));
  free(overhead->overheadData); /* the record's reader owns it */
  if (!self->overheads[number])
    self->overheads[number] = inject_names_add(&self->names, cupti_row_overhead_text(number));
  row.name = self->overheads[number];
  put(self, &row);
}

static void read_record(inject_decoder *self, const CUpti_Activity *record) {
  const void *row = record;
  pd_activity out;
  switch ((int)record->kind) {
  case CUPTI_ACTIVITY_KIND_RUNTIME: read_call(self, row, false); return;
  case CUPTI_ACTIVITY_KIND_DRIVER: read_call(self, row, true); return;
  case CUPTI_ACTIVITY_KIND_CONCURRENT_KERNEL:
  case CUPTI_ACTIVITY_KIND_KERNEL: read_kernel(self, row); return;
  case CUPTI_ACTIVITY_KIND_OVERHEAD: read_overhead(self, row); return;
  case CUPTI_ACTIVITY_KIND_MEMCPY:
    out = cupti_row_memcpy(row, widen(self, ((const CUpti_ActivityMemcpy6 *)row)->correlationId));
    break;
  case CUPTI_ACTIVITY_KIND_MEMCPY2:
    out = cupti_row_peer_memcpy(row, widen(self, ((const CUpti_ActivityMemcpyPtoP4 *)row)->correlationId));
    break;
  case CUPTI_ACTIVITY_KIND_MEMSET:
    out = cupti_row_memset(row, widen(self, ((const CUpti_ActivityMemset4 *)row)->correlationId));
    break;
  default: return; /* none that was asked for */
  }
  put(self, &out);
}

void inject_decoder_buffer(inject_decoder *self, uint8_t *data, size_t valid_bytes) {
  CUpti_Activity *record = NULL;
  while (valid_bytes && self->api->ActivityGetNextRecord(data, valid_bytes, &record) == CUPTI_SUCCESS)
    read_record(self, record);
}

/* ---- life ---- */

static void find_gpus(inject_decoder *self) {
  ring_lane lane = {.ring = self->ring, .kind = CAPTURE_GPUS, .row_bytes = sizeof(record_gpu)};
  self->gpu_count = inject_gpus_find(self->gpus);
  for (uint32_t i = 0; i < self->gpu_count; i++) {
    (void)ring_put(&lane, &self->gpus[i], sizeof self->gpus[i], 1);
    occupancy_init(&self->fullness[i], &self->gpus[i].props);
  }
  ring_lane_close(&lane);
}

bool inject_decoder_open(inject_decoder *self, const cupti_api *api, cupti_allowlist *calls, ring_writer *ring) {
  memset(self, 0, sizeof *self);
  self->api = api;
  self->calls = calls;
  self->ring = ring;
  self->rows = (ring_lane){.ring = ring, .kind = CAPTURE_ACTIVITIES, .row_bytes = sizeof(pd_activity)};
  inject_names_open(&self->names, ring);
  self->fullness = calloc(INJECT_GPUS, sizeof *self->fullness);
  if (!self->fullness) return false;
  find_gpus(self);
  return true;
}
