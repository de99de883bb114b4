/* One buffer is read twice: calls first, so that most device records find theirs at once. */
#include "cupti_decode.h"

#include "cupti_rows.h"
#include "demangle.h"

#include <pdhost/array.h>

#include <stdlib.h>
#include <string.h>

/* The trace reads the id as one number, so a wrap of CUPTI's 32 bits carries into the upper half. */
static uint64_t widen(cupti_decoder *decoder, uint32_t correlation) {
  if (!decoder->correlation_known) {
    decoder->correlation_known = true;
    decoder->correlation_high |= correlation;
    return decoder->correlation_high;
  }
  int32_t distance = (int32_t)(correlation - (uint32_t)decoder->correlation_high);
  uint64_t wide = decoder->correlation_high + (uint64_t)(int64_t)distance;
  if (distance > 0) decoder->correlation_high = wide;
  return wide;
}

static void lost_many(const cupti_decoder *decoder, pd_loss loss, uint64_t count) {
  if (count && decoder->record && decoder->record->lost) decoder->record->lost(decoder->record, loss, count);
}
static void lost(const cupti_decoder *decoder, pd_loss loss) { lost_many(decoder, loss, 1); }

static void flush_batch(cupti_decoder *decoder) {
  if (decoder->batch_count && decoder->record)
    decoder->record->activities(decoder->record, PD_CLOCK_REALTIME, decoder->batch, decoder->batch_count);
  decoder->counts.handed_on += decoder->batch_count;
  decoder->batch_count = 0;
}

static void hand_on(cupti_decoder *decoder, const pd_activity *row) {
  if (decoder->batch_count == CUPTI_BATCH) flush_batch(decoder);
  decoder->batch[decoder->batch_count++] = *row;
}

/* ---- names ------------------------------------------------------------------------------------------------- */

static uint32_t intern(cupti_decoder *decoder, const char *text) {
  return decoder->record ? decoder->record->intern(decoder->record, text) : 0;
}

static uint32_t intern_demangled(cupti_decoder *decoder, const char *mangled) {
  char *plain = cuda_demangle(mangled);
  uint32_t id = intern(decoder, plain ? plain : mangled);
  free(plain);
  return id;
}

static bool grow_names(cupti_decoder *decoder) {
  uint64_t size = decoder->name_size ? decoder->name_size * 2 : 256;
  cupti_name *names = calloc(size, sizeof *names);
  if (!names) return false;
  for (uint64_t i = 0; i < decoder->name_size; i++) {
    if (!decoder->names[i].pointer) continue;
    uint64_t at = ((uintptr_t)decoder->names[i].pointer * 0x9e3779b97f4a7c15u >> 32) & (size - 1);
    while (names[at].pointer) at = (at + 1) & (size - 1);
    names[at] = decoder->names[i];
  }
  free(decoder->names);
  decoder->names = names;
  decoder->name_size = size;
  return true;
}

static uint32_t kernel_name(cupti_decoder *decoder, const char *pointer) {
  if (!pointer) return intern(decoder, "(unnamed kernel)");
  if (decoder->name_count * 2 >= decoder->name_size && !grow_names(decoder)) return intern_demangled(decoder, pointer);
  uint64_t at = ((uintptr_t)pointer * 0x9e3779b97f4a7c15u >> 32) & (decoder->name_size - 1);
  while (decoder->names[at].pointer && decoder->names[at].pointer != pointer) at = (at + 1) & (decoder->name_size - 1);
  cupti_name *name = &decoder->names[at];
  /* Until CUPTI 13.4 a module loaded later may put another name at the same place. */
  if (name->pointer && !strcmp(name->text, pointer)) return name->id;
  char *text = strdup(pointer);
  if (!text) return intern_demangled(decoder, pointer);
  if (!name->pointer) decoder->name_count++;
  free(name->text);
  *name = (cupti_name){.pointer = pointer, .text = text, .id = intern_demangled(decoder, pointer)};
  return name->id;
}

static uint32_t overhead_name(cupti_decoder *decoder, const CUpti_ActivityOverhead3 *overhead) {
  const uint32_t row = cupti_row_overhead_number(overhead);
  if (!decoder->overhead_names[row]) decoder->overhead_names[row] = intern(decoder, cupti_row_overhead_text(row));
  return decoder->overhead_names[row];
}

/* ---- rows that wait ---------------------------------------------------------------------------------------- */

