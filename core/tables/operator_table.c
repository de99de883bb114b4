/*
 * The operator table of torch's key_averages(): ranges and runtime calls merged by name, on request also by input
 * shapes or by the innermost stack frames. Kernels and copies, which torch puts between them, have tables of their own,
 * so that no column adds up to twice its total.
 *
 * A name that recurs inside itself counts its outermost span once in the totals; every occurrence counts as a call.
 */
#include "devices.h"
#include "shape_text.h"
#include "tables.h"
#include "facts/groups.h"

#include <pdhost/array.h>
#include <pdhost/quantity.h>

#include <stdlib.h>
#include <string.h>

/* Threads that the note names. */
enum { THREADS_NAMED = 4 };

/* What may share a row. */
enum { CLASS_OPERATION = 0, CLASS_USER = 1, CLASS_CALL = 2, CLASS_COUNT = 3 };

typedef struct row {
  int64_t calls, self_cpu_ns, cpu_ns, self_device_ns, device_ns, flops;
  facts_memory memory;
  uint32_t open; /* ranges of this row that hold the range in hand */
  uint32_t class_;
  uint32_t sample; /* the first range or call of the row */
  uint32_t top_level;
  uint32_t module;    /* string id: the module of all its ranges */
  uint32_t scattered; /* 1: they have not all the same one */
} row;

typedef struct build {
  const table_work *work;
  row *rows;
  uint32_t count, room;
  uint32_t *by_name[CLASS_COUNT]; /* row + 1, where nothing but the name counts */
  key_groups keys;                /* name and class, with shapes and stack */
  uint32_t *by_key;               /* row + 1 */
  uint32_t by_key_room, reserved;
  key_groups parts; /* shapes and stacks as a trie: equal ones have equal ids */
} build;

static uint32_t new_row(build *self, uint32_t class_, uint32_t sample) {
  if (!PD_ARRAY_FIT(self->rows, self->room, self->count + 1)) return PD_NONE;
  self->rows[self->count] = (row){.class_ = class_, .sample = sample};
  return self->count++;
}

/* The slot of a group key, 0 where it has no row yet. */
static uint32_t *key_slot(build *self, uint32_t class_, uint32_t name, uint32_t extra) {
  uint32_t key = groups_index(&self->keys, (uint64_t)class_ << 32 | name, extra);
  if (key == UINT32_MAX) return NULL;
  if (!PD_ARRAY_FIT_ZERO(self->by_key, self->by_key_room, key + 1)) return NULL;
  return &self->by_key[key];
}

/* PD_NONE on no memory. */
static uint32_t find_row(build *self, uint32_t class_, uint32_t name, uint32_t extra, uint32_t sample) {
  uint32_t *slot, index;
  if (name >= self->work->facts->trace->strings.count) name = 0;
  slot = extra ? key_slot(self, class_, name, extra) : &self->by_name[class_][name];
  if (!slot) return PD_NONE;
  if (*slot) return *slot - 1;
  index = new_row(self, class_, sample);
  if (index != PD_NONE) *slot = index + 1;
  return index;
}

/* The id of the range's shapes and stack as far as the request groups by them, 0 where it does not. */
static bool extra_key(build *self, const pd_range *range, uint32_t *extra) {
  const pd_trace *trace = self->work->facts->trace;
  const pd_table_request *request = self->work->request;
  uint64_t id = 0;
  *extra = 0;
  if (request->group_by_input_shape) {
    for (uint32_t s = 0; s < range->shape_count; s++) {
      const pd_shape *shape = PD_AT(pd_shape, &trace->shapes, range->shape_first + s);
      uint32_t rank = shape->rank < 4 ? shape->rank : 4, next;
      next = groups_index(&self->parts, id << 32 | 1, (uint64_t)shape->dtype << 32 | rank);
      for (uint32_t d = 0; next != UINT32_MAX && d < rank; d++)
        next = groups_index(&self->parts, ((uint64_t)next + 1) << 32 | 2, (uint64_t)shape->dims[d]);
      if (next == UINT32_MAX) return false;
      id = (uint64_t)next + 1;
    }
  }
  if (request->group_by_stack_n && range->stack < trace->stacks.count) {
    const pd_stack *stack = PD_AT(pd_stack, &trace->stacks, range->stack);
    for (uint32_t f = 0; f < request->group_by_stack_n && f < stack->count; f++) {
      uint32_t next = groups_index(&self->parts, id << 32 | 3, stack->frames[stack->count - 1 - f]);
      if (next == UINT32_MAX) return false;
      id = (uint64_t)next + 1;
    }
  }
  *extra = (uint32_t)id;
  return true;
}

