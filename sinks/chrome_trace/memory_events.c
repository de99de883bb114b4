/*
 * Device memory: [memory] instants as PyTorch writes them, and the counter track of the same figures. [loop thread]
 *
 * A file begins with what was live already, as one allocation: the readers' curves would else begin at the first
 * allocation of the window, and be absent where a step allocates nothing.
 */
#include "event_writer.h"

typedef struct memory_state {
  uint64_t allocated, reserved;
  uint32_t device;
  bool followed; /* by a change within this part */
} memory_state;

static int64_t part_start(const event_writer *writer) {
  return writer->from_ns == INT64_MIN ? writer->trace->start_ns : writer->from_ns;
}

static int64_t part_end(const event_writer *writer) {
  return writer->to_ns == INT64_MAX ? writer->trace->end_ns : writer->to_ns - 1;
}

/* When this part begins: after the last change before it, else before the window's first, else as the host saw it. */
static memory_state state_at_start(const event_writer *writer) {
  const pd_trace *trace = writer->trace;
  const pd_device_props *props = trace->device ? trace->device : writer->run->device;
  memory_state state = {.device = props ? props->index : 0};
  bool known = false;
  if (PD_HAS(pd_trace, trace, start_reserved_bytes)) {
    state.allocated = trace->start_allocated_bytes;
    state.reserved = trace->start_reserved_bytes;
  }
  for (uint64_t i = 0; i < trace->memory.count; i++) {
    const pd_memory_row *row = PD_AT(pd_memory_row, &trace->memory, i);
    const bool before = row->ts_ns < writer->from_ns;
    if (!row->event.device_type) continue;
    state.followed = event_in_part(writer, row->ts_ns);
    if (!before && known) break;
    state.allocated = row->event.total_allocated - (before ? 0 : (uint64_t)row->event.bytes);
    state.reserved = row->event.total_reserved;
    state.device = row->event.device;
    known = true;
    if (!before) break;
  }
  return state;
}

static void write_instant(event_writer *writer, uint32_t tid, int64_t ts_ns, const pd_memory_event *event,
                          uint64_t number) {
  static const name_text name = {"\"[memory]\"", sizeof("\"[memory]\"") - 1};
  const pd_trace *trace = writer->trace;
  char *at = EVENT_BEGIN(writer, "{\"ph\":\"i\",\"cat\":\"cpu_instant_event\",\"s\":\"t\",\"name\":", &name);
  at = event_host_ids(writer, at, tid);
  at = event_ts(at, ts_ns);
  at = EVENT_PUT(at, ",\"args\":{\"Total Reserved\":");
  at = digits_u64(at, event->total_reserved);
  at = EVENT_PUT(at, ",\"Total Allocated\":");
  at = digits_u64(at, event->total_allocated);
  at = EVENT_PUT(at, ",\"Bytes\":");
  at = digits_i64(at, event->bytes);
  at = EVENT_PUT(at, ",\"Device Id\":");
  at = event->device_type ? digits_u64(at, event->device) : EVENT_PUT(at, "-1");
  at = EVENT_PUT(at, ",\"Device Type\":");
  at = digits_u64(at, event->device_type);
  at = EVENT_PUT(at, ",\"Addr\":");
  at = digits_u64(at, event->address);
  at = EVENT_PUT(at, ",\"finished\":false,\"Ev Idx\":");
  at = digits_u64(at, trace->ranges.count + trace->steps.count + number);
  *at++ = '}';
  event_end(writer, at);
}

void memory_instants_write(event_writer *writer) {
  const pd_trace *trace = writer->trace;
  const memory_state state = state_at_start(writer);
  pd_memory_event live = {.bytes = (int64_t)state.allocated,
                          .total_allocated = state.allocated,
                          .total_reserved = state.reserved,
                          .device_type = 1,
                          .device = state.device};
  if (state.allocated) write_instant(writer, event_tid(writer, 0), part_start(writer), &live, trace->memory.count);
  for (uint64_t i = 0; i < trace->memory.count; i++) {
    const pd_memory_row *row = PD_AT(pd_memory_row, &trace->memory, i);
    if (!event_in_part(writer, row->ts_ns)) continue;
    write_instant(writer, event_tid(writer, row->thread == PD_NONE ? 0 : row->thread), row->ts_ns, &row->event, i);
  }
  if (state.allocated && !state.followed) { /* a curve needs two points */
    live.bytes = 0;
    live.address = 1;
    write_instant(writer, event_tid(writer, 0), part_end(writer), &live, trace->memory.count + 1);
  }
}

static void write_sample(event_writer *writer, uint32_t device, int64_t ts_ns, uint64_t allocated, uint64_t reserved) {
  char *at = event_counter(writer, "memory", device);
  at = event_ids(at, device, 0);
  at = event_ts(at, ts_ns);
  at = EVENT_PUT(at, ",\"args\":{\"allocated\":");
  at = digits_u64(at, allocated);
  at = EVENT_PUT(at, ",\"reserved\":");
  at = digits_u64(at, reserved);
  *at++ = '}';
  event_end(writer, at);
}

void memory_counters_write(event_writer *writer) {
  const pd_trace *trace = writer->trace;
  const memory_state state = state_at_start(writer);
  if (state.allocated) write_sample(writer, state.device, part_start(writer), state.allocated, state.reserved);
  for (uint64_t i = 0; i < trace->memory.count; i++) {
    const pd_memory_row *row = PD_AT(pd_memory_row, &trace->memory, i);
    if (row->event.device_type && event_in_part(writer, row->ts_ns))
      write_sample(writer, row->event.device, row->ts_ns, row->event.total_allocated, row->event.total_reserved);
  }
}
