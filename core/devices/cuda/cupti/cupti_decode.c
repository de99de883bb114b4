/* One buffer is read twice: calls first, so that most device records find theirs at once. */
#include "cupti_decode.h"

#include "cupti_rows.h"
#include "cupti_settle.h"
#include "demangle.h"

#include <stdlib.h>
#include <string.h>

/* The trace reads the id as one number, so a wrap of CUPTI's 32 bits carries into the upper half. */
static uint64_t widen(cupti_decoder *self, uint32_t correlation) {
  if (!self->correlation_known) {
    self->correlation_known = true;
    self->correlation_high |= correlation;
    return self->correlation_high;
  }
  int32_t distance = (int32_t)(correlation - (uint32_t)self->correlation_high);
  uint64_t wide = self->correlation_high + (uint64_t)(int64_t)distance;
  if (distance > 0) self->correlation_high = wide;
  return wide;
}

/* ---- names ------------------------------------------------------------------------------------------------- */

static uint32_t intern(cupti_decoder *self, const char *text) {
  return self->record ? self->record->intern(self->record, text) : 0;
}

static uint32_t intern_demangled(cupti_decoder *self, const char *mangled) {
  char *plain = cuda_demangle(mangled);
  uint32_t id = intern(self, plain ? plain : mangled);
  free(plain);
  return id;
}

static bool grow_names(cupti_decoder *self) {
  uint64_t size = self->name_size ? self->name_size * 2 : 256;
  cupti_name *names = calloc(size, sizeof *names);
  if (!names) return false;
  for (uint64_t i = 0; i < self->name_size; i++) {
    if (!self->names[i].pointer) continue;
    uint64_t at = ((uintptr_t)self->names[i].pointer * 0x9e3779b97f4a7c15u >> 32) & (size - 1);
    while (names[at].pointer) at = (at + 1) & (size - 1);
    names[at] = self->names[i];
  }
  free(self->names);
  self->names = names;
  self->name_size = size;
  return true;
}

static uint32_t kernel_name(cupti_decoder *self, const char *pointer) {
  if (!pointer) return intern(self, "(unnamed kernel)");
  if (self->name_count * 2 >= self->name_size && !grow_names(self)) return intern_demangled(self, pointer);
  uint64_t at = ((uintptr_t)pointer * 0x9e3779b97f4a7c15u >> 32) & (self->name_size - 1);
  while (self->names[at].pointer && self->names[at].pointer != pointer) at = (at + 1) & (self->name_size - 1);
  cupti_name *name = &self->names[at];
  /* Until CUPTI 13.4 a module loaded later may put another name at the same place. */
  if (name->pointer && !strcmp(name->text, pointer)) return name->id;
  char *text = strdup(pointer);
  if (!text) return intern_demangled(self, pointer);
  if (!name->pointer) self->name_count++;
  free(name->text);
  *name = (cupti_name){.pointer = pointer, .text = text, .id = intern_demangled(self, pointer)};
  return name->id;
}

static uint32_t overhead_name(cupti_decoder *self, const CUpti_ActivityOverhead3 *overhead) {
  const uint32_t row = cupti_row_overhead_number(overhead);
  if (!self->overhead_names[row]) self->overhead_names[row] = intern(self, cupti_row_overhead_text(row));
  return self->overhead_names[row];
}

/* ---- calls ------------------------------------------------------------------------------------------------- */

static void note_capture(cupti_decoder *self, const cupti_call *call, const CUpti_ActivityAPI *api) {
  cupti_capture *free_row = NULL;
  for (size_t i = 0; i < sizeof self->captures / sizeof self->captures[0]; i++) {
    cupti_capture *row = &self->captures[i];
    if (!row->open) {
      if (!free_row) free_row = row;
    } else if (row->thread == api->threadId) {
      if (call->capture > 0) return;
      cupti_match_captured(&self->match, row->thread, row->from_ns, (int64_t)api->end);
      row->open = 0;
      return;
    }
  }
  if (call->capture < 0) /* it began before the window or its record comes later */
    cupti_match_captured(&self->match, api->threadId, self->window_start_ns, (int64_t)api->end);
  else if (free_row && api->returnValue == 0)
    *free_row = (cupti_capture){.thread = api->threadId, .open = 1, .from_ns = (int64_t)api->start};
}