static bool add_ranges(build *self) {
  const trace_facts *facts = self->work->facts;
  const bool grouped = self->work->request->group_by_input_shape || self->work->request->group_by_stack_n;
  struct {
    uint32_t range, row;
  } * stack;
  const uint32_t deepest = facts->deepest;
  size_t depth = 0;
  stack = malloc(((size_t)deepest + 2) * sizeof *stack);
  if (!stack) return false;
  for (uint64_t i = 0; i < facts->range_count; i++) {
    const pd_range *range = facts_range(facts, i);
    bool operation = range->kind == PD_RANGE_OP || range->kind == PD_RANGE_OP_INNER;
    uint32_t extra = 0, index;
    row *at;
    while (depth && stack[depth - 1].range != range->parent) self->rows[stack[--depth].row].open--;
    if (grouped && operation && !extra_key(self, range, &extra)) goto out;
    /* All steps share a row. */
    index = find_row(self, operation ? CLASS_OPERATION : CLASS_USER, range->kind == PD_RANGE_STEP ? 0 : range->name,
                     extra, (uint32_t)i);
    if (index == PD_NONE || !self->rows) goto out;
    at = &self->rows[index];
    if (!at->calls++) at->module = range->module;
    at->scattered |= at->module != range->module;
    at->self_cpu_ns += facts->range_self_ns[i];
    at->self_device_ns += facts->device_self_ns[i];
    at->flops += (int64_t)range->flops;
    at->top_level |= range->parent == PD_NONE;
    if (!at->open) {
      at->cpu_ns += facts_span(range->start_ns, range->end_ns);
      at->device_ns += facts->device_total_ns[i];
    }
    for (int type = 0; facts->memory && type < 2; type++) {
      at->memory.self_bytes[type] += facts->memory[i].self_bytes[type];
      if (!at->open) at->memory.bytes[type] += facts->memory[i].bytes[type];
    }
    at->open++;
    if (depth <= deepest) {
      stack[depth].range = (uint32_t)i;
      stack[depth++].row = index;
    }
  }
  free(stack);
  return true;
out:
  free(stack);
  return false;
}

static bool add_calls(build *self) {
  const trace_facts *facts = self->work->facts;
  for (uint64_t i = 0; i < facts->call_count; i++) {
    const pd_call *call = facts_call(facts, i);
    uint32_t index = find_row(self, CLASS_CALL, call->name, 0, (uint32_t)i);
    if (index == PD_NONE || !self->rows) return false;
    self->rows[index].calls++;
    self->rows[index].self_cpu_ns += facts->call_self_ns[i];
    self->rows[index].cpu_ns += facts_span(call->start_ns, call->end_ns);
    self->rows[index].top_level |= call->range == PD_NONE;
  }
  return true;
}

/* ---- order ------------------------------------------------------------------------------------------------- */

typedef enum sort_key {
  SORT_SELF_DEVICE,
  SORT_CPU_AVG,
  SORT_DEVICE_AVG,
  SORT_CPU,
  SORT_DEVICE,
  SORT_SELF_CPU,
  SORT_CPU_BYTES,
  SORT_DEVICE_BYTES,
  SORT_SELF_CPU_BYTES,
  SORT_SELF_DEVICE_BYTES,
  SORT_COUNT
} sort_key;

static sort_key sort_key_of(const char *name) {
  static const struct {
    const char *name;
    sort_key key;
  } names[] = {{"cpu_time", SORT_CPU_AVG},
               {"cuda_time", SORT_DEVICE_AVG},
               {"device_time", SORT_DEVICE_AVG},
               {"cpu_time_total", SORT_CPU},
               {"cuda_time_total", SORT_DEVICE},
               {"device_time_total", SORT_DEVICE},
               {"self_cpu_time_total", SORT_SELF_CPU},
               {"cpu_memory_usage", SORT_CPU_BYTES},
               {"cuda_memory_usage", SORT_DEVICE_BYTES},
               {"device_memory_usage", SORT_DEVICE_BYTES},
               {"self_cpu_memory_usage", SORT_SELF_CPU_BYTES},
               {"self_cuda_memory_usage", SORT_SELF_DEVICE_BYTES},
               {"self_device_memory_usage", SORT_SELF_DEVICE_BYTES},
               {"count", SORT_COUNT}};
  for (size_t i = 0; name && i < sizeof names / sizeof names[0]; i++)
    if (!strcmp(names[i].name, name)) return names[i].key;
  return SORT_SELF_DEVICE;
}

typedef struct ordered {
  double value;
  uint32_t row, reserved;
} ordered;

