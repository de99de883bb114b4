/*
 * The device's rows: annotations, kernels, copies, sets, synchronisations, and the profiler's overhead. The process is
 * the device, the thread the stream. [loop thread]
 *
 * A row belongs to the part of the file that its launch belongs to, so that both ends of a flow are in one file.
 */
#include "event_index.h"

#include <string.h>

static int64_t part_time(const pd_trace *trace, const pd_device_row *row) {
  return row->call == PD_NONE ? row->start_ns : PD_AT(pd_call, &trace->calls, row->call)->start_ns;
}

static char *put_common(const event_writer *writer, char *at, const pd_device_row *row, bool queued) {
  at = EVENT_PUT(at, ",\"args\":{");
  if (row->range != PD_NONE) {
    at = EVENT_PUT(at, "\"External id\":");
    at = digits_u64(at, event_external_id(writer, row->range));
    *at++ = ',';
  }
  if (queued) at = EVENT_PUT(at, "\"queued\":0,");
  at = EVENT_PUT(at, "\"device\":");
  at = digits_u64(at, row->detail.device);
  at = EVENT_PUT(at, ",\"context\":");
  at = digits_u64(at, row->detail.context);
  at = EVENT_PUT(at, ",\"stream\":");
  at = digits_u64(at, event_stream_track(row->detail.stream));
  at = EVENT_PUT(at, ",\"correlation\":");
  return digits_u64(at, row->detail.correlation);
}

static char *put_triple(char *at, const uint32_t *triple) {
  *at++ = '[';
  at = digits_u64(at, triple[0]);
  *at++ = ',';
  at = digits_u64(at, triple[1]);
  *at++ = ',';
  at = digits_u64(at, triple[2]);
  *at++ = ']';
  return at;
}

static char *put_graph(char *at, uint32_t graph, uint32_t node) {
  if (!graph) return at;
  at = EVENT_PUT(at, ",\"graph id\":");
  at = digits_u64(at, graph);
  at = EVENT_PUT(at, ",\"graph node id\":");
  return digits_u64(at, node);
}

/* Above 0 and small enough to be one: neither unknown nor what a division by nothing leaves. */
static bool is_known(float value) { return value >= 0 && value < 1e9f; }

/* The shape of the message, where the row is a collective that this program launched; NULL: it is none. */
static const pd_shape *message_of(const pd_trace *trace, const pd_device_row *row) {
  static const char collectives[] = "c10d::";
  if (trace->ranks < 2 || row->range == PD_NONE || row->detail.kind != PD_ACTIVITY_KERNEL) return NULL;
  const pd_range *range = PD_AT(pd_range, &trace->ranges, row->range);
  const pd_string *name = pd_trace_string(trace, range->name);
  if (!range->shape_count || strncmp(name->text, collectives, sizeof collectives - 1) != 0) return NULL;
  return PD_AT(pd_shape, &trace->shapes, range->shape_first);
}

/* Kineto names this many ranks, and writes dots for the others. */
enum { RANKS_NAMED = 30 };

/* As Kineto has it of collectives: torch's records of them become arguments of the kernel. */
static char *put_collective(char *at, const pd_trace *trace, const pd_shape *message, uint64_t sequence) {
  uint64_t count = 1;
  for (uint32_t i = 0; i < message->rank; i++) count *= (uint64_t)message->dims[i];
  at = EVENT_PUT(at, ",\"Collective name\":\"allreduce\",\"In msg nelems\":");
  at = digits_u64(at, count);
  at = EVENT_PUT(at, ",\"Out msg nelems\":");
  at = digits_u64(at, count);
  at = EVENT_PUT(at, ",\"Group size\":");
  at = digits_u64(at, trace->ranks);
  at = EVENT_PUT(at, ",\"dtype\":\"Float\",\"In split size\":\"[]\",\"Out split size\":\"[]\","
                     "\"Process Group Name\":\"0\",\"Process Group Description\":\"default_pg\","
                     "\"Process Group Ranks\":\"[");
  for (uint32_t i = 0; i < trace->ranks && i < RANKS_NAMED; i++) {
    if (i) at = EVENT_PUT(at, ", ");
    at = digits_u64(at, i);
  }
  if (trace->ranks > RANKS_NAMED) at = EVENT_PUT(at, ", ...");
  at = EVENT_PUT(at, "]\",\"Seq\":");
  return digits_u64(at, sequence);
}