static void wait_for(cupti_decoder *decoder, cupti_pending_list *list, const pd_activity *row) {
  if (!PD_ARRAY_FIT(list->rows, list->capacity, list->count + 1)) {
    decoder->counts.lost_memory++;
    lost(decoder, PD_LOSS_RECORDS_DROPPED);
    return;
  }
  list->rows[list->count++] = *row;
}

/* Ties a device record to its call and hands it on. False: the call has not come yet. */
static bool place(cupti_decoder *decoder, pd_activity *row, uint32_t graph) {
  cupti_launch *launch = cupti_match_find(&decoder->match, row->correlation);
  if (!launch) return false;
  if (launch->shared) {
    wait_for(decoder, &decoder->shared, row);
    return true;
  }
  if (launch->single && launch->device_rows) { /* an id that came twice: never two kernels under one launch */
    decoder->counts.surplus++;
    lost(decoder, PD_LOSS_UNMATCHED_ACTIVITY);
    return true;
  }
  if (cupti_match_seen(&decoder->match, launch, graph) != PD_OK) decoder->counts.lost_memory++;
  const int64_t early_ns = launch->start_ns - row->start; /* no device answers before it is asked: the clocks' doing */
  if (early_ns > PD_EARLY_NS) {
    decoder->counts.implausible++;
    lost(decoder, PD_LOSS_IMPLAUSIBLE);
    return true;
  }
  decoder->counts.early += early_ns > 0;
  if (early_ns > decoder->early_ns) decoder->early_ns = early_ns;
  hand_on(decoder, row);
  return true;
}

static uint32_t graph_of(const pd_activity *row) {
  return row->kind == PD_ACTIVITY_KERNEL ? row->u.kernel.graph : row->u.copy.graph;
}

/* Driver calls wait until it is certain that no runtime call around them has the same id. */
static void settle_drivers(cupti_decoder *decoder) {
  for (uint64_t i = 0; i < decoder->drivers.count; i++) {
    const pd_activity *row = &decoder->drivers.rows[i];
    const cupti_launch *launch = cupti_match_find(&decoder->match, row->correlation);
    if (launch && launch->runtime)
      decoder->counts.nested++;
    else
      hand_on(decoder, row);
  }
  decoder->drivers.count = 0;
}

/* Early records that will answer a launch as the window closes; the others are the past's. */
static uint64_t early_answers(const cupti_decoder *decoder) {
  uint64_t answers = 0;
  for (uint64_t i = 0; i < decoder->early.count; i++) {
    cupti_launch *launch = cupti_match_find(&decoder->match, decoder->early.rows[i].correlation);
    if (launch) launch->answers = 0;
  }
  for (uint64_t i = 0; i < decoder->early.count; i++) {
    cupti_launch *launch = cupti_match_find(&decoder->match, decoder->early.rows[i].correlation);
    if (!launch || launch->answers >= cupti_match_owes(&decoder->match, launch)) continue;
    launch->answers++;
    answers++;
  }
  return answers;
}

static bool fits(const cupti_twin *twin, const pd_activity *row) {
  if (twin->answered || twin->shared != row->correlation || graph_of(row)) return false;
  return twin->api == (row->kind == PD_ACTIVITY_KERNEL   ? PD_API_LAUNCH
                       : row->kind == PD_ACTIVITY_MEMCPY ? PD_API_MEMCPY
                                                         : PD_API_MEMSET);
}

/* Before the records under shared ids are gone through; the calls that had one before are answered. */
static void begin_answers(cupti_decoder *decoder) {
  for (uint64_t t = 0; t < decoder->twin_count; t++) decoder->twins[t].answered = decoder->twins[t].used;
}

/* The call that the record answers, which no other does then; NULL: it is left over. All before `first` are answered.
 */
static const cupti_twin *answer(cupti_decoder *decoder, const pd_activity *row, uint64_t *first) {
  while (*first < decoder->twin_count && decoder->twins[*first].answered) (*first)++;
  uint64_t at = *first;
  while (at < decoder->twin_count && !fits(&decoder->twins[at], row)) at++;
  if (at == decoder->twin_count) return NULL;
  decoder->twins[at].answered = true;
  return &decoder->twins[at];
}

/* Records under the id of several calls that will be one's as the window closes. */
static uint64_t shared_answers(cupti_decoder *decoder) {
  uint64_t answers = 0, first = 0;
  begin_answers(decoder);
  for (uint64_t i = 0; i < decoder->shared.count; i++)
    answers += answer(decoder, &decoder->shared.rows[i], &first) != NULL;
  return answers;
}