static double sort_value(const row *at, sort_key key) {
  switch (key) {
  case SORT_CPU_AVG: return (double)at->cpu_ns / (double)at->calls;
  case SORT_DEVICE_AVG: return (double)at->device_ns / (double)at->calls;
  case SORT_CPU: return (double)at->cpu_ns;
  case SORT_DEVICE: return (double)at->device_ns;
  case SORT_SELF_CPU: return (double)at->self_cpu_ns;
  case SORT_CPU_BYTES: return (double)at->memory.bytes[0];
  case SORT_DEVICE_BYTES: return (double)at->memory.bytes[1];
  case SORT_SELF_CPU_BYTES: return (double)at->memory.self_bytes[0];
  case SORT_SELF_DEVICE_BYTES: return (double)at->memory.self_bytes[1];
  case SORT_COUNT: return (double)at->calls;
  case SORT_SELF_DEVICE: break;
  }
  return (double)at->self_device_ns;
}

/* Largest first; equal ones in the order of their first appearance. */
static int by_value(const void *a, const void *b) {
  const ordered *x = a, *y = b;
  if (x->value < y->value || x->value > y->value) return x->value > y->value ? -1 : 1;
  return (x->row > y->row) - (x->row < y->row);
}

/* ---- the table --------------------------------------------------------------------------------------------- */

static const char *source_text(const table_work *work, const pd_range *range) {
  const pd_trace *trace = work->facts->trace;
  const char *text = "";
  if (range->stack >= trace->stacks.count) return text;
  const pd_stack *stack = PD_AT(pd_stack, &trace->stacks, range->stack);
  for (uint32_t f = 0; text && f < work->request->group_by_stack_n && f < stack->count; f++)
    text = arena_format(work->arena, "%s%s%s", text, f ? "; " : "",
                        facts_text(work->facts, stack->frames[stack->count - 1 - f]));
  return text;
}

static void name_row(table_build *table, const table_work *work, const row *at) {
  const trace_facts *facts = work->facts;
  if (at->class_ == CLASS_CALL) {
    table_string(table, M_name, facts_text(facts, facts_call(facts, at->sample)->name));
    table_string(table, M_kind, "runtime");
  } else {
    const pd_range *range = facts_range(facts, at->sample);
    table_string(table, M_name, range->kind == PD_RANGE_STEP ? "ProfilerStep*" : facts_text(facts, range->name));
    table_string(table, M_kind, at->class_ == CLASS_OPERATION ? "op" : "user");
    if (work->request->group_by_input_shape)
      table_string(table, M_input_shapes,
                   at->class_ == CLASS_OPERATION ? shapes_text(work->facts->trace, range, work->arena) : "");
    if (work->request->group_by_stack_n) table_string(table, M_source_location, source_text(work, range));
    if (at->module && !at->scattered) table_string(table, M_operator_module, facts_text(facts, at->module));
  }
}

static void emit_row(table_build *table, const table_work *work, const row *at) {
  const trace_facts *facts = work->facts;
  bool known = facts->trace->profile == PD_PROFILE_FULL;
  table_row(table, 0);
  name_row(table, work, at);
  table_int(table, M_count, at->calls);
  table_int(table, M_self_cpu_time_total, at->self_cpu_ns);
  table_percent(table, M_self_cpu_percent, at->self_cpu_ns, facts->self_cpu_ns);
  table_int(table, M_cpu_time_total, at->cpu_ns);
  table_percent(table, M_cpu_total_percent, at->cpu_ns, facts->self_cpu_ns);
  table_int(table, M_cpu_time, at->cpu_ns / at->calls);
  if (known && at->class_ != CLASS_CALL) {
    table_int(table, M_self_device_time_total, at->self_device_ns);
    table_percent(table, M_self_device_percent, at->self_device_ns, facts->device_ns);
    table_int(table, M_device_time_total, at->device_ns);
    table_int(table, M_device_time, at->device_ns / at->calls);
  }
  if (at->class_ == CLASS_OPERATION || at->class_ == CLASS_USER) {
    table_int(table, M_cpu_memory_usage, at->memory.bytes[0]);
    table_int(table, M_self_cpu_memory_usage, at->memory.self_bytes[0]);
    table_int(table, M_device_memory_usage, at->memory.bytes[1]);
    table_int(table, M_self_device_memory_usage, at->memory.self_bytes[1]);
  }
  if (at->class_ == CLASS_OPERATION) table_int(table, M_flops, at->flops);
}

