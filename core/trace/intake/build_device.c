/* Calls, device records, streams and other records of an intake. See intake_rows.h. */
#include "intake_rows.h"

#include "trace/sort.h"
#include "trace/trace_steps.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

/* ---- calls ---- */

static bool correlation_after(const void *rows, uint32_t a, uint32_t b) {
  const read_call *first = (const read_call *)rows + a, *second = (const read_call *)rows + b;
  if (first->correlation != second->correlation) return first->correlation > second->correlation;
  if (first->start != second->start) return first->start > second->start;
  return first->end < second->end;
}

static bool start_after(const void *rows, uint32_t a, uint32_t b) {
  const read_call *first = (const read_call *)rows + a, *second = (const read_call *)rows + b;
  if (first->start != second->start) return first->start > second->start;
  return first->end < second->end;
}

/* Leaves out each call that lies inside another of the same number on its thread: a driver call in a runtime call. */
static uint64_t drop_nested(read_call *calls, const uint32_t *order, uint64_t count) {
  uint64_t dropped = 0;
  const read_call *outer = NULL;
  for (uint64_t i = 0; i < count; i++) {
    read_call *call = &calls[order[i]];
    call->dropped = outer && call->correlation && call->correlation == outer->correlation &&
                    call->thread == outer->thread && call->end <= outer->end;
    if (call->dropped)
      dropped++;
    else
      outer = call;
  }
  return dropped;
}

static pd_status write_calls(intake_build *self, const uint32_t *order, uint64_t count) {
  const read_call *given = self->from->calls.data;
  pd_call *rows = (pd_call *)self->trace->calls.data;
  range_sweep *sweep = NULL;
  uint32_t *holders = merge_range_holders(self->merge.ranges, self->trace->ranges.count);
  const pd_status status = holders ? merge_sweep_open(&self->merge, &sweep) : PD_NO_MEMORY;
  for (uint64_t i = 0; status == PD_OK && i < count; i++) {
    const read_call *at = &given[order[i]];
    rows[i] = (pd_call){.start_ns = at->start - self->base,
                        .end_ns = at->end - self->base,
                        .correlation = at->correlation,
                        .name = at->name,
                        .thread = self->thread_rows[at->thread],
                        .step = PD_NONE,
                        .kind = at->kind,
                        .api = at->api,
                        .cbid = at->cbid,
                        .result = at->result};
    const uint32_t innermost = merge_sweep_at(sweep, rows[i].thread, rows[i].start_ns);
    rows[i].range = innermost == PD_NONE ? PD_NONE : holders[innermost];
  }
  merge_sweep_close(sweep);
  free(holders);
  return status;
}

pd_status intake_build_calls(intake_build *self) {
  read_call *calls = self->from->calls.data;
  const uint64_t all = self->from->calls.count;
  uint64_t kept = 0;
  uint32_t *order = trace_scratch_alloc(all, 2 * sizeof *order);
  if (!order) return PD_NO_MEMORY;
  for (uint64_t i = 0; i < all; i++) order[i] = (uint32_t)i;
  sort_runs(order, order + all, all, correlation_after, calls);
  const uint64_t count = all - drop_nested(calls, order, all);
  for (uint64_t i = 0; i < all; i++)
    if (!calls[i].dropped) order[kept++] = (uint32_t)i;
  sort_runs(order, order + all, kept, start_after, calls);
  pd_status status = trace_array(self->owned, &self->trace->calls, count, sizeof(pd_call));
  if (status == PD_OK) status = write_calls(self, order, count);
  free(order);
  free(calls);
  self->from->calls = (row_array){0};
  return status;
}

/* ---- device records ---- */

static bool work_after(const void *rows, uint32_t a, uint32_t b) {
  const read_work *first = (const read_work *)rows + a, *second = (const read_work *)rows + b;
  if (first->start != second->start) return first->start > second->start;
  if (first->end != second->end) return first->end > second->end;
  return first->correlation > second->correlation;
}

static bool work_number_after(const void *rows, uint32_t a, uint32_t b) {
  const pd_device_row *works = rows;
  return works[a].detail.correlation > works[b].detail.correlation;
}

static bool call_number_after(const void *rows, uint32_t a, uint32_t b) {
  const pd_call *calls = rows;
  return calls[a].correlation > calls[b].correlation;
}

static bool stream_after(const void *rows, uint32_t a, uint32_t b) {
  const pd_stream_row *first = (const pd_stream_row *)rows + a, *second = (const pd_stream_row *)rows + b;
  if (first->device != second->device) return first->device > second->device;
  if (first->context != second->context) return first->context > second->context;
  return first->stream > second->stream;
}