/* What a device does not know stays out: readers of these keys take numbers only. */
static char *put_kernel(const event_writer *writer, char *at, const pd_device_row *row) {
  const pd_activity *kernel = &row->detail;
  at = put_common(writer, at, row, true);
  at = EVENT_PUT(at, ",\"registers per thread\":");
  at = digits_u64(at, kernel->u.kernel.registers);
  at = EVENT_PUT(at, ",\"shared memory\":");
  at = digits_u64(at, (uint64_t)kernel->u.kernel.static_bytes + kernel->u.kernel.dynamic_bytes);
  const bool known = kernel->u.kernel.blocks_per_sm > 0 && is_known(kernel->u.kernel.blocks_per_sm) &&
                     is_known(kernel->u.kernel.warps_per_sm);
  if (known) {
    at = EVENT_PUT(at, ",\"blocks per SM\":");
    at = digits_fixed6(at, (double)kernel->u.kernel.blocks_per_sm);
    at = EVENT_PUT(at, ",\"warps per SM\":");
    at = digits_fixed6(at, (double)kernel->u.kernel.warps_per_sm);
  }
  at = EVENT_PUT(at, ",\"grid\":");
  at = put_triple(at, kernel->u.kernel.grid);
  at = EVENT_PUT(at, ",\"block\":");
  at = put_triple(at, kernel->u.kernel.block);
  if (known && is_known(kernel->u.kernel.occupancy)) {
    at = EVENT_PUT(at, ",\"est. achieved occupancy %\":");
    at = digits_u64(at, (uint64_t)((double)kernel->u.kernel.occupancy * 100 + 0.5));
  }
  if (kernel->u.kernel.waves > 0 && is_known(kernel->u.kernel.waves)) { /* pdhost's own: Kineto has none */
    at = EVENT_PUT(at, ",\"waves\":");
    at = digits_fixed6(at, (double)kernel->u.kernel.waves);
  }
  return put_graph(at, kernel->u.kernel.graph, kernel->u.kernel.graph_node);
}

static char *put_copy(const event_writer *writer, char *at, const pd_device_row *row) {
  at = put_common(writer, at, row, false);
  at = EVENT_PUT(at, ",\"bytes\":");
  at = digits_u64(at, row->detail.bytes);
  if (row->end_ns > row->start_ns) {
    at = EVENT_PUT(at, ",\"memory bandwidth (GB/s)\":");
    at = digits_fixed12(at, (double)row->detail.bytes / (double)(row->end_ns - row->start_ns));
  }
  return put_graph(at, row->detail.u.copy.graph, row->detail.u.copy.graph_node);
}

/* Whether this row's flow end is drawn: with compact flows that of the first row of an operation. */
static bool has_flow(const event_writer *writer, uint64_t i, const pd_device_row *row) {
  const pd_trace *trace = writer->trace;
  if (writer->flows == FLOWS_NONE || row->call == PD_NONE) return false;
  if (writer->flows == FLOWS_KINETO) return true;
  const pd_call *call = PD_AT(pd_call, &trace->calls, row->call);
  if (*PD_AT(uint32_t, &trace->activities_by_call, call->activity_first) != i) return false;
  if (call->range == PD_NONE) return true;
  for (uint32_t k = row->call; k-- > 0;) {
    const pd_call *before = PD_AT(pd_call, &trace->calls, k);
    if (before->start_ns < PD_AT(pd_range, &trace->ranges, call->range)->start_ns) break;
    if (before->range == call->range && before->activity_count) return false;
  }
  return true;
}

static void write_rows(event_writer *writer, const event_index *index) {
  const pd_trace *trace = writer->trace;
  uint64_t collectives = 0;
  for (uint64_t i = 0; i < trace->activities.count; i++) {
    const pd_device_row *row = PD_AT(pd_device_row, &trace->activities, i);
    const pd_shape *message = message_of(trace, row);
    collectives += message != NULL;
    if (!event_in_part(writer, part_time(trace, row))) continue;
    const name_text *name = names_plain(writer->names, row->name);
    const uint32_t tid = event_index_track(index, trace, i);
    const pd_activity_kind kind = row->detail.kind;
    char *at = kind == PD_ACTIVITY_KERNEL ? EVENT_BEGIN(writer, "{\"ph\":\"X\",\"cat\":\"kernel\",\"name\":", name)
               : kind == PD_ACTIVITY_MEMCPY
                   ? EVENT_BEGIN(writer, "{\"ph\":\"X\",\"cat\":\"gpu_memcpy\",\"name\":", name)
                   : EVENT_BEGIN(writer, "{\"ph\":\"X\",\"cat\":\"gpu_memset\",\"name\":", name);
    at = event_ids(at, row->detail.device, tid);
    at = event_times(writer, at, row->start_ns, row->end_ns);
    at = kind == PD_ACTIVITY_KERNEL ? put_kernel(writer, at, row) : put_copy(writer, at, row);
    if (message) at = put_collective(at, trace, message, collectives);
    *at++ = '}';
    event_end(writer, at);
    if (has_flow(writer, i, row))
      event_flow(writer, 'f', "ac2g", row->detail.correlation, row->detail.device, tid, row->start_ns);
  }
}

