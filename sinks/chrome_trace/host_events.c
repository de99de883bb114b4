/*
 * The host's rows: for every thread its steps, ranges and runtime calls in order of time, so that what nests in time
 * nests in the file. [loop thread]
 *
 * Ranges nest by themselves. Steps come from the schedule and calls from the profiling library, each with a clock
 * reading of its own, so either may stick out of a range by some nanoseconds: what would overlap in part is cut, since
 * viewers drop such slices.
 */
#include "event_index.h"

#include <math.h>

enum { DEEPEST = 512 }; /* as Perfetto has it */

typedef struct thread_state {
  event_writer *writer;
  const event_index *index;
  uint32_t thread, tid;
  uint32_t step, step_end; /* the next step of this thread, and one past its last */
  int64_t last_start_ns;
  int64_t open_ends[DEEPEST];
  double open_ends_us[DEEPEST]; /* as readers compute them */
  uint32_t depth;
} thread_state;

/* Cuts [*start, *end) to the slice it begins in and notes it as open. False: no room left for it. */
static bool nest(thread_state *state, int64_t *start_ns, int64_t *end_ns) {
  if (*start_ns < state->last_start_ns) *start_ns = state->last_start_ns;
  if (*end_ns < *start_ns) *end_ns = *start_ns;
  while (state->depth && state->open_ends[state->depth - 1] <= *start_ns) state->depth--;
  if (state->depth && state->open_ends[state->depth - 1] < *end_ns) {
    *end_ns = state->open_ends[state->depth - 1];
    state->writer->clipped++;
  }
  if (state->depth == DEEPEST) {
    state->writer->clipped++;
    return false;
  }
  state->last_start_ns = *start_ns;
  const double limit_us = state->depth ? state->open_ends_us[state->depth - 1] : HUGE_VAL;
  *end_ns = event_safe_end(*start_ns, *end_ns, limit_us, &state->open_ends_us[state->depth]);
  state->open_ends[state->depth++] = *end_ns;
  return true;
}

/* ---- ranges ---- */

static const char *dtype_name(uint32_t dtype) {
  switch (dtype) {
  case PD_F32: return "\"float\"";
  case PD_F16: return "\"c10::Half\"";
  case PD_BF16: return "\"c10::BFloat16\"";
  case PD_I64: return "\"long int\"";
  case PD_I32: return "\"int\"";
  case PD_U8: return "\"unsigned char\"";
  default: return "\"\"";
  }
}

static char *put_shapes(event_writer *writer, char *at, const pd_range *range) {
  enum { SHAPE_ROOM = 128 }; /* of one shape, with EVENT_ROOM / 2 left for the rest of the event */
  at = EVENT_PUT(at, ",\"Input type\":[");
  for (uint32_t i = 0; i < range->shape_count; i++) {
    const char *name = dtype_name(PD_AT(pd_shape, &writer->trace->shapes, range->shape_first + i)->dtype);
    writer->out->at = at;
    at = text_out_room(writer->out, SHAPE_ROOM + EVENT_ROOM / 2);
    if (i) *at++ = ',';
    at = event_put_text(at, name);
  }
  at = EVENT_PUT(at, "],\"Input Dims\":[");
  for (uint32_t i = 0; i < range->shape_count; i++) {
    const pd_shape *shape = PD_AT(pd_shape, &writer->trace->shapes, range->shape_first + i);
    writer->out->at = at;
    at = text_out_room(writer->out, SHAPE_ROOM + EVENT_ROOM / 2);
    if (i) *at++ = ',';
    *at++ = '[';
    for (uint32_t d = 0; d < shape->rank && d < 4; d++) {
      if (d) *at++ = ',';
      at = digits_i64(at, shape->dims[d]);
    }
    *at++ = ']';
  }
  *at++ = ']';
  return at;
}