bool cupti_decoder_settle(cupti_decoder *decoder) {
  uint64_t kept = 0;
  for (uint64_t i = 0; i < decoder->orphans.count; i++) {
    pd_activity row = decoder->orphans.rows[i];
    if (!place(decoder, &row, graph_of(&row))) decoder->orphans.rows[kept++] = row;
  }
  decoder->orphans.count = kept;
  flush_batch(decoder);
  const uint64_t due = decoder->match.pending + cupti_match_nodes(&decoder->match);
  return !due || due <= early_answers(decoder) + shared_answers(decoder);
}

/* What ran before the window began is a call's from before it, even where its id has come again since; but where a
 * launch of the window has no other record, it is the clocks that disagree. */
static void settle_early(cupti_decoder *decoder) {
  for (uint64_t i = 0; i < decoder->early.count; i++) {
    pd_activity *row = &decoder->early.rows[i];
    const cupti_launch *launch = cupti_match_find(&decoder->match, row->correlation);
    if (!launch || cupti_match_owes(&decoder->match, launch) == 0 || !place(decoder, row, graph_of(row)))
      decoder->counts.stale++;
  }
  decoder->early.count = 0;
}

/* ---- calls under one id ------------------------------------------------------------------------------------ */

static int by_start(const void *a, const void *b) {
  int64_t x = ((const pd_activity *)a)->start, y = ((const pd_activity *)b)->start;
  return (x > y) - (x < y);
}
static int by_call_start(const void *a, const void *b) {
  int64_t x = ((const cupti_twin *)a)->start_ns, y = ((const cupti_twin *)b)->start_ns;
  return (x > y) - (x < y);
}

/* Ties the device records of calls under one id to them by order, kind by kind: exact where a thread has one stream.
 * What is left over is nobody's. */
static void settle_shared(cupti_decoder *decoder) {
  uint64_t first = 0;
  if (decoder->shared.count) qsort(decoder->shared.rows, decoder->shared.count, sizeof(pd_activity), by_start);
  if (decoder->twin_count) qsort(decoder->twins, decoder->twin_count, sizeof *decoder->twins, by_call_start);
  for (uint64_t i = 0; i < decoder->twin_count; i++) { /* from here on each has an id of its own */
    cupti_launch *launch = cupti_match_find(&decoder->match, decoder->twins[i].own);
    if (launch) launch->shared = false;
  }
  begin_answers(decoder);
  for (uint64_t i = 0; i < decoder->shared.count; i++) {
    pd_activity row = decoder->shared.rows[i];
    const cupti_twin *twin = answer(decoder, &row, &first);
    if (twin) {
      row.correlation = twin->own;
      if (place(decoder, &row, 0)) continue;
    }
    decoder->counts.surplus++;
    lost(decoder, PD_LOSS_UNMATCHED_ACTIVITY);
  }
  decoder->shared.count = decoder->twin_count = 0;
}

static bool add_twin(cupti_decoder *decoder, uint64_t shared, const cupti_launch *launch) {
  if (launch->api < PD_API_LAUNCH || launch->api > PD_API_MEMSET) return true;
  if (!PD_ARRAY_FIT(decoder->twins, decoder->twin_capacity, decoder->twin_count + 1)) return false;
  decoder->twins[decoder->twin_count++] = (cupti_twin){.shared = shared,
                                                       .own = launch->correlation,
                                                       .start_ns = launch->start_ns,
                                                       .api = launch->api,
                                                       .used = launch->device_rows > 0};
  return true;
}

/* A call under the id of `launch`, another call, gets an id of its own; their device records wait for the window's end.
 */
static cupti_launch *part(cupti_decoder *decoder, cupti_launch *launch, int64_t start_ns, pd_api_class api) {
  uint64_t shared = launch->correlation;
  if (!launch->shared && !add_twin(decoder, shared, launch)) return NULL;
  launch->shared = true;
  decoder->counts.twins++;
  decoder->parted++;
  cupti_launch own = {.correlation = ++decoder->own_ids, .start_ns = start_ns, .api = api};
  return add_twin(decoder, shared, &own) ? cupti_match_add(&decoder->match, own.correlation) : NULL;
}

/* ---- calls ------------------------------------------------------------------------------------------------- */