static void write_annotations(event_writer *writer, const event_index *index) {
  const pd_trace *trace = writer->trace;
  for (uint64_t i = 0; i < index->annotation_count; i++) {
    const annotation *shadow = &index->annotations[i];
    const pd_range *range = PD_AT(pd_range, &trace->ranges, shadow->range);
    if (!event_in_part(writer, range->start_ns)) continue;
    const pd_stream_row *stream = PD_AT(pd_stream_row, &trace->streams, shadow->stream);
    char *at = EVENT_BEGIN(
        writer, "{\"ph\":\"X\",\"cat\":\"gpu_user_annotation\",\"name\":", names_of_range(writer->names, range));
    at = event_ids(at, stream->device, event_stream_track(stream->stream));
    at = event_times(writer, at, shadow->start_ns, shadow->end_ns);
    at = EVENT_PUT(at, ",\"args\":{\"External id\":");
    at = digits_u64(at, (uint64_t)shadow->range + 1);
    *at++ = '}';
    event_end(writer, at);
  }
}

/* HTA's critical path fails on a trace that has rows of Kineto's name for them, if these have no stream. */
static const name_text *sync_name(const name_text *kind) {
  static const char waits[] = "\"Stream Wait Event\"";
  static const name_text shown = {"\"Stream Wait\"", sizeof "\"Stream Wait\"" - 1};
  return kind->length == sizeof waits - 1 && !memcmp(kind->quoted, waits, sizeof waits - 1) ? &shown : kind;
}

/* On a track beside the stream's, since the stream's rows begin and end at other times. */
static void write_sync(event_writer *writer, const event_index *index, uint64_t i, const pd_other_row *row) {
  const pd_trace *trace = writer->trace;
  const pd_stream_row *stream = event_index_stream(trace, row);
  const int64_t start_ns = index->wait_start_ns[i];
  if (start_ns != row->start_ns) writer->clipped++;
  if (start_ns == INT64_MAX) return;
  const uint32_t device = event_index_device(trace, row);
  const uint32_t tid = stream ? stream->stream + SYNC_TRACK : CONTEXT_SYNC_TRACK;
  const name_text *kind = names_at(writer->names, row->name);
  char *at = EVENT_BEGIN(writer, "{\"ph\":\"X\",\"cat\":\"cuda_sync\",\"name\":", sync_name(kind));
  at = event_ids(at, device, tid);
  at = event_times(writer, at, start_ns, row->end_ns);
  at = EVENT_PUT(at, ",\"args\":{\"cuda_sync_kind\":");
  writer->out->at = at;
  text_out_bytes(writer->out, kind->quoted, kind->length);
  at = text_out_room(writer->out, EVENT_ROOM);
  /* HTA takes every row with a stream for work of the device: a wait would count as busy. So the stream is that of
   * Kineto's context-wide waits, and the real one is beside it. */
  at = EVENT_PUT(at, ",\"stream\":-1");
  if (stream) {
    at = EVENT_PUT(at, ",\"wait on stream\":");
    at = digits_u64(at, stream->stream);
  }
  if (row->correlation) {
    at = EVENT_PUT(at, ",\"correlation\":");
    at = digits_u64(at, row->correlation);
  }
  at = EVENT_PUT(at, ",\"device\":");
  at = digits_u64(at, device);
  at = EVENT_PUT(at, ",\"context\":");
  at = digits_u64(at, event_index_context(trace, row));
  *at++ = '}';
  event_end(writer, at);
  if (writer->flows == FLOWS_KINETO && index->wait_call[i] != PD_NONE)
    event_flow(writer, 'f', "ac2g", row->correlation, device, tid, start_ns);
}

static void write_overhead(event_writer *writer, const pd_other_row *row) {
  char *at = EVENT_BEGIN(writer, "{\"ph\":\"X\",\"cat\":\"overhead\",\"name\":", names_plain(writer->names, row->name));
  at = event_ids(at, OVERHEAD_PID, OVERHEAD_PID);
  at = event_times(writer, at, row->start_ns, row->end_ns);
  event_end(writer, at);
}

void device_events_write(event_writer *writer, const event_index *index) {
  const pd_trace *trace = writer->trace;
  int64_t overhead_end = INT64_MIN;
  write_annotations(writer, index);
  write_rows(writer, index);
  for (uint64_t i = 0; i < trace->others.count; i++) {
    const pd_other_row *row = PD_AT(pd_other_row, &trace->others, i);
    const uint32_t call = index->wait_call[i];
    const int64_t begun_ns = call == PD_NONE ? row->start_ns : PD_AT(pd_call, &trace->calls, call)->start_ns;
    if (!event_in_part(writer, begun_ns)) continue;
    if (row->kind == PD_ACTIVITY_SYNC) {
      write_sync(writer, index, i, row);
    } else if (row->start_ns >= overhead_end) {
      write_overhead(writer, row);
      overhead_end = row->end_ns;
    } else if (row->end_ns > overhead_end) {
      pd_other_row rest = *row;
      rest.start_ns = overhead_end;
      writer->clipped++;
      write_overhead(writer, &rest);
      overhead_end = row->end_ns;
    }
  }
}
