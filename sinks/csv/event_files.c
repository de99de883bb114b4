/* See event_files.h. An index that points nowhere is an empty field. */
#include "event_files.h"

#include <pdhost/loss_names.h>

#include "annotation_file.h"

static void string(csv_writer *csv, const pd_trace *trace, uint32_t id) {
  const pd_string *row = pd_trace_string(trace, id);
  csv_text_of(csv, row->text, row->length);
}

static void index_or_empty(csv_writer *csv, uint32_t index) {
  if (index == PD_NONE)
    csv_empty(csv);
  else
    csv_u64(csv, index);
}

static void step_number(csv_writer *csv, const pd_trace *trace, uint32_t index) {
  if (index == PD_NONE)
    csv_empty(csv);
  else
    csv_u64(csv, PD_AT(pd_trace_step, &trace->steps, index)->number);
}

static void thread_id(csv_writer *csv, const pd_trace *trace, uint32_t index) {
  if (index == PD_NONE)
    csv_empty(csv);
  else
    csv_u64(csv, PD_AT(pd_thread, &trace->threads, index)->tid);
}

static void times(csv_writer *csv, int64_t start_ns, int64_t end_ns) {
  csv_i64(csv, start_ns);
  csv_i64(csv, end_ns);
  csv_i64(csv, end_ns - start_ns);
}

static void shapes(csv_writer *csv, const pd_trace *trace, const pd_range *range) {
  csv_empty(csv); /* the separator; what follows has nothing to quote */
  for (uint32_t i = 0; i < range->shape_count; i++) {
    const pd_shape *shape = PD_AT(pd_shape, &trace->shapes, range->shape_first + i);
    char *at = text_out_room(csv->out, (size_t)6 * DIGITS_ROOM);
    *at++ = '[';
    for (uint32_t d = 0; d < shape->rank && d < 4; d++) {
      if (d) *at++ = ' ';
      at = digits_i64(at, shape->dims[d]);
    }
    *at++ = ']';
    csv->out->at = at;
  }
}

/* PyTorch's names of element types, as in the Chrome trace. */
static const char *type_name(uint32_t dtype) {
  switch (dtype) {
  case PD_F32: return "float";
  case PD_F16: return "c10::Half";
  case PD_BF16: return "c10::BFloat16";
  case PD_I64: return "long int";
  case PD_I32: return "int";
  case PD_U8: return "unsigned char";
  default: return "";
  }
}

static void types(csv_writer *csv, const pd_trace *trace, const pd_range *range) {
  csv_empty(csv);
  for (uint32_t i = 0; i < range->shape_count; i++) {
    if (i) text_out_literal(csv->out, ";");
    text_out_text(csv->out, type_name(PD_AT(pd_shape, &trace->shapes, range->shape_first + i)->dtype));
  }
}

static void write_ranges(csv_writer *csv, const pd_trace *trace) {
  static const char *const kinds[] = {"",           "cpu_op", "user_annotation", "profiler_step",
                                      "dataloader", "worker", "python_function", "cpu_op_inner"};
  static const char *const parts[] = {"", "dataloader", "forward", "backward", "optimization"};
  csv_header(csv, "index,name,kind,part,tid,start_ns,end_ns,duration_ns,depth,parent,step,sequence,backward,"
                  "input_shapes,flops,module,input_types,stack");
  for (uint64_t i = 0; i < trace->ranges.count; i++) {
    const pd_range *range = PD_AT(pd_range, &trace->ranges, i);
    csv_u64(csv, i);
    string(csv, trace, range->name);
    csv_text(csv, range->kind < sizeof kinds / sizeof *kinds ? kinds[range->kind] : "");
    csv_text(csv, range->part < sizeof parts / sizeof *parts ? parts[range->part] : "");
    thread_id(csv, trace, range->thread);
    times(csv, range->start_ns, range->end_ns);
    csv_u64(csv, range->depth);
    index_or_empty(csv, range->parent);
    step_number(csv, trace, range->step);
    csv_u64(csv, range->sequence);
    csv_u64(csv, range->backward);
    shapes(csv, trace, range);
    csv_u64(csv, range->flops);
    string(csv, trace, range->module);
    types(csv, trace, range);
    index_or_empty(csv, range->stack);
    csv_end_record(csv);
  }
}