/* Frames innermost last in the trace, innermost first in Kineto's text. */
static char *put_stack(event_writer *writer, char *at, uint32_t stack_index) {
  const pd_stack *stack = PD_AT(pd_stack, &writer->trace->stacks, stack_index);
  at = EVENT_PUT(at, ",\"Call stack\":\"");
  writer->out->at = at;
  for (uint64_t i = stack->count; i-- > 0;) {
    const name_text *frame = names_at(writer->names, stack->frames[i]);
    text_out_bytes(writer->out, frame->quoted + 1, frame->length - 2);
    if (i) text_out_literal(writer->out, ";");
  }
  at = text_out_room(writer->out, EVENT_ROOM / 2);
  *at++ = '"';
  return at;
}

static char *put_op_args(event_writer *writer, const event_index *index, char *at, uint32_t i, const pd_range *range) {
  const pd_trace *trace = writer->trace;
  if (range->sequence) {
    at = EVENT_PUT(at, ",\"Sequence number\":");
    at = digits_u64(at, range->sequence);
    at = EVENT_PUT(at, ",\"Fwd thread id\":");
    const uint32_t forward = index->forward_of[i];
    at = digits_u64(at, forward == PD_NONE ? 0 : PD_AT(pd_range, &trace->ranges, forward)->thread + 1);
  }
  if (range->shape_count) at = put_shapes(writer, at, range);
  if (range->flops) {
    at = EVENT_PUT(at, ",\"flops\":");
    at = digits_u64(at, range->flops);
  }
  if (range->module) {
    const name_text *module = names_at(writer->names, range->module);
    at = EVENT_PUT(at, ",\"Module Hierarchy\":");
    writer->out->at = at;
    text_out_bytes(writer->out, module->quoted, module->length);
    at = text_out_room(writer->out, EVENT_ROOM / 2);
  }
  if (range->stack != PD_NONE && range->stack < trace->stacks.count) at = put_stack(writer, at, range->stack);
  return at;
}

static char *put_module_args(const event_writer *writer, char *at, uint32_t i, const pd_range *range) {
  const pd_trace *trace = writer->trace;
  uint32_t parent = range->parent;
  while (parent != PD_NONE && PD_AT(pd_range, &trace->ranges, parent)->kind != PD_RANGE_MODULE)
    parent = PD_AT(pd_range, &trace->ranges, parent)->parent;
  at = EVENT_PUT(at, ",\"args\":{\"Python id\":");
  at = digits_u64(at, (uint64_t)i + 1);
  at = EVENT_PUT(at, ",\"Python parent id\":");
  at = parent == PD_NONE ? EVENT_PUT(at, "null") : digits_u64(at, (uint64_t)parent + 1);
  at = EVENT_PUT(at, ",\"Python module id\":");
  return digits_u64(at, range->name);
}

static void write_range(thread_state *state, uint32_t i) {
  event_writer *writer = state->writer;
  const pd_range *range = PD_AT(pd_range, &writer->trace->ranges, i);
  int64_t start_ns = range->start_ns, end_ns = range->end_ns;
  char *at;
  if (state->step < state->step_end) { /* steps are never cut: a range that runs into one ends there */
    const pd_trace_step *step = PD_AT(pd_trace_step, &writer->trace->steps, state->step);
    if (step->start_ns < end_ns && step->end_ns > end_ns) {
      end_ns = step->start_ns;
      writer->clipped++;
    }
  }
  if (!nest(state, &start_ns, &end_ns)) return;
  const name_text *name = names_of_range(writer->names, range);
  /* The wait for data is an operation to its readers: TensorBoard's released plugin sees no other annotation. */
  const bool is_op =
      range->kind == PD_RANGE_OP || range->kind == PD_RANGE_OP_INNER || range->kind == PD_RANGE_DATALOADER;
  writer->operations += is_op;
  if (is_op)
    at = EVENT_BEGIN(writer, "{\"ph\":\"X\",\"cat\":\"cpu_op\",\"name\":", name);
  else if (range->kind == PD_RANGE_MODULE)
    at = EVENT_BEGIN(writer, "{\"ph\":\"X\",\"cat\":\"python_function\",\"name\":", name);
  else
    at = EVENT_BEGIN(writer, "{\"ph\":\"X\",\"cat\":\"user_annotation\",\"name\":", name);
  at = event_host_ids(writer, at, state->tid);
  at = event_times(writer, at, start_ns, end_ns);
  if (range->kind == PD_RANGE_MODULE) {
    at = put_module_args(writer, at, i, range);
  } else {
    at = EVENT_PUT(at, ",\"args\":{\"External id\":");
    at = digits_u64(at, (uint64_t)i + 1);
    at = EVENT_PUT(at, ",\"Record function id\":0");
    if (is_op) at = put_op_args(writer, state->index, at, i, range);
  }
  at = EVENT_PUT(at, ",\"Ev Idx\":");
  at = digits_u64(at, i);
  *at++ = '}';
  event_end(writer, at);
  const uint32_t flow = state->index->flow[i];
  if (flow && writer->flows != FLOWS_NONE)
    event_flow(writer, range->backward ? 'f' : 's', "fwdbwd", flow, writer->trace->pid + writer->host_offset,
               state->tid, start_ns);
}