static void note_capture(cupti_decoder *decoder, const cupti_call *call, const CUpti_ActivityAPI *api) {
  cupti_capture *free_row = NULL;
  for (size_t i = 0; i < sizeof decoder->captures / sizeof decoder->captures[0]; i++) {
    cupti_capture *row = &decoder->captures[i];
    if (!row->open) {
      if (!free_row) free_row = row;
    } else if (row->thread == api->threadId) {
      if (call->capture > 0) return;
      cupti_match_captured(&decoder->match, row->thread, row->from_ns, (int64_t)api->end);
      row->open = 0;
      return;
    }
  }
  if (call->capture < 0) /* it began before the window or its record comes later */
    cupti_match_captured(&decoder->match, api->threadId, decoder->window_start_ns, (int64_t)api->end);
  else if (free_row && api->returnValue == 0)
    *free_row = (cupti_capture){.thread = api->threadId, .open = 1, .from_ns = (int64_t)api->start};
}

/* Work launched into a capture runs never, or later under the graph's launch. */
static bool is_captured(const cupti_decoder *decoder, const CUpti_ActivityAPI *api) {
  for (size_t i = 0; i < sizeof decoder->captures / sizeof decoder->captures[0]; i++) {
    const cupti_capture *row = &decoder->captures[i];
    if (row->open && row->thread == api->threadId && (int64_t)api->start >= row->from_ns) return true;
  }
  return false;
}

static void read_call(cupti_decoder *decoder, const CUpti_ActivityAPI *api, bool driver) {
  cupti_call *call = cupti_allowlist_find(decoder->calls, driver, api->cbid);
  uint64_t correlation = widen(decoder, api->correlationId);
  if (!decoder->keep || (decoder->by_time && (int64_t)api->start < decoder->window_start_ns)) {
    if (correlation > decoder->stale_correlation) decoder->stale_correlation = correlation;
    decoder->counts.stale++;
    return;
  }
  if ((int64_t)api->start > decoder->window_stop_ns) {
    if (correlation < decoder->later_correlation) decoder->later_correlation = correlation;
    decoder->counts.stale++;
    return;
  }
  if (!call) {
    decoder->counts.unknown++;
    return;
  }
  if (!cupti_row_can_be((int64_t)api->start, (int64_t)api->end)) {
    decoder->counts.implausible++;
    lost(decoder, PD_LOSS_IMPLAUSIBLE);
    return;
  }
  if (call->capture) note_capture(decoder, call, api);
  if (!call->name) call->name = intern(decoder, call->text);
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
  if (launches && is_captured(decoder, api)) row.u.api.api = PD_API_OTHER, launches = false;
  const pd_api_class device_class = launches && api->returnValue == 0 ? call->api : PD_API_OTHER;
  cupti_launch *launch = cupti_match_add(&decoder->match, correlation);
  if (launch && !driver && launch->runtime && launch->start_ns != row.start) {
    launch = part(decoder, launch, row.start, device_class);
    if (launch) row.correlation = launch->correlation;
  }
  if (!launch) {
    decoder->counts.lost_memory++;
    lost(decoder, PD_LOSS_RECORDS_DROPPED);
    return;
  }
  bool known = launch->start_ns != 0;
  if (!known) launch->api = device_class;
  if (!known) launch->single = launches && call->api == PD_API_LAUNCH;
  if (!driver) launch->runtime = true;
  if (!known || (int64_t)api->start < launch->start_ns) launch->start_ns = (int64_t)api->start;
  launch->thread = api->threadId;
  if (!known && launches && api->returnValue == 0 && cupti_match_expect(&decoder->match, launch, call->api) != PD_OK)
    decoder->counts.lost_memory++;
  if (driver)
    wait_for(decoder, &decoder->drivers, &row);
  else
    hand_on(decoder, &row);
}

/* ---- device records ---------------------------------------------------------------------------------------- */

/* Whether the record's times can be believed; counts it where not. It still answers its launch: the drain must end. */
static bool believe(cupti_decoder *decoder, const pd_activity *row) {
  if (cupti_row_can_be(row->start, row->end)) return true;
  bool zero = row->start == 0 || row->end == 0;
  if (zero)
    decoder->counts.zero_stamped++;
  else
    decoder->counts.implausible++;
  lost(decoder, zero ? PD_LOSS_ZERO_TIMESTAMP : PD_LOSS_IMPLAUSIBLE);
  cupti_launch *launch = cupti_match_find(&decoder->match, row->correlation);
  if (launch && cupti_match_seen(&decoder->match, launch, graph_of(row)) != PD_OK) decoder->counts.lost_memory++;
  return false;
}