/* Frames from the innermost outwards, as PyTorch has them. */
static void write_stacks(csv_writer *csv, const pd_trace *trace) {
  csv_header(csv, "index,frames");
  for (uint64_t i = 0; i < trace->stacks.count; i++) {
    const pd_stack *stack = PD_AT(pd_stack, &trace->stacks, i);
    csv_u64(csv, i);
    csv_begin_quoted(csv);
    for (uint64_t k = stack->count; k-- > 0;) {
      const pd_string *frame = pd_trace_string(trace, stack->frames[k]);
      csv_add_quoted(csv, frame->text, frame->length);
      if (k) csv_add_quoted(csv, ";", 1);
    }
    csv_end_quoted(csv);
    csv_end_record(csv);
  }
}

static void write_calls(csv_writer *csv, const pd_trace *trace) {
  static const char *const classes[] = {"other", "launch", "memcpy", "memset",     "graph_launch",
                                        "sync",  "alloc",  "free",   "stream_wait"};
  csv_header(csv, "index,name,kind,class,tid,start_ns,end_ns,duration_ns,correlation,range,step,cbid,result,"
                  "device_records");
  for (uint64_t i = 0; i < trace->calls.count; i++) {
    const pd_call *call = PD_AT(pd_call, &trace->calls, i);
    csv_u64(csv, i);
    string(csv, trace, call->name);
    csv_text(csv, call->kind == PD_ACTIVITY_DRIVER ? "driver" : "runtime");
    csv_text(csv, call->api < sizeof classes / sizeof *classes ? classes[call->api] : "");
    thread_id(csv, trace, call->thread);
    times(csv, call->start_ns, call->end_ns);
    csv_u64(csv, call->correlation);
    index_or_empty(csv, call->range);
    step_number(csv, trace, call->step);
    csv_u64(csv, call->cbid);
    csv_i64(csv, call->result);
    csv_u64(csv, call->activity_count);
    csv_end_record(csv);
  }
}

static void device_columns(csv_writer *csv, const pd_trace *trace, const pd_device_row *row) {
  csv_u64(csv, row->detail.device);
  csv_u64(csv, row->detail.context);
  csv_stream(csv, row->detail.stream);
  times(csv, row->start_ns, row->end_ns);
  csv_u64(csv, row->detail.correlation);
  index_or_empty(csv, row->call);
  index_or_empty(csv, row->range);
  step_number(csv, trace, row->step);
}

static void known(csv_writer *csv, float value) {
  if (value < 0)
    csv_empty(csv);
  else
    csv_fixed12(csv, (double)value);
}

static void kernel_columns(csv_writer *csv, const pd_activity *detail) {
  for (int i = 0; i < 3; i++) csv_u64(csv, detail->u.kernel.grid[i]);
  for (int i = 0; i < 3; i++) csv_u64(csv, detail->u.kernel.block[i]);
  csv_u64(csv, detail->u.kernel.registers);
  csv_u64(csv, detail->u.kernel.static_bytes);
  csv_u64(csv, detail->u.kernel.dynamic_bytes);
  known(csv, detail->u.kernel.blocks_per_sm);
  known(csv, detail->u.kernel.warps_per_sm);
  known(csv, detail->u.kernel.occupancy);
  known(csv, detail->u.kernel.waves);
  csv_u64(csv, detail->u.kernel.graph);
  csv_u64(csv, detail->u.kernel.graph_node);
}

static void write_kernels(csv_writer *csv, const pd_trace *trace) {
  csv_header(csv, "name,device,context,stream,start_ns,end_ns,duration_ns,correlation,call,range,step,grid_x,grid_y,"
                  "grid_z,block_x,block_y,block_z,registers_per_thread,static_shared_bytes,dynamic_shared_bytes,"
                  "blocks_per_sm,warps_per_sm,occupancy,waves,graph,graph_node");
  for (uint64_t i = 0; i < trace->activities.count; i++) {
    const pd_device_row *row = PD_AT(pd_device_row, &trace->activities, i);
    if (row->detail.kind != PD_ACTIVITY_KERNEL) continue;
    string(csv, trace, row->name);
    device_columns(csv, trace, row);
    kernel_columns(csv, &row->detail);
    csv_end_record(csv);
  }
}