/* Why Self CPU may add up to more than the window lasts: which threads are in it. */
static void note_threads(table_build *table, const table_work *work) {
  const trace_facts *facts = work->facts;
  const uint64_t all = facts->trace->threads.count;
  bool *seen = arena_take(work->arena, (all + 1) * sizeof *seen);
  const char *names = "";
  uint64_t count = 0;
  for (uint64_t i = 0; seen && i < facts->range_count; i++) {
    const uint32_t thread = facts_range(facts, i)->thread;
    if (thread >= all || seen[thread]) continue;
    seen[thread] = true;
    if (++count <= THREADS_NAMED)
      names = arena_format(work->arena, "%s%s%s", names, count > 1 ? ", " : "",
                           facts_text(facts, PD_AT(pd_thread, &facts->trace->threads, thread)->name));
  }
  if (count < 2) return;
  char lasted[32];
  pd_text_time(lasted, sizeof lasted, (double)(facts->trace->end_ns - facts->trace->start_ns));
  table_note(table, arena_format(work->arena, "Self CPU adds up over %llu threads (%s%s); the window lasts %s.",
                                 (unsigned long long)count, names, count > THREADS_NAMED ? " and more" : "", lasted));
}

static void note_devices(table_build *table, const table_work *work) {
  uint32_t devices[DEVICES_MOST];
  const uint32_t count = devices_list(work, devices);
  if (count > 1)
    table_note(table, arena_format(work->arena, "%s columns add up over %u devices.", work->is_cuda ? "CUDA" : "Device",
                                   count));
}

static const pd_table *emit(const build *self) {
  const table_work *work = self->work;
  const trace_facts *facts = work->facts;
  sort_key key = sort_key_of(work->request->sort_by);
  ordered *order = arena_take(work->arena, (self->count + 1) * sizeof *order);
  uint32_t kept = 0;
  table_build table;
  if (!order) return NULL;
  table_begin(
      &table, work->arena, work->is_cuda, "operators", "Operator table",
      arena_format(work->arena,
                   "%s columns are sums over what was launched within the row's ranges%s; kernels and copies have "
                   "tables of their own: kernels, memcpy.",
                   work->is_cuda ? "CUDA" : "Device",
                   facts->trace->streams.count > 1 ? ": ranges that span streams may exceed their wall time" : ""));
  note_threads(&table, work);
  note_devices(&table, work);
  if (facts->trace->profile != PD_PROFILE_FULL) table_without_device(&table, facts->trace->profile_note);
  if (work->request->group_by_input_shape && !facts->trace->shapes.count)
    table_note(&table, "No shapes were recorded to group by: profile.record_shapes = true records them.");
  if (work->request->group_by_stack_n && !facts->trace->stacks.count)
    table_note(&table, facts->trace->facts & PD_FACT_FRAMES_SKIPPED
                           ? "There are no stacks to group by: --no-python skipped them."
                           : "No stacks were recorded to group by: profile.with_stack = true records them.");
  TABLE_COLUMNS(&table, M_name, M_kind, M_self_cpu_percent, M_self_cpu_time_total, M_cpu_total_percent,
                M_cpu_time_total, M_cpu_time, M_self_device_time_total, M_self_device_percent, M_device_time_total,
                M_device_time);
  if (facts->memory)
    TABLE_COLUMNS(&table, M_cpu_memory_usage, M_self_cpu_memory_usage, M_device_memory_usage,
                  M_self_device_memory_usage);
  if (work->context->with_modules) table_column(&table, M_operator_module);
  table_column(&table, M_count);
  if (work->request->group_by_input_shape) table_column(&table, M_input_shapes);
  if (work->request->group_by_stack_n) table_column(&table, M_source_location);
  if (work->context->with_flops) table_column(&table, M_flops);
  for (uint32_t i = 0; i < self->count; i++)
    if (!work->request->top_level_events_only || self->rows[i].top_level)
      order[kept++] = (ordered){.value = sort_value(&self->rows[i], key), .row = i};
  qsort(order, kept, sizeof *order, by_value);
  for (uint32_t i = 0; i < kept; i++) emit_row(&table, work, &self->rows[order[i].row]);
  table_footer(&table, "Total");
  table_int(&table, M_self_cpu_time_total, facts->self_cpu_ns);
  if (facts->trace->profile == PD_PROFILE_FULL) table_int(&table, M_self_device_time_total, facts->device_ns);
  return table_done(&table);
}

const pd_table *operator_table(const table_work *work) {
  build self = {.work = work};
  const pd_table *table = NULL;
  bool ok = true;
  for (int i = 0; i < CLASS_COUNT; i++) {
    self.by_name[i] = calloc(work->facts->trace->strings.count + 1, sizeof *self.by_name[i]);
    ok = ok && self.by_name[i];
  }
  if (ok && add_ranges(&self) && add_calls(&self)) table = emit(&self);
  for (int i = 0; i < CLASS_COUNT; i++) free(self.by_name[i]);
  free(self.by_key);
  free(self.rows);
  groups_free(&self.keys);
  groups_free(&self.parts);
  return table;
}