static void write_step(thread_state *state, uint32_t s) {
  event_writer *writer = state->writer;
  const pd_trace_step *step = PD_AT(pd_trace_step, &writer->trace->steps, s);
  char quoted[40];
  char *end = EVENT_PUT(quoted, "\"ProfilerStep#");
  end = digits_u64(end, step->number);
  *end++ = '"';
  const name_text name = {quoted, (size_t)(end - quoted)};
  int64_t start_ns = step->start_ns, end_ns = step->end_ns;
  if (!nest(state, &start_ns, &end_ns)) return;
  char *at = EVENT_BEGIN(writer, "{\"ph\":\"X\",\"cat\":\"user_annotation\",\"name\":", &name);
  at = event_host_ids(writer, at, state->tid);
  at = event_times(writer, at, start_ns, end_ns);
  at = EVENT_PUT(at, ",\"args\":{\"External id\":");
  at = digits_u64(at, writer->trace->ranges.count + s + 1);
  at = EVENT_PUT(at, ",\"Record function id\":0,\"Ev Idx\":");
  at = digits_u64(at, writer->trace->ranges.count + s);
  *at++ = '}';
  event_end(writer, at);
}

/* ---- calls ---- */

/* Whether this call's flow is drawn: every one, or with compact flows the first of each operation. */
static bool has_flow(const event_writer *writer, const event_index *index, uint32_t i, const pd_call *call) {
  if (writer->flows == FLOWS_KINETO && index->call_waits[i]) return true;
  if (writer->flows == FLOWS_NONE || !call->activity_count) return false;
  if (writer->flows == FLOWS_KINETO || call->range == PD_NONE) return true;
  for (uint32_t k = i; k-- > 0;) {
    const pd_call *before = PD_AT(pd_call, &writer->trace->calls, k);
    if (before->start_ns < PD_AT(pd_range, &writer->trace->ranges, call->range)->start_ns) break;
    if (before->range == call->range && before->activity_count) return false;
  }
  return true;
}

