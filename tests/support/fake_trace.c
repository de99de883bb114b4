/* See fake_trace.h. Single-threaded. */
#include "fake_trace.h"

#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

typedef struct row_list {
  char *data;
  uint64_t count, room, stride;
} row_list;

struct fake_trace {
  pd_trace trace;
  bool failed;
  row_list strings, threads, streams, ranges, calls, activities, by_call, others, memory, counters, steps, shapes;
  char scratch[sizeof(pd_device_row) + sizeof(pd_range)]; /* the row handed out on no memory */
  uint64_t last_shape;                                    /* of the range last added */
};

static void *rows_add(fake_trace *fake, row_list *rows) {
  if (rows->count == rows->room) {
    const uint64_t room = rows->room ? 2 * rows->room : 64;
    char *grown = realloc(rows->data, room * rows->stride);
    if (!grown) {
      fake->failed = true;
      return memset(fake->scratch, 0, sizeof fake->scratch);
    }
    rows->data = grown;
    rows->room = room;
  }
  return memset(rows->data + rows->count++ * rows->stride, 0, rows->stride);
}

static void *rows_at(const row_list *rows, uint64_t i) { return rows->data + i * rows->stride; }

fake_trace *fake_trace_open(void) {
  fake_trace *fake = calloc(1, sizeof *fake);
  if (!fake) return NULL;
  fake->strings.stride = sizeof(pd_string);
  fake->threads.stride = sizeof(pd_thread);
  fake->streams.stride = sizeof(pd_stream_row);
  fake->ranges.stride = sizeof(pd_range);
  fake->calls.stride = sizeof(pd_call);
  fake->activities.stride = sizeof(pd_device_row);
  fake->by_call.stride = sizeof(uint32_t);
  fake->others.stride = sizeof(pd_other_row);
  fake->memory.stride = sizeof(pd_memory_row);
  fake->counters.stride = sizeof(pd_counter_row);
  fake->steps.stride = sizeof(pd_trace_step);
  fake->shapes.stride = sizeof(pd_shape);
  fake_string(fake, "");
  fake_thread(fake, 4242, "pdhost");
  return fake;
}

void fake_trace_close(fake_trace *fake) {
  if (!fake) return;
  for (uint64_t i = 0; i < fake->strings.count; i++)
    free((char *)(uintptr_t)((pd_string *)rows_at(&fake->strings, i))->text);
  row_list *all[] = {&fake->strings, &fake->threads, &fake->streams, &fake->ranges,   &fake->calls, &fake->activities,
                     &fake->by_call, &fake->others,  &fake->memory,  &fake->counters, &fake->steps, &fake->shapes};
  for (size_t i = 0; i < sizeof all / sizeof *all; i++) free(all[i]->data);
  free(fake);
}

uint32_t fake_string_of(fake_trace *fake, const char *text, uint64_t length) {
  for (uint64_t i = 0; i < fake->strings.count; i++) {
    const pd_string *row = rows_at(&fake->strings, i);
    if (row->length == length && memcmp(row->text, text, length) == 0) return (uint32_t)i;
  }
  char *copy = malloc(length + 1);
  if (!copy) {
    fake->failed = true;
    return 0;
  }
  memcpy(copy, text, length);
  copy[length] = '\0';
  pd_string *row = rows_add(fake, &fake->strings);
  *row = (pd_string){copy, length};
  return (uint32_t)(fake->strings.count - 1);
}

uint32_t fake_string(fake_trace *fake, const char *text) { return fake_string_of(fake, text, strlen(text)); }

uint32_t fake_thread(fake_trace *fake, uint32_t tid, const char *name) {
  const uint32_t id = fake_string(fake, name);
  pd_thread *row = rows_add(fake, &fake->threads);
  *row = (pd_thread){tid, id};
  return (uint32_t)(fake->threads.count - 1);
}

uint32_t fake_stream(fake_trace *fake, uint32_t device, uint32_t context, uint32_t stream) {
  char name[32];
  snprintf(name, sizeof name, "stream %u", stream);
  const uint32_t id = fake_string(fake, name);
  pd_stream_row *row = rows_add(fake, &fake->streams);
  *row = (pd_stream_row){device, context, stream, id};
  return (uint32_t)(fake->streams.count - 1);
}

pd_trace_step *fake_step(fake_trace *fake, uint64_t number, int64_t start_ns, int64_t end_ns) {
  pd_trace_step *row = rows_add(fake, &fake->steps);
  row->number = number;
  row->start_ns = row->train_start_ns = start_ns;
  row->end_ns = row->train_end_ns = end_ns;
  row->step_time_ns = end_ns - start_ns;
  row->loss = NAN;
  return row;
}