static void deliver(cupti_decoder *decoder, pd_activity *row) {
  bool past = row->correlation <= decoder->stale_correlation && !cupti_match_find(&decoder->match, row->correlation);
  if (!decoder->keep || (past && !cupti_row_can_be(row->start, row->end))) {
    decoder->counts.stale++;
    return;
  }
  if (!believe(decoder, row)) return;
  if (decoder->by_time && row->start < decoder->window_start_ns)
    wait_for(decoder, &decoder->early, row);
  else if (!place(decoder, row, graph_of(row)))
    wait_for(decoder, &decoder->orphans, row);
}

static void read_kernel(cupti_decoder *decoder, const CUpti_ActivityKernel10 *kernel) {
  const uint64_t correlation = widen(decoder, kernel->correlationId);
  if (!decoder->keep) {
    decoder->counts.stale++;
    return;
  }
  pd_activity row = cupti_row_kernel(kernel, correlation, kernel_name(decoder, kernel->name));
  occupancy_fill(decoder->fullness, &row);
  deliver(decoder, &row);
}

static void read_memcpy(cupti_decoder *decoder, const CUpti_ActivityMemcpy6 *copy) {
  pd_activity row = cupti_row_memcpy(copy, widen(decoder, copy->correlationId));
  deliver(decoder, &row);
}

static void read_peer_memcpy(cupti_decoder *decoder, const CUpti_ActivityMemcpyPtoP4 *copy) {
  pd_activity row = cupti_row_peer_memcpy(copy, widen(decoder, copy->correlationId));
  deliver(decoder, &row);
}

static void read_memset(cupti_decoder *decoder, const CUpti_ActivityMemset4 *set) {
  pd_activity row = cupti_row_memset(set, widen(decoder, set->correlationId));
  deliver(decoder, &row);
}

static void read_sync(cupti_decoder *decoder, const CUpti_ActivitySynchronization2 *sync) {
  pd_activity row = cupti_row_sync(sync, widen(decoder, sync->correlationId), decoder->fullness->props.index);
  if (!decoder->keep || (decoder->by_time && row.start < decoder->window_start_ns)) return;
  if (!believe(decoder, &row)) return;
  row.name = intern(decoder, cupti_row_sync_text(sync->type));
  hand_on(decoder, &row);
}

static void read_overhead(cupti_decoder *decoder, const CUpti_ActivityOverhead3 *overhead) {
  const uint32_t id = overhead->correlationId;
  pd_activity row = cupti_row_overhead(overhead, id ? widen(decoder, id) : 0);
  free(overhead->overheadData); /* the record's reader owns it */
  if (!decoder->keep || (decoder->by_time && row.start < decoder->window_start_ns)) return;
  if (!cupti_row_can_be(row.start, row.end)) {
    decoder->counts.implausible++;
    lost(decoder, PD_LOSS_IMPLAUSIBLE);
    return;
  }
  row.name = overhead_name(decoder, overhead);
  hand_on(decoder, &row);
}

void cupti_decoder_buffer(cupti_decoder *decoder, uint8_t *data, size_t valid_bytes) {
  CUpti_Activity *record = NULL;
  if (!valid_bytes) return;
  while (decoder->api->ActivityGetNextRecord(data, valid_bytes, &record) == CUPTI_SUCCESS)
    if (record->kind == CUPTI_ACTIVITY_KIND_RUNTIME || record->kind == CUPTI_ACTIVITY_KIND_DRIVER)
      read_call(decoder, (const CUpti_ActivityAPI *)(const void *)record, record->kind == CUPTI_ACTIVITY_KIND_DRIVER);
  record = NULL;
  while (decoder->api->ActivityGetNextRecord(data, valid_bytes, &record) == CUPTI_SUCCESS) {
    const void *row = record;
    decoder->counts.records++;
    switch ((int)record->kind) {
    case CUPTI_ACTIVITY_KIND_CONCURRENT_KERNEL:
    case CUPTI_ACTIVITY_KIND_KERNEL: read_kernel(decoder, row); break;
    case CUPTI_ACTIVITY_KIND_MEMCPY: read_memcpy(decoder, row); break;
    case CUPTI_ACTIVITY_KIND_MEMCPY2: read_peer_memcpy(decoder, row); break;
    case CUPTI_ACTIVITY_KIND_MEMSET: read_memset(decoder, row); break;
    case CUPTI_ACTIVITY_KIND_SYNCHRONIZATION: read_sync(decoder, row); break;
    case CUPTI_ACTIVITY_KIND_OVERHEAD: read_overhead(decoder, row); break;
    case CUPTI_ACTIVITY_KIND_RUNTIME:
    case CUPTI_ACTIVITY_KIND_DRIVER: break; /* read above */
    default: decoder->counts.unknown++; break;
    }
  }
  if (decoder->drivers.count > 65536) settle_drivers(decoder);
  flush_batch(decoder);
}