static void write_copies(csv_writer *csv, const pd_trace *trace) {
  csv_header(csv, "name,kind,device,context,stream,start_ns,end_ns,duration_ns,correlation,call,range,step,bytes,"
                  "GB_per_s,graph,graph_node");
  for (uint64_t i = 0; i < trace->activities.count; i++) {
    const pd_device_row *row = PD_AT(pd_device_row, &trace->activities, i);
    if (row->detail.kind == PD_ACTIVITY_KERNEL) continue;
    string(csv, trace, row->name);
    csv_text(csv, row->detail.kind == PD_ACTIVITY_MEMCPY ? "memcpy" : "memset");
    device_columns(csv, trace, row);
    csv_u64(csv, row->detail.bytes);
    if (row->end_ns > row->start_ns)
      csv_fixed12(csv, (double)row->detail.bytes / (double)(row->end_ns - row->start_ns));
    else
      csv_empty(csv);
    csv_u64(csv, row->detail.u.copy.graph);
    csv_u64(csv, row->detail.u.copy.graph_node);
    csv_end_record(csv);
  }
}

/* Device and context: the stream's, or those of a wait for a whole context. */
static void place(csv_writer *csv, const pd_trace *trace, const pd_other_row *row) {
  if (row->stream != PD_NONE) {
    csv_u64(csv, PD_AT(pd_stream_row, &trace->streams, row->stream)->device);
    csv_u64(csv, PD_AT(pd_stream_row, &trace->streams, row->stream)->context);
  } else if (row->kind == PD_ACTIVITY_SYNC) {
    csv_u64(csv, row->device);
    csv_u64(csv, row->context);
  } else {
    csv_empty(csv);
    csv_empty(csv);
  }
}

static void write_others(csv_writer *csv, const pd_trace *trace) {
  csv_header(csv, "name,kind,tid,device,context,stream,start_ns,end_ns,duration_ns,correlation");
  for (uint64_t i = 0; i < trace->others.count; i++) {
    const pd_other_row *row = PD_AT(pd_other_row, &trace->others, i);
    string(csv, trace, row->name);
    csv_text(csv, row->kind == PD_ACTIVITY_OVERHEAD ? "overhead" : "sync");
    thread_id(csv, trace, row->thread);
    place(csv, trace, row);
    if (row->stream == PD_NONE)
      csv_empty(csv); /* a wait for the whole context */
    else
      csv_u64(csv, PD_AT(pd_stream_row, &trace->streams, row->stream)->stream);
    times(csv, row->start_ns, row->end_ns);
    csv_u64(csv, row->correlation);
    csv_end_record(csv);
  }
}

static void write_memory(csv_writer *csv, const pd_trace *trace) {
  static const char *const allocators[] = {"", "pool", "raw", "cached", "pinned"};
  csv_header(csv, "ts_ns,tid,range,step,address,bytes,total_allocated,total_reserved,device_type,device,stream,"
                  "allocator,allocator_ns");
  for (uint64_t i = 0; i < trace->memory.count; i++) {
    const pd_memory_row *row = PD_AT(pd_memory_row, &trace->memory, i);
    csv_i64(csv, row->ts_ns);
    thread_id(csv, trace, row->thread);
    index_or_empty(csv, row->range);
    step_number(csv, trace, row->step);
    csv_u64(csv, row->event.address);
    csv_i64(csv, row->event.bytes);
    csv_u64(csv, row->event.total_allocated);
    csv_u64(csv, row->event.total_reserved);
    csv_text(csv, row->event.device_type ? "device" : "host");
    csv_u64(csv, row->event.device);
    csv_u64(csv, row->event.stream);
    csv_text(csv,
             row->event.allocator < sizeof allocators / sizeof *allocators ? allocators[row->event.allocator] : "");
    csv_u64(csv, row->duration_ns);
    csv_end_record(csv);
  }
}