pd_range *fake_range(fake_trace *fake, pd_range_kind kind, const char *name, uint32_t thread, int64_t start_ns,
                     int64_t end_ns) {
  const uint32_t id = fake_string(fake, name);
  pd_range *row = rows_add(fake, &fake->ranges);
  row->kind = (uint8_t)kind;
  row->name = id;
  row->thread = thread;
  row->start_ns = start_ns;
  row->end_ns = end_ns;
  row->stack = PD_NONE;
  row->shape_first = (uint32_t)fake->shapes.count;
  return row;
}

void fake_shape(fake_trace *fake, uint32_t dtype, uint32_t rank, const int64_t *dims) {
  pd_range *range = rows_at(&fake->ranges, fake->ranges.count - 1);
  pd_shape *row = rows_add(fake, &fake->shapes);
  row->dtype = dtype;
  row->rank = rank;
  memcpy(row->dims, dims, rank * sizeof *dims);
  range->shape_count++;
}

pd_call *fake_call(fake_trace *fake, pd_api_class api, const char *name, uint32_t thread, int64_t start_ns,
                   int64_t end_ns, uint64_t correlation) {
  const uint32_t id = fake_string(fake, name);
  pd_call *row = rows_add(fake, &fake->calls);
  row->kind = PD_ACTIVITY_RUNTIME;
  row->api = api;
  row->name = id;
  row->thread = thread;
  row->start_ns = start_ns;
  row->end_ns = end_ns;
  row->correlation = correlation;
  row->cbid = api == PD_API_LAUNCH ? 211 : api == PD_API_MEMCPY ? 41 : api == PD_API_SYNC ? 131 : 51;
  return row;
}

static pd_device_row *add_activity(fake_trace *fake, pd_activity_kind kind, const char *name, uint32_t stream,
                                   int64_t start_ns, int64_t end_ns, uint64_t correlation) {
  const uint32_t id = fake_string(fake, name);
  pd_device_row *row = rows_add(fake, &fake->activities);
  const pd_stream_row *at = rows_at(&fake->streams, stream);
  row->name = row->detail.name = id;
  row->stream = stream;
  row->start_ns = row->detail.start = start_ns;
  row->end_ns = row->detail.end = end_ns;
  row->detail.kind = kind;
  row->detail.correlation = correlation;
  row->detail.device = at->device;
  row->detail.context = at->context;
  row->detail.stream = at->stream;
  return row;
}

pd_device_row *fake_kernel(fake_trace *fake, const char *name, uint32_t stream, int64_t start_ns, int64_t end_ns,
                           uint64_t correlation) {
  pd_device_row *row = add_activity(fake, PD_ACTIVITY_KERNEL, name, stream, start_ns, end_ns, correlation);
  for (int i = 0; i < 3; i++) row->detail.u.kernel.grid[i] = row->detail.u.kernel.block[i] = 1;
  row->detail.u.kernel.grid[0] = 63;
  row->detail.u.kernel.block[0] = 128;
  row->detail.u.kernel.registers = 16;
  row->detail.u.kernel.blocks_per_sm = 63.0f / 132.0f;
  row->detail.u.kernel.warps_per_sm = 4 * row->detail.u.kernel.blocks_per_sm;
  row->detail.u.kernel.occupancy = 63.0f / 132.0f * 128.0f / 2048.0f;
  row->detail.u.kernel.waves = 63.0f / (132.0f * 16.0f);
  row->detail.u.kernel.active_blocks = 16;
  return row;
}

void fake_kernel_fills(pd_device_row *row, float blocks_per_sm, float warps_per_sm) {
  row->detail.u.kernel.blocks_per_sm = blocks_per_sm;
  row->detail.u.kernel.warps_per_sm = warps_per_sm;
  row->detail.u.kernel.block[0] = blocks_per_sm > 0 ? (uint32_t)(32 * warps_per_sm / blocks_per_sm + 0.5F) : 0;
}

pd_device_row *fake_copy(fake_trace *fake, pd_memory_kind from, pd_memory_kind to, uint64_t bytes, uint32_t stream,
                         int64_t start_ns, int64_t end_ns, uint64_t correlation) {
  static const char *const names[] = {"Unknown", "Pageable", "Pinned", "Device", "Array", "Managed"};
  char name[64];
  snprintf(name, sizeof name, "Memcpy %c%s%c (%s -> %s)", from == PD_MEMORY_DEVICE ? 'D' : 'H', "to",
           to == PD_MEMORY_DEVICE ? 'D' : 'H', names[from], names[to]);
  pd_device_row *row = add_activity(fake, PD_ACTIVITY_MEMCPY, name, stream, start_ns, end_ns, correlation);
  row->detail.bytes = bytes;
  row->detail.u.copy.from = from;
  row->detail.u.copy.to = to;
  return row;
}