/* Work launched into a capture runs never, or later under the graph's launch. */
static bool is_captured(const cupti_decoder *self, const CUpti_ActivityAPI *api) {
  for (size_t i = 0; i < sizeof self->captures / sizeof self->captures[0]; i++) {
    const cupti_capture *row = &self->captures[i];
    if (row->open && row->thread == api->threadId && (int64_t)api->start >= row->from_ns) return true;
  }
  return false;
}

static void read_call(cupti_decoder *self, const CUpti_ActivityAPI *api, bool driver) {
  cupti_call *call = cupti_allowlist_find(self->calls, driver, api->cbid);
  uint64_t correlation = widen(self, api->correlationId);
  if (!self->keep || (self->by_time && (int64_t)api->start < self->window_start_ns)) {
    if (correlation > self->stale_correlation) self->stale_correlation = correlation;
    self->counts.stale++;
    return;
  }
  if ((int64_t)api->start > self->window_stop_ns) {
    if (correlation < self->later_correlation) self->later_correlation = correlation;
    self->counts.stale++;
    return;
  }
  if (!call) {
    self->counts.unknown++;
    return;
  }
  if (!cupti_row_can_be((int64_t)api->start, (int64_t)api->end)) {
    self->counts.implausible++;
    cupti_settle_lose(self, PD_LOSS_IMPLAUSIBLE, 1);
    return;
  }
  if (call->capture) note_capture(self, call, api);
  if (!call->name) call->name = intern(self, call->text);
  pd_activity row = {.kind = driver ? PD_ACTIVITY_DRIVER : PD_ACTIVITY_RUNTIME,
                     .name = call->name,
                     .start = (int64_t)api->start,
                     .end = (int64_t)api->end,
                     .correlation = correlation,
                     .thread = api->threadId};
  row.u.api.cbid = api->cbid;
  row.u.api.api = call->api;
  row.u.api.result = (int32_t)api->returnValue;
  bool launches = call->api >= PD_API_LAUNCH && call->api <= PD_API_GRAPH_LAUNCH;
  if (launches && is_captured(self, api)) row.u.api.api = PD_API_OTHER, launches = false;
  const pd_api_class device_class = launches && api->returnValue == 0 ? call->api : PD_API_OTHER;
  cupti_launch *launch = cupti_match_add(&self->match, correlation);
  if (launch && !driver && launch->runtime && launch->start_ns != row.start) {
    launch = cupti_settle_part(self, launch, row.start, device_class);
    if (launch) row.correlation = launch->correlation;
  }
  if (!launch) {
    self->counts.lost_memory++;
    cupti_settle_lose(self, PD_LOSS_RECORDS_DROPPED, 1);
    return;
  }
  bool known = launch->start_ns != 0;
  if (!known) launch->api = device_class;
  if (!known) launch->single = launches && call->api == PD_API_LAUNCH;
  if (!driver) launch->runtime = true;
  if (!known || (int64_t)api->start < launch->start_ns) launch->start_ns = (int64_t)api->start;
  launch->thread = api->threadId;
  if (!known && launches && api->returnValue == 0 && cupti_match_expect(&self->match, launch, call->api) != PD_OK)
    self->counts.lost_memory++;
  if (driver)
    cupti_settle_wait(self, &self->drivers, &row);
  else
    cupti_settle_hand_on(self, &row);
}

/* ---- device records ---------------------------------------------------------------------------------------- */

/* Whether the record's times can be believed; counts it where not. It still answers its launch: the drain must end. */
static bool believe(cupti_decoder *self, const pd_activity *row) {
  if (cupti_row_can_be(row->start, row->end)) return true;
  bool zero = row->start == 0 || row->end == 0;
  if (zero)
    self->counts.zero_stamped++;
  else
    self->counts.implausible++;
  cupti_settle_lose(self, zero ? PD_LOSS_ZERO_TIMESTAMP : PD_LOSS_IMPLAUSIBLE, 1);
  cupti_launch *launch = cupti_match_find(&self->match, row->correlation);
  if (launch && cupti_match_seen(&self->match, launch, cupti_settle_graph_of(row)) != PD_OK) self->counts.lost_memory++;
  return false;
}