static void write_counters(csv_writer *csv, const pd_trace *trace) {
  csv_header(csv, "ts_ns,name,value");
  for (uint64_t i = 0; i < trace->counters.count; i++) {
    const pd_counter_row *row = PD_AT(pd_counter_row, &trace->counters, i);
    csv_i64(csv, row->ts_ns);
    string(csv, trace, row->name);
    csv_double(csv, row->value);
    csv_end_record(csv);
  }
}

static void write_losses(csv_writer *csv, const pd_trace *trace) {
  csv_header(csv, "loss,count,meaning");
  for (uint32_t i = 0; i < PD_LOSS_COUNT; i++) {
    csv_text(csv, pd_loss_name(i));
    csv_u64(csv, trace->losses[i]);
    csv_text(csv, pd_loss_text(i));
    csv_end_record(csv);
  }
}

/* Where something was lost: somewhere between the two times. */
static void write_lost_spans(csv_writer *csv, const pd_trace *trace) {
  const uint64_t count = PD_HAS(pd_trace, trace, loss_rows) ? trace->loss_rows.count : 0;
  csv_header(csv, "loss,count,tid,start_ns,end_ns");
  for (uint64_t i = 0; i < count; i++) {
    const pd_loss_row *row = PD_AT(pd_loss_row, &trace->loss_rows, i);
    csv_text(csv, row->loss < PD_LOSS_COUNT ? pd_loss_name(row->loss) : "");
    csv_u64(csv, row->count);
    thread_id(csv, trace, row->thread);
    csv_i64(csv, row->start_ns);
    csv_i64(csv, row->end_ns);
    csv_end_record(csv);
  }
}

static void write_threads(csv_writer *csv, const pd_trace *trace) {
  csv_header(csv, "tid,name");
  for (uint64_t i = 0; i < trace->threads.count; i++) {
    const pd_thread *row = PD_AT(pd_thread, &trace->threads, i);
    csv_u64(csv, row->tid);
    string(csv, trace, row->name);
    csv_end_record(csv);
  }
}

static void write_streams(csv_writer *csv, const pd_trace *trace) {
  csv_header(csv, "device,context,stream,name");
  for (uint64_t i = 0; i < trace->streams.count; i++) {
    const pd_stream_row *row = PD_AT(pd_stream_row, &trace->streams, i);
    csv_u64(csv, row->device);
    csv_u64(csv, row->context);
    csv_stream(csv, row->stream);
    string(csv, trace, row->name);
    csv_end_record(csv);
  }
}

const event_file event_files[] = {{"events/lost", write_losses},
                                  {"events/lost_spans", write_lost_spans},
                                  {"events/ranges", write_ranges},
                                  {"events/calls", write_calls},
                                  {"events/kernels", write_kernels},
                                  {"events/copies", write_copies},
                                  {"events/annotations", annotation_file_write},
                                  {"events/others", write_others},
                                  {"events/memory", write_memory},
                                  {"events/counters", write_counters},
                                  {"events/threads", write_threads},
                                  {"events/streams", write_streams},
                                  {"events/stacks", write_stacks},
                                  {NULL, NULL}};

void event_files_steps(csv_writer *csv, const pd_summary *summary) {
  static const char *const phases[] = {"warmup_steps", "skip", "wait", "warmup", "active", "paused"};
  csv_header(csv, "index,phase,window,data_wait_ns,step_time_ns,batch_cost_ns,loss,loss_scale,allocated_bytes,"
                  "reserved_bytes,end_realtime_ns");
  for (uint64_t i = 0; i < summary->steps_all.count; i++) {
    const pd_step_stats *step = PD_AT(pd_step_stats, &summary->steps_all, i);
    csv_u64(csv, step->index);
    csv_text(csv, step->phase < sizeof phases / sizeof *phases ? phases[step->phase] : "");
    index_or_empty(csv, step->window);
    csv_i64(csv, step->data_wait_ns);
    csv_i64(csv, step->step_time_ns);
    csv_i64(csv, step->batch_cost_ns);
    csv_double(csv, step->loss);
    csv_double(csv, step->loss_scale);
    csv_u64(csv, step->allocated_bytes);
    csv_u64(csv, step->reserved_bytes);
    csv_i64(csv, step->end_realtime_ns);
    csv_end_record(csv);
  }
}