pd_device_row *fake_set(fake_trace *fake, uint64_t bytes, uint32_t stream, int64_t start_ns, int64_t end_ns,
                        uint64_t correlation) {
  pd_device_row *row = add_activity(fake, PD_ACTIVITY_MEMSET, "Memset (Device)", stream, start_ns, end_ns, correlation);
  row->detail.bytes = bytes;
  row->detail.u.copy.to = PD_MEMORY_DEVICE;
  return row;
}

pd_other_row *fake_other(fake_trace *fake, pd_activity_kind kind, const char *name, uint32_t stream, int64_t start_ns,
                         int64_t end_ns) {
  const uint32_t id = fake_string(fake, name);
  pd_other_row *row = rows_add(fake, &fake->others);
  *row = (pd_other_row){start_ns, end_ns, id, kind, PD_NONE, stream, 0, 0, 1, 0};
  if (stream != PD_NONE) {
    const pd_stream_row *at = rows_at(&fake->streams, stream);
    row->device = at->device;
    row->context = at->context;
  }
  return row;
}

pd_memory_row *fake_memory(fake_trace *fake, uint32_t thread, int64_t ts_ns, uint64_t address, int64_t bytes,
                           uint64_t allocated, uint64_t reserved) {
  pd_memory_row *row = rows_add(fake, &fake->memory);
  row->ts_ns = ts_ns;
  row->thread = thread;
  row->duration_ns = 100;
  row->event.address = address;
  row->event.bytes = bytes;
  row->event.total_allocated = allocated;
  row->event.total_reserved = reserved;
  row->event.device_type = 1;
  row->event.allocator = PD_ALLOCATOR_CACHED;
  return row;
}

void fake_counter(fake_trace *fake, const char *name, int64_t ts_ns, double value) {
  const uint32_t id = fake_string(fake, name);
  pd_counter_row *row = rows_add(fake, &fake->counters);
  *row = (pd_counter_row){ts_ns, value, id, 0};
}

/* ---- finish ---- */

static int by_number(int64_t a, int64_t b) { return (a > b) - (a < b); }

static int compare_ranges(const void *a, const void *b) {
  const pd_range *x = a, *y = b;
  if (x->thread != y->thread) return by_number(x->thread, y->thread);
  if (x->start_ns != y->start_ns) return by_number(x->start_ns, y->start_ns);
  if (x->end_ns != y->end_ns) return by_number(y->end_ns, x->end_ns);
  return by_number(x->kind == PD_RANGE_OP_INNER, y->kind == PD_RANGE_OP_INNER);
}
static int compare_starts(const void *a, const void *b) { /* calls, activities and others begin with their start */
  int64_t x, y;
  memcpy(&x, a, sizeof x);
  memcpy(&y, b, sizeof y);
  return by_number(x, y);
}

static void sort(row_list *rows, int (*compare)(const void *, const void *)) {
  if (rows->count) qsort(rows->data, rows->count, rows->stride, compare);
}

static uint32_t step_at(const fake_trace *fake, int64_t ts_ns) {
  for (uint64_t i = 0; i < fake->steps.count; i++) {
    const pd_trace_step *step = rows_at(&fake->steps, i);
    if (ts_ns >= step->start_ns && ts_ns < step->end_ns) return (uint32_t)i;
  }
  return PD_NONE;
}

/* Innermost range of `thread` that holds [start, end]; operations before others unless `any`. */
static uint32_t range_at(const fake_trace *fake, uint32_t thread, int64_t start_ns, int64_t end_ns, bool any) {
  uint32_t user = PD_NONE, op = PD_NONE;
  for (uint64_t i = 0; i < fake->ranges.count; i++) {
    const pd_range *range = rows_at(&fake->ranges, i);
    if (range->thread != thread || range->start_ns > start_ns || range->end_ns < end_ns) continue;
    if (any || range->kind == PD_RANGE_OP || range->kind == PD_RANGE_OP_INNER)
      op = (uint32_t)i;
    else if (range->kind != PD_RANGE_MODULE)
      user = (uint32_t)i;
  }
  return op != PD_NONE ? op : user;
}