static pd_status add_streams(intake_build *self) {
  const pd_stream_row *given = self->from->streams.data;
  const uint64_t count = self->from->streams.count;
  uint32_t *order = trace_scratch_alloc(count, 2 * sizeof *order);
  self->stream_rows = trace_scratch_alloc(count, sizeof *self->stream_rows);
  pd_status status = order && self->stream_rows ? PD_OK : PD_NO_MEMORY;
  if (status == PD_OK) status = trace_array(self->owned, &self->trace->streams, count, sizeof(pd_stream_row));
  if (status == PD_OK) {
    pd_stream_row *rows = (pd_stream_row *)self->trace->streams.data;
    for (uint64_t i = 0; i < count; i++) order[i] = (uint32_t)i;
    sort_runs(order, order + count, count, stream_after, given);
    for (uint64_t i = 0; i < count; i++) {
      char text[32] = "unknown stream";
      rows[i] = given[order[i]];
      if (rows[i].stream != PD_STREAM_UNKNOWN) (void)snprintf(text, sizeof text, "stream %u", rows[i].stream);
      rows[i].name = strings_intern(self->from->strings, text);
      self->stream_rows[order[i]] = (uint32_t)i;
    }
  }
  free(order);
  return status;
}

static void fill_work(const intake_build *self, const read_work *given, pd_device_row *row) {
  const pd_activity *details = self->from->details.data;
  *row = (pd_device_row){.start_ns = given->start - self->base,
                         .end_ns = given->end - self->base,
                         .stream = self->stream_rows[given->stream],
                         .call = PD_NONE,
                         .range = PD_NONE,
                         .step = PD_NONE,
                         .detail = details[given->detail]};
  row->name = row->detail.name;
  row->detail.start = row->start_ns;
  row->detail.end = row->end_ns;
  row->detail.correlation = given->correlation;
  row->detail.bytes = given->bytes;
}

/* The last call of the number that began before the record; else the first one. Both in order of their numbers, calls
 * of one number by start. */
static uint32_t call_of(const pd_call *calls, const uint32_t *order, uint64_t count, uint64_t *at,
                        const pd_device_row *row) {
  const uint64_t number = row->detail.correlation;
  while (*at < count && calls[order[*at]].correlation < number) ++*at;
  if (!number || *at == count || calls[order[*at]].correlation != number) return PD_NONE;
  uint64_t best = *at;
  for (uint64_t i = *at + 1; i < count && calls[order[i]].correlation == number; i++)
    if (calls[order[i]].start_ns <= row->start_ns) best = i;
  return order[best];
}

static pd_status join(intake_build *self, pd_device_row *rows, uint64_t count) {
  const pd_call *calls = self->trace->calls.data;
  const uint64_t call_count = self->trace->calls.count;
  uint64_t at = 0, early = 0, unnumbered = 0;
  char text[96];
  uint32_t *works = trace_scratch_alloc(count, 2 * sizeof *works);
  uint32_t *order = trace_scratch_alloc(call_count, 2 * sizeof *order);
  if (works && order) {
    for (uint64_t i = 0; i < count; i++) works[i] = (uint32_t)i;
    for (uint64_t i = 0; i < call_count; i++) order[i] = (uint32_t)i;
    sort_runs(works, works + count, count, work_number_after, rows);
    sort_runs(order, order + call_count, call_count, call_number_after, calls);
    for (uint64_t i = 0; i < count; i++) {
      pd_device_row *row = &rows[works[i]];
      unnumbered += call_count && !row->detail.correlation;
      row->call = call_of(calls, order, call_count, &at, row);
      if (row->call == PD_NONE) continue;
      row->range = calls[row->call].range;
      early += row->start_ns < calls[row->call].start_ns;
    }
  }
  const bool good = works && order;
  free(works);
  free(order);
  intake_build_odd(self, early, PD_ODD_DAMAGE, "%llu device %s", (unsigned long long)early,
                   early == 1 ? "record begins before the call that launched it"
                              : "records begin before the call that launched them");
  intake_build_odd(self, unnumbered, PD_ODD_DAMAGE, "%s", trace_unnumbered_text(text, sizeof text, unnumbered));
  return good ? PD_OK : PD_NO_MEMORY;
}

/* Per stream, what comes before its first record with a call was launched before the recording began: a stream is a
 * queue. It is no loss. */