static void deliver(cupti_decoder *self, pd_activity *row) {
  bool past = row->correlation <= self->stale_correlation && !cupti_match_find(&self->match, row->correlation);
  if (!self->keep || (past && !cupti_row_can_be(row->start, row->end))) {
    self->counts.stale++;
    return;
  }
  if (!believe(self, row)) return;
  if (self->by_time && row->start < self->window_start_ns)
    cupti_settle_wait(self, &self->early, row);
  else if (!cupti_settle_place(self, row, cupti_settle_graph_of(row)))
    cupti_settle_wait(self, &self->orphans, row);
}

static void read_kernel(cupti_decoder *self, const CUpti_ActivityKernel10 *kernel) {
  const uint64_t correlation = widen(self, kernel->correlationId);
  if (!self->keep) {
    self->counts.stale++;
    return;
  }
  pd_activity row = cupti_row_kernel(kernel, correlation, kernel_name(self, kernel->name));
  occupancy_fill(self->fullness, &row);
  deliver(self, &row);
}

static void read_memcpy(cupti_decoder *self, const CUpti_ActivityMemcpy6 *copy) {
  pd_activity row = cupti_row_memcpy(copy, widen(self, copy->correlationId));
  deliver(self, &row);
}

static void read_peer_memcpy(cupti_decoder *self, const CUpti_ActivityMemcpyPtoP4 *copy) {
  pd_activity row = cupti_row_peer_memcpy(copy, widen(self, copy->correlationId));
  deliver(self, &row);
}

static void read_memset(cupti_decoder *self, const CUpti_ActivityMemset4 *set) {
  pd_activity row = cupti_row_memset(set, widen(self, set->correlationId));
  deliver(self, &row);
}

static void read_sync(cupti_decoder *self, const CUpti_ActivitySynchronization2 *sync) {
  pd_activity row = cupti_row_sync(sync, widen(self, sync->correlationId), self->fullness->props.index);
  if (!self->keep || (self->by_time && row.start < self->window_start_ns)) return;
  if (!believe(self, &row)) return;
  row.name = intern(self, cupti_row_sync_text(sync->type));
  cupti_settle_hand_on(self, &row);
}

static void read_overhead(cupti_decoder *self, const CUpti_ActivityOverhead3 *overhead) {
  const uint32_t id = overhead->correlationId;
  pd_activity row = cupti_row_overhead(overhead, id ? widen(self, id) : 0);
  free(overhead->overheadData); /* the record's reader owns it */
  if (!self->keep || (self->by_time && row.start < self->window_start_ns)) return;
  if (!cupti_row_can_be(row.start, row.end)) {
    self->counts.implausible++;
    cupti_settle_lose(self, PD_LOSS_IMPLAUSIBLE, 1);
    return;
  }
  row.name = overhead_name(self, overhead);
  cupti_settle_hand_on(self, &row);
}

void cupti_decoder_buffer(cupti_decoder *self, uint8_t *data, size_t valid_bytes) {
  CUpti_Activity *record = NULL;
  if (!valid_bytes) return;
  while (self->api->ActivityGetNextRecord(data, valid_bytes, &record) == CUPTI_SUCCESS)
    if (record->kind == CUPTI_ACTIVITY_KIND_RUNTIME || record->kind == CUPTI_ACTIVITY_KIND_DRIVER)
      read_call(self, (const CUpti_ActivityAPI *)(const void *)record, record->kind == CUPTI_ACTIVITY_KIND_DRIVER);
  record = NULL;
  while (self->api->ActivityGetNextRecord(data, valid_bytes, &record) == CUPTI_SUCCESS) {
    const void *row = record;
    self->counts.records++;
    switch ((int)record->kind) {
    case CUPTI_ACTIVITY_KIND_CONCURRENT_KERNEL:
    case CUPTI_ACTIVITY_KIND_KERNEL: read_kernel(self, row); break;
    case CUPTI_ACTIVITY_KIND_MEMCPY: read_memcpy(self, row); break;
    case CUPTI_ACTIVITY_KIND_MEMCPY2: read_peer_memcpy(self, row); break;
    case CUPTI_ACTIVITY_KIND_MEMSET: read_memset(self, row); break;
    case CUPTI_ACTIVITY_KIND_SYNCHRONIZATION: read_sync(self, row); break;
    case CUPTI_ACTIVITY_KIND_OVERHEAD: read_overhead(self, row); break;
    case CUPTI_ACTIVITY_KIND_RUNTIME:
    case CUPTI_ACTIVITY_KIND_DRIVER: break; /* read above */
    default: self->counts.unknown++; break;
    }
  }
  if (self->drivers.count > 65536) cupti_settle_drivers(self);
  cupti_settle_flush(self);
}