void cupti_decoder_skip(cupti_decoder *decoder, uint8_t *data, size_t valid_bytes) {
  CUpti_Activity *record = NULL;
  while (valid_bytes && decoder->api->ActivityGetNextRecord(data, valid_bytes, &record) == CUPTI_SUCCESS) {
    decoder->counts.records++;
    decoder->counts.stale++;
    decoder->counts.strays++;
    if (record->kind == CUPTI_ACTIVITY_KIND_OVERHEAD)
      free(((const CUpti_ActivityOverhead3 *)(const void *)record)->overheadData);
  }
}

/* ---- life -------------------------------------------------------------------------------------------------- */

void cupti_decoder_init(cupti_decoder *decoder, const cupti_api *api, const pd_record *record, cupti_allowlist *calls,
                        occupancy *fullness) {
  memset(decoder, 0, sizeof *decoder);
  decoder->api = api;
  decoder->record = record;
  decoder->calls = calls;
  decoder->fullness = fullness;
  decoder->own_ids = UINT64_C(1) << 51; /* beyond CUPTI's, and a double holds it */
}

void cupti_decoder_free(cupti_decoder *decoder) {
  for (uint64_t i = 0; i < decoder->name_size; i++) free(decoder->names[i].text);
  free(decoder->names);
  free(decoder->orphans.rows);
  free(decoder->early.rows);
  free(decoder->shared.rows);
  free(decoder->twins);
  free(decoder->drivers.rows);
  cupti_match_free(&decoder->match);
  memset(decoder, 0, sizeof *decoder);
}

void cupti_decoder_session(cupti_decoder *decoder) {
  if (decoder->correlation_high) decoder->correlation_high = ((decoder->correlation_high >> 32) + 1) << 32;
  decoder->correlation_known = false;
  decoder->stale_correlation = decoder->correlation_high;
  decoder->later_correlation = UINT64_MAX;
  decoder->window_stop_ns = INT64_MAX;
  memset(decoder->captures, 0, sizeof decoder->captures);
}

void cupti_decoder_window_open(cupti_decoder *decoder, int64_t start_ns, bool by_time) {
  cupti_match_reset(&decoder->match);
  decoder->orphans.count = decoder->early.count = decoder->drivers.count = 0;
  decoder->shared.count = decoder->twin_count = decoder->parted = 0;
  memset(decoder->captures, 0, sizeof decoder->captures); /* an end that did not come holds for its window alone */
  if (!by_time && decoder->correlation_high > decoder->stale_correlation)
    decoder->stale_correlation = decoder->correlation_high; /* what has come so far is all of the past */
  decoder->early_ns = 0;
  decoder->window_start_ns = start_ns;
  decoder->by_time = by_time;
  decoder->window_stop_ns = INT64_MAX;
  decoder->later_correlation = UINT64_MAX;
  decoder->keep = true;
}

void cupti_decoder_window_stop(cupti_decoder *decoder, int64_t stop_ns) { decoder->window_stop_ns = stop_ns; }

void cupti_decoder_window_close(cupti_decoder *decoder) {
  cupti_decoder_settle(decoder);
  settle_early(decoder);
  settle_shared(decoder);
  settle_drivers(decoder);
  for (uint64_t i = 0; i < decoder->orphans.count; i++) {
    uint64_t id = decoder->orphans.rows[i].correlation;
    if (id > decoder->stale_correlation && id < decoder->later_correlation)
      hand_on(decoder, &decoder->orphans.rows[i]);
    else
      decoder->counts.stale++;
  }
  decoder->orphans.count = 0;
  flush_batch(decoder);
  /* The trace counts a launch with no record at all; how many a graph's launch should have, only we know. */
  lost_many(decoder, PD_LOSS_UNMATCHED_LAUNCH, cupti_match_nodes(&decoder->match));
  decoder->keep = false;
}