static void nest(fake_trace *fake) {
  for (uint64_t i = 0; i < fake->ranges.count; i++) {
    pd_range *range = rows_at(&fake->ranges, i);
    range->parent = PD_NONE;
    range->step = step_at(fake, range->start_ns);
    for (uint64_t k = i; k-- > 0;) {
      const pd_range *before = rows_at(&fake->ranges, k);
      if (before->thread != range->thread) break;
      if (before->end_ns < range->end_ns) continue;
      range->parent = (uint32_t)k;
      range->depth = before->depth + 1;
      if (!range->part) range->part = before->part;
      break;
    }
  }
}

static void tie(fake_trace *fake) {
  for (uint64_t i = 0; i < fake->calls.count; i++) {
    pd_call *call = rows_at(&fake->calls, i);
    call->step = step_at(fake, call->start_ns);
    call->range = range_at(fake, call->thread, call->start_ns, call->end_ns, false);
  }
  for (uint64_t k = 0; k < fake->activities.count; k++) {
    pd_device_row *row = rows_at(&fake->activities, k);
    row->call = row->range = row->step = PD_NONE;
  }
  for (uint64_t i = 0; i < fake->calls.count; i++) {
    pd_call *call = rows_at(&fake->calls, i);
    call->activity_first = (uint32_t)fake->by_call.count;
    for (uint64_t k = 0; k < fake->activities.count; k++) {
      pd_device_row *row = rows_at(&fake->activities, k);
      if (row->detail.correlation != call->correlation) continue;
      row->call = (uint32_t)i;
      row->range = call->range;
      row->step = call->step;
      *(uint32_t *)rows_add(fake, &fake->by_call) = (uint32_t)k;
      call->activity_count++;
    }
    if (call->step == PD_NONE || call->result) continue;
    pd_trace_step *step = rows_at(&fake->steps, call->step);
    step->device_rows += call->activity_count;
    if (call->api < PD_API_LAUNCH || call->api > PD_API_GRAPH_LAUNCH) continue;
    step->launches++;
    step->matched += call->activity_count > 0;
  }
  for (uint64_t k = 0; k < fake->activities.count; k++)
    fake->trace.losses[PD_LOSS_UNMATCHED_ACTIVITY] += ((pd_device_row *)rows_at(&fake->activities, k))->call == PD_NONE;
  for (uint64_t i = 0; i < fake->memory.count; i++) {
    pd_memory_row *row = rows_at(&fake->memory, i);
    row->step = step_at(fake, row->ts_ns);
    row->range = range_at(fake, row->thread, row->ts_ns, row->ts_ns, true);
  }
}

static pd_array array_of(const row_list *rows) { return (pd_array){rows->data, rows->count, rows->stride}; }

pd_trace *fake_trace_finish(fake_trace *fake) {
  pd_trace *trace = &fake->trace;
  sort(&fake->ranges, compare_ranges);
  sort(&fake->calls, compare_starts);
  sort(&fake->activities, compare_starts);
  sort(&fake->others, compare_starts);
  sort(&fake->memory, compare_starts);
  sort(&fake->counters, compare_starts);
  nest(fake);
  tie(fake);
  if (fake->failed) return NULL;
  trace->size = sizeof *trace;
  trace->base_ns = INT64_C(1790857026000000000);
  trace->pid = 4242;
  trace->profile = PD_PROFILE_FULL;
  trace->sync_timing = 1;
  trace->origin = "pdhost";
  trace->facts = PD_FACT_CALLS | PD_FACT_OPERATIONS | PD_FACT_STEPS | PD_FACT_INPUT | PD_FACT_PARTS | PD_FACT_MEMORY |
                 PD_FACT_TRAIN | PD_FACT_LOSSES;
  trace->device = fake_device();
  if (fake->steps.count) {
    trace->start_ns = ((pd_trace_step *)rows_at(&fake->steps, 0))->start_ns;
    trace->end_ns = ((pd_trace_step *)rows_at(&fake->steps, fake->steps.count - 1))->end_ns;
  }
  trace->strings = array_of(&fake->strings);
  trace->threads = array_of(&fake->threads);
  trace->streams = array_of(&fake->streams);
  trace->ranges = array_of(&fake->ranges);
  trace->calls = array_of(&fake->calls);
  trace->activities = array_of(&fake->activities);
  trace->activities_by_call = array_of(&fake->by_call);
  trace->others = array_of(&fake->others);
  trace->memory = array_of(&fake->memory);
  trace->counters = array_of(&fake->counters);
  trace->steps = array_of(&fake->steps);
  trace->shapes = array_of(&fake->shapes);
  trace->stacks = (pd_array){NULL, 0, sizeof(pd_stack)};
  return trace;
}