static pd_status count_missing(intake_build *self, const pd_device_row *rows, uint64_t count) {
  bool *begun = calloc(self->trace->streams.count + 1, sizeof *begun);
  if (!begun) return PD_NO_MEMORY;
  for (uint64_t i = 0; i < count; i++) begun[rows[i].stream] |= rows[i].call != PD_NONE;
  /* A stream of which no record has a call says nothing of when its work was launched. */
  bool *waits = calloc(self->trace->streams.count + 1, sizeof *waits);
  if (waits) memcpy(waits, begun, self->trace->streams.count * sizeof *waits);
  for (uint64_t i = 0; waits && i < count; i++) {
    const pd_device_row *row = &rows[i];
    if (row->call != PD_NONE)
      waits[row->stream] = false;
    else if (waits[row->stream])
      self->trace->backlog++;
    else
      intake_build_lost(self, PD_LOSS_UNMATCHED_ACTIVITY, row->start_ns);
  }
  free(begun);
  free(waits);
  return waits ? PD_OK : PD_NO_MEMORY;
}

static pd_status group_by_call(intake_build *self, const pd_device_row *rows, uint64_t count) {
  pd_call *calls = (pd_call *)self->trace->calls.data;
  uint64_t grouped = 0, next = 0;
  for (uint64_t i = 0; i < count; i++)
    if (rows[i].call != PD_NONE) {
      calls[rows[i].call].activity_count++;
      grouped++;
    }
  const pd_status status = trace_array(self->owned, &self->trace->activities_by_call, grouped, sizeof(uint32_t));
  if (status != PD_OK) return status;
  uint32_t *indices = (uint32_t *)self->trace->activities_by_call.data;
  for (uint64_t i = 0; i < self->trace->calls.count; i++) {
    calls[i].activity_first = (uint32_t)next;
    next += calls[i].activity_count;
    calls[i].activity_count = 0;
  }
  for (uint64_t i = 0; i < count; i++)
    if (rows[i].call != PD_NONE) {
      pd_call *call = &calls[rows[i].call];
      indices[call->activity_first + call->activity_count++] = (uint32_t)i;
    }
  return PD_OK;
}

/* +1: begins to capture a stream into a graph; -1: ends it. By the name's id, which is looked at once. */
static int capture_step(const intake_build *self, int8_t *known, uint32_t name) {
  enum { SEEN = 4 };
  if (!known[name]) {
    const char *text = strings_get(self->from->strings, name).text;
    known[name] =
        (int8_t)(SEEN + (strstr(text, "StreamBeginCapture") != NULL) - (strstr(text, "StreamEndCapture") != NULL));
  }
  return known[name] - SEEN;
}

/* While a stream is captured, launches run nothing. */
static pd_status settle_captures(intake_build *self) {
  pd_call *calls = (pd_call *)self->trace->calls.data;
  int8_t *known = calloc((size_t)strings_count(self->from->strings) + 1, sizeof *known);
  int open = 0;
  if (!known) return PD_NO_MEMORY;
  for (uint64_t i = 0; i < self->trace->calls.count; i++) {
    pd_call *call = &calls[i];
    if (call->api == PD_API_OTHER) open += capture_step(self, known, call->name);
    if (open < 0) open = 0;
    if (open && !call->activity_count && call->api >= PD_API_LAUNCH && call->api <= PD_API_GRAPH_LAUNCH)
      call->api = PD_API_OTHER;
  }
  free(known);
  return PD_OK;
}

/* A call that device work followed launched it, whatever it is called. A copy or a set that none followed may have been
 * of no bytes, for which the device has no record: it launched nothing, so that it is no loss either. Nor is a launch
 * whose work may have run after the recording. */
static void settle_calls(intake_build *self, const pd_device_row *rows) {
  uint64_t empty = 0;
  const uint64_t last = trace_last_number(self->trace);
  pd_call *calls = (pd_call *)self->trace->calls.data;
  const uint32_t *indices = self->trace->activities_by_call.data;
  for (uint64_t i = 0; i < self->trace->calls.count; i++) {
    pd_call *call = &calls[i];
    if (call->activity_count && call->api == PD_API_OTHER) {
      const pd_activity_kind kind = rows[indices[call->activity_first]].detail.kind;
      call->api = kind == PD_ACTIVITY_MEMCPY   ? PD_API_MEMCPY
                  : kind == PD_ACTIVITY_MEMSET ? PD_API_MEMSET
                                               : PD_API_LAUNCH;
    }
    if (!call->activity_count && (call->api == PD_API_MEMCPY || call->api == PD_API_MEMSET)) {
      call->api = PD_API_OTHER;
      empty++;
    }
    if (trace_is_launch(call) && !call->activity_count && !trace_is_late(call, last))
      intake_build_lost(self, PD_LOSS_UNMATCHED_LAUNCH, call->start_ns);
  }
  intake_build_odd(self, empty, PD_ODD_NOTE,
                   "copies or sets without a device record: %llu; those of no bytes have none",
                   (unsigned long long)empty);
}