static void write_call(thread_state *state, uint32_t i, int64_t start_ns, uint32_t next_range, uint32_t range_end) {
  event_writer *writer = state->writer;
  const pd_trace *trace = writer->trace;
  const pd_call *call = PD_AT(pd_call, &trace->calls, i);
  int64_t end_ns = call->end_ns;
  for (; next_range < range_end; next_range++) {
    const pd_range *range = PD_AT(pd_range, &trace->ranges, next_range);
    if (range->start_ns >= end_ns) break;
    if (range->end_ns > end_ns && range->kind != PD_RANGE_STEP) end_ns = range->start_ns;
  }
  if (!nest(state, &start_ns, &end_ns)) return;
  /* A driver's launch that no runtime call made is written as a runtime call: TensorBoard's plugin ties no others. */
  const bool runtime = call->kind == PD_ACTIVITY_RUNTIME || call->activity_count;
  const name_text *name = names_plain(writer->names, call->name);
  char *at = runtime && writer->old_runtime ? EVENT_BEGIN(writer, "{\"ph\":\"X\",\"cat\":\"runtime\",\"name\":", name)
             : runtime ? EVENT_BEGIN(writer, "{\"ph\":\"X\",\"cat\":\"cuda_runtime\",\"name\":", name)
                       : EVENT_BEGIN(writer, "{\"ph\":\"X\",\"cat\":\"cuda_driver\",\"name\":", name);
  at = event_host_ids(writer, at, state->tid);
  at = event_times(writer, at, start_ns, end_ns);
  at = EVENT_PUT(at, ",\"args\":{");
  if (call->range != PD_NONE) {
    at = EVENT_PUT(at, "\"External id\":");
    at = digits_u64(at, event_external_id(writer, call->range));
    *at++ = ',';
  }
  at = EVENT_PUT(at, "\"cbid\":");
  at = digits_u64(at, call->cbid);
  at = EVENT_PUT(at, ",\"correlation\":");
  at = digits_u64(at, call->correlation);
  if (call->result) {
    at = EVENT_PUT(at, ",\"result\":");
    at = digits_i64(at, call->result);
  }
  *at++ = '}';
  event_end(writer, at);
  if (has_flow(writer, state->index, i, call))
    event_flow(writer, 's', "ac2g", call->correlation, trace->pid + writer->host_offset, state->tid, start_ns);
}

/* ---- threads ---- */

static void write_thread(event_writer *writer, const event_index *index, uint32_t thread) {
  const pd_trace *trace = writer->trace;
  thread_state state = {.writer = writer,
                        .index = index,
                        .thread = thread,
                        .tid = event_tid(writer, thread),
                        .step_end = thread == 0 ? (uint32_t)trace->steps.count : 0,
                        .last_start_ns = trace->start_ns};
  uint32_t range = index->range_first[thread], call = index->thread_first[thread];
  const uint32_t range_end = index->range_first[thread + 1], call_end = index->thread_first[thread + 1];
  for (;;) {
    int64_t range_ns = INT64_MAX, call_ns = INT64_MAX, step_ns = INT64_MAX;
    while (range < range_end && PD_AT(pd_range, &trace->ranges, range)->kind == PD_RANGE_STEP) range++;
    if (range < range_end) range_ns = PD_AT(pd_range, &trace->ranges, range)->start_ns;
    if (call < call_end) {
      const pd_call *row = PD_AT(pd_call, &trace->calls, index->calls_by_thread[call]);
      call_ns = row->start_ns;
      if (row->range != PD_NONE && PD_AT(pd_range, &trace->ranges, row->range)->thread == thread &&
          PD_AT(pd_range, &trace->ranges, row->range)->start_ns > call_ns)
        call_ns = PD_AT(pd_range, &trace->ranges, row->range)->start_ns;
    }
    if (state.step < state.step_end) step_ns = PD_AT(pd_trace_step, &trace->steps, state.step)->start_ns;
    if (step_ns == INT64_MAX && range_ns == INT64_MAX && call_ns == INT64_MAX) break;
    if (step_ns <= range_ns && step_ns <= call_ns) {
      if (event_in_part(writer, step_ns)) write_step(&state, state.step);
      state.step++;
    } else if (range_ns <= call_ns) {
      if (event_in_part(writer, range_ns)) write_range(&state, range);
      range++;
    } else {
      if (event_in_part(writer, call_ns)) write_call(&state, index->calls_by_thread[call], call_ns, range, range_end);
      call++;
    }
  }
}

void host_events_write(event_writer *writer, const event_index *index) {
  for (uint32_t thread = 0; thread < writer->trace->threads.count; thread++) write_thread(writer, index, thread);
  memory_instants_write(writer);
}