void cupti_decoder_skip(cupti_decoder *self, uint8_t *data, size_t valid_bytes) {
  CUpti_Activity *record = NULL;
  while (valid_bytes && self->api->ActivityGetNextRecord(data, valid_bytes, &record) == CUPTI_SUCCESS) {
    self->counts.records++;
    self->counts.stale++;
    self->counts.strays++;
    if (record->kind == CUPTI_ACTIVITY_KIND_OVERHEAD)
      free(((const CUpti_ActivityOverhead3 *)(const void *)record)->overheadData);
  }
}

/* ---- life -------------------------------------------------------------------------------------------------- */

void cupti_decoder_init(cupti_decoder *self, const cupti_api *api, const pd_record *record, cupti_allowlist *calls,
                        occupancy *fullness) {
  memset(self, 0, sizeof *self);
  self->api = api;
  self->record = record;
  self->calls = calls;
  self->fullness = fullness;
  self->own_ids = UINT64_C(1) << 51; /* beyond CUPTI's, and a double holds it */
}

void cupti_decoder_free(cupti_decoder *self) {
  for (uint64_t i = 0; i < self->name_size; i++) free(self->names[i].text);
  free(self->names);
  free(self->orphans.rows);
  free(self->early.rows);
  free(self->shared.rows);
  free(self->twins);
  free(self->drivers.rows);
  cupti_match_free(&self->match);
  memset(self, 0, sizeof *self);
}

void cupti_decoder_session(cupti_decoder *self) {
  if (self->correlation_high) self->correlation_high = ((self->correlation_high >> 32) + 1) << 32;
  self->correlation_known = false;
  self->stale_correlation = self->correlation_high;
  self->later_correlation = UINT64_MAX;
  self->window_stop_ns = INT64_MAX;
  memset(self->captures, 0, sizeof self->captures);
}

void cupti_decoder_window_open(cupti_decoder *self, int64_t start_ns, bool by_time) {
  cupti_match_reset(&self->match);
  self->orphans.count = self->early.count = self->drivers.count = 0;
  self->shared.count = self->twin_count = self->parted = 0;
  memset(self->captures, 0, sizeof self->captures); /* an end that did not come holds for its window alone */
  if (!by_time && self->correlation_high > self->stale_correlation)
    self->stale_correlation = self->correlation_high; /* what has come so far is all of the past */
  self->early_ns = 0;
  self->window_start_ns = start_ns;
  self->by_time = by_time;
  self->window_stop_ns = INT64_MAX;
  self->later_correlation = UINT64_MAX;
  self->keep = true;
}

void cupti_decoder_window_stop(cupti_decoder *self, int64_t stop_ns) { self->window_stop_ns = stop_ns; }

void cupti_decoder_window_close(cupti_decoder *self) {
  cupti_decoder_settle(self);
  cupti_settle_early(self);
  cupti_settle_shared(self);
  cupti_settle_drivers(self);
  for (uint64_t i = 0; i < self->orphans.count; i++) {
    uint64_t id = self->orphans.rows[i].correlation;
    if (id > self->stale_correlation && id < self->later_correlation)
      cupti_settle_hand_on(self, &self->orphans.rows[i]);
    else
      self->counts.stale++;
  }
  self->orphans.count = 0;
  cupti_settle_flush(self);
  /* The trace counts a launch with no record at all; how many a graph's launch should have, only we know. */
  cupti_settle_lose(self, PD_LOSS_UNMATCHED_LAUNCH, cupti_match_nodes(&self->match));
  self->keep = false;
}