static bool other_after(const void *rows, uint32_t a, uint32_t b) {
  const read_other *others = rows;
  return others[a].activity.start > others[b].activity.start;
}

static pd_status add_others(intake_build *self) {
  intake *from = self->from;
  const read_other *given = from->others.data;
  const uint64_t count = from->others.count;
  uint32_t *order = trace_scratch_alloc(count, 2 * sizeof *order);
  pd_status status = order ? PD_OK : PD_NO_MEMORY;
  if (status == PD_OK) status = trace_array(self->owned, &self->trace->others, count, sizeof(pd_other_row));
  if (status == PD_OK) {
    pd_other_row *rows = (pd_other_row *)self->trace->others.data;
    for (uint64_t i = 0; i < count; i++) order[i] = (uint32_t)i;
    sort_runs(order, order + count, count, other_after, given);
    for (uint64_t i = 0; i < count; i++) {
      const pd_activity *at = &given[order[i]].activity;
      const pd_stream_row key = {.device = at->device, .context = at->context, .stream = at->stream};
      const bool of_stream = at->kind == PD_ACTIVITY_SYNC && at->stream != PD_STREAM_UNKNOWN;
      const uint32_t stream =
          of_stream ? row_index_find(&from->stream_index, &from->streams, &key, sizeof key) : PD_NONE;
      rows[i] = (pd_other_row){.start_ns = at->start - self->base,
                               .end_ns = at->end - self->base,
                               .name = at->name,
                               .kind = at->kind,
                               .thread = at->thread == PD_NONE ? PD_NONE : self->thread_rows[at->thread],
                               .stream = stream == PD_NONE ? PD_NONE : self->stream_rows[stream],
                               .correlation = at->kind == PD_ACTIVITY_SYNC ? at->correlation : 0,
                               .device = at->device,
                               .context = at->context,
                               .awaited = given[order[i]].awaited};
    }
  }
  free(order);
  return status;
}

static bool is_twice(const pd_device_row *a, const pd_device_row *b) {
  return a->start_ns == b->start_ns && a->end_ns == b->end_ns && a->name == b->name && a->stream == b->stream &&
         a->detail.correlation == b->detail.correlation && a->detail.bytes == b->detail.bytes && a->detail.correlation;
}

/* Two records of the same work stand one behind the other. Records without a length may be two of the same moment. */
static void tell_twice(const intake_build *self, const pd_device_row *rows, uint64_t count) {
  uint64_t twice = 0;
  for (uint64_t i = 1; i < count; i++) twice += rows[i].end_ns > rows[i].start_ns && is_twice(&rows[i - 1], &rows[i]);
  intake_build_odd(self, twice, PD_ODD_DAMAGE,
                   "device records that are in the file twice: %llu; counts and sums hold both, so take the copies out "
                   "of the file, or record again",
                   (unsigned long long)twice);
}

pd_status intake_build_device(intake_build *self) {
  const read_work *given = self->from->works.data;
  const uint64_t count = self->from->works.count;
  pd_status status = add_streams(self);
  uint32_t *order = trace_scratch_alloc(count, 2 * sizeof *order);
  if (status == PD_OK && !order) status = PD_NO_MEMORY;
  if (status == PD_OK) status = trace_array(self->owned, &self->trace->activities, count, sizeof(pd_device_row));
  pd_device_row *rows = (pd_device_row *)self->trace->activities.data;
  if (status == PD_OK) {
    for (uint64_t i = 0; i < count; i++) order[i] = (uint32_t)i;
    sort_runs(order, order + count, count, work_after, given);
    for (uint64_t i = 0; i < count; i++) fill_work(self, &given[order[i]], &rows[i]);
    tell_twice(self, rows, count);
    status = join(self, rows, count);
  }
  free(order);
  if (status == PD_OK) status = count_missing(self, rows, count);
  if (status == PD_OK) status = group_by_call(self, rows, count);
  if (status == PD_OK) status = settle_captures(self);
  if (status == PD_OK) settle_calls(self, rows);
  return status == PD_OK ? add_others(self) : status;
}
