/* See facts.h. */
#include "facts.h"

#include "trace/trace_memory.h"

#include <pdhost/array.h>

#include <stdlib.h>
#include <string.h>

/* An open range or call of the sweep over one thread. */
typedef struct open_node {
  int64_t end, cursor; /* cursor: up to here its children have been taken off its self time */
  int64_t *self;
  uint64_t is_call;
} open_node;

typedef struct thread_sweep {
  open_node *stack;
  size_t depth, room;
} thread_sweep;

static bool is_communication(const char *name) {
  return !strncmp(name, "nccl", 4) || !strncmp(name, "gloo:", 5) || !strncmp(name, "mpi:", 4) ||
         !strncmp(name, "tcp:", 4) || strstr(name, "ncclKernel") || strstr(name, "ncclDevKernel");
}

/* Closes what ended before `start`. A call that goes on, but not as long as what begins now, is cut short there: calls
 * may stick out by the error of the clocks, and what begins then is no child of theirs. */
static void close_ended(thread_sweep *sweep, int64_t start, int64_t end) {
  while (sweep->depth) {
    open_node *top = &sweep->stack[sweep->depth - 1];
    if (top->end > start) {
      if (!top->is_call || top->end >= end) return;
      *top->self -= top->end - (start > top->cursor ? start : top->cursor);
    }
    sweep->depth--;
  }
}

static bool visit(thread_sweep *sweep, int64_t start, int64_t end, int64_t *self, bool is_call) {
  int64_t from = start;
  if (end < start) end = start;
  close_ended(sweep, start, end);
  *self = end - start;
  /* Its time is no longer its parent's own, and where it sticks out of that, no longer the next one's. */
  for (size_t d = sweep->depth; d--;) {
    open_node *node = &sweep->stack[d];
    int64_t to = end < node->end ? end : node->end;
    if (from < node->cursor) from = node->cursor;
    if (to > from) {
      *node->self -= to - from;
      node->cursor = from = to;
    }
    if (end <= node->end) break;
  }
  if (!PD_ARRAY_FIT(sweep->stack, sweep->room, sweep->depth + 1)) return false;
  sweep->stack[sweep->depth++] = (open_node){.end = end, .cursor = start, .self = self, .is_call = is_call};
  return true;
}

/* Calls grouped by thread, by start within a thread: a counting sort of their indices. `first` has one more row than
 * there are threads. */
static void group_calls(const trace_facts *self, uint32_t *order, uint64_t *first, uint64_t threads) {
  for (uint64_t i = 0; i < self->call_count; i++) {
    uint32_t thread = facts_call(self, i)->thread;
    first[(thread < threads ? thread : threads - 1) + 1]++;
  }
  for (uint64_t t = 0; t < threads; t++) first[t + 1] += first[t];
  for (uint64_t i = self->call_count; i--;) {
    uint32_t thread = facts_call(self, i)->thread;
    order[--first[(thread < threads ? thread : threads - 1) + 1]] = (uint32_t)i;
  }
  for (uint64_t t = 0; t < threads; t++) first[t] = first[t + 1];
  first[threads] = self->call_count;
}

static bool sweep_threads(trace_facts *self) {
  const pd_trace *trace = self->trace;
  uint64_t threads = trace->threads.count + 1, r = 0;
  uint32_t *order = malloc((self->call_count + 1) * sizeof *order);
  uint64_t *first = calloc(threads + 1, sizeof *first);
  thread_sweep sweep = {0};
  bool ok = order && first;
  if (ok) group_calls(self, order, first, threads);
  for (uint64_t t = 0; ok && t < threads; t++) {
    uint64_t c = first[t], call_end = first[t + 1];
    sweep.depth = 0;
    while (ok) {
      const pd_range *range = r < self->range_count ? facts_range(self, r) : NULL;
      const pd_call *call = c < call_end ? facts_call(self, order[c]) : NULL;
      if (range && range->thread != t && t + 1 < threads) range = NULL;
      if (range && (!call || range->start_ns < call->start_ns ||
                    (range->start_ns == call->start_ns && range->end_ns >= call->end_ns))) {
        ok = visit(&sweep, range->start_ns, range->end_ns, &self->range_self_ns[r], false);
        r++;
      } else if (call) {
        ok = visit(&sweep, call->start_ns, call->end_ns, &self->call_self_ns[order[c]], true);
        c++;
      } else {
        break;
      }
    }
  }
  free(sweep.stack);
  free(order);
  free(first);
  return ok;
}

/* What is no thread's takes no time of a processor. */
static void drop_spans(trace_facts *self) {
  for (uint64_t i = 0; i < self->range_count; i++) {
    const uint32_t thread = facts_range(self, i)->thread;
    if (thread >= self->trace->threads.count) continue;
    if (PD_AT(pd_thread, &self->trace->threads, thread)->tid >= PD_THREAD_SPANS) self->range_self_ns[i] = 0;
  }
}

static void add_device(trace_facts *self) {
  for (uint64_t i = 0; i < self->activity_count; i++) {
    const pd_device_row *row = facts_activity(self, i);
    int64_t span = facts_span(row->start_ns, row->end_ns);
    self->device_ns += span;
    if (row->range < self->range_count) self->device_self_ns[row->range] += span;
  }
  memcpy(self->device_total_ns, self->device_self_ns, self->range_count * sizeof *self->device_total_ns);
  /* A parent comes before its children. */
  for (uint64_t i = self->range_count; i--;) {
    uint32_t parent = facts_range(self, i)->parent;
    if (parent < i) self->device_total_ns[parent] += self->device_total_ns[i];
  }
}

/* Stops at the ends of the type. */
static void add_bytes(int64_t *sum, int64_t bytes) {
  if (__builtin_add_overflow(*sum, bytes, sum)) *sum = bytes > 0 ? INT64_MAX : INT64_MIN;
}

static void add_memory(trace_facts *self) {
  const pd_trace *trace = self->trace;
  for (uint64_t i = 0; i < trace->memory.count; i++) {
    const pd_memory_row *row = PD_AT(pd_memory_row, &trace->memory, i);
    if (row->range < self->range_count)
      add_bytes(&self->memory[row->range].self_bytes[row->event.device_type != 0], row->event.bytes);
  }
  for (uint64_t i = 0; i < self->range_count; i++)
    memcpy(self->memory[i].bytes, self->memory[i].self_bytes, sizeof self->memory[i].bytes);
  for (uint64_t i = self->range_count; i--;) {
    uint32_t parent = facts_range(self, i)->parent;
    if (parent >= i) continue;
    for (int type = 0; type < 2; type++) add_bytes(&self->memory[parent].bytes[type], self->memory[i].bytes[type]);
  }
}

static void find_operations(trace_facts *self) {
  for (uint64_t i = 0; i < self->range_count; i++) {
    const pd_range *range = facts_range(self, i);
    uint32_t parent = range->parent < i ? range->parent : PD_NONE;
    self->operation[i] = self->inner[i] = PD_NONE;
    if (range->depth > self->deepest) self->deepest = range->depth;
    if (parent != PD_NONE && self->operation[parent] != PD_NONE) {
      self->operation[i] = self->operation[parent];
      self->inner[i] = self->inner[parent] != PD_NONE ? self->inner[parent] : (uint32_t)i;
    } else if (facts_is_operation(range->kind)) {
      self->operation[i] = (uint32_t)i;
    }
  }
}

/* One block for all columns: large ones lie in huge pages, where the first touch of each costs less. */
static bool take_columns(trace_facts *self) {
  const uint64_t ranges = self->range_count, calls = self->call_count;
  const size_t per_range =
      3 * sizeof(int64_t) + 2 * sizeof(uint32_t) + (self->trace->memory.count ? sizeof *self->memory : 0);
  const size_t bytes = ranges * per_range + calls * sizeof(int64_t);
  char *at = self->columns = trace_scratch_alloc(bytes, 1);
  if (!at) return false;
  memset(at, 0, bytes);
  self->range_self_ns = (int64_t *)(void *)at;
  self->device_self_ns = self->range_self_ns + ranges;
  self->device_total_ns = self->device_self_ns + ranges;
  self->call_self_ns = self->device_total_ns + ranges;
  at = (char *)(self->call_self_ns + calls);
  if (self->trace->memory.count) {
    self->memory = (facts_memory *)(void *)at;
    at = (char *)(self->memory + ranges);
  }
  self->operation = (uint32_t *)(void *)at;
  self->inner = self->operation + ranges;
  return true;
}

trace_facts *facts_open_bare(const pd_trace *trace) {
  trace_facts *self = calloc(1, sizeof *self);
  if (!self) return NULL;
  self->trace = trace;
  self->range_count = trace->ranges.count;
  self->call_count = trace->calls.count;
  self->activity_count = trace->activities.count;
  self->step_count = trace->steps.count;
  self->communication = calloc(trace->strings.count + 1, sizeof *self->communication);
  if (!self->communication) {
    facts_close(self);
    return NULL;
  }
  /* Names are few, rows are many. */
  for (uint64_t i = 0; i < trace->strings.count; i++)
    self->has_communication |= self->communication[i] = is_communication(facts_text(self, (uint32_t)i));
  self->one_device = true;
  for (uint64_t i = 1; i < trace->streams.count; i++)
    self->one_device &=
        PD_AT(pd_stream_row, &trace->streams, i)->device == PD_AT(pd_stream_row, &trace->streams, 0)->device;
  for (uint64_t i = 0; i < self->step_count; i++)
    self->steps_ns += facts_span(facts_step(self, i)->start_ns, facts_step(self, i)->end_ns);
  return self;
}

bool facts_fill(trace_facts *self) {
  if (!take_columns(self) || !sweep_threads(self)) return false;
  drop_spans(self);
  add_device(self);
  if (self->memory) add_memory(self);
  find_operations(self);
  for (uint64_t i = 0; i < self->range_count; i++) self->self_cpu_ns += self->range_self_ns[i];
  for (uint64_t i = 0; i < self->call_count; i++) self->self_cpu_ns += self->call_self_ns[i];
  return true;
}

trace_facts *facts_open(const pd_trace *trace) {
  trace_facts *self = facts_open_bare(trace);
  if (self && facts_fill(self)) return self;
  facts_close(self);
  return NULL;
}

void facts_close(trace_facts *self) {
  if (!self) return;
  free(self->columns);
  free(self->communication);
  free(self);
}

uint64_t facts_range_from(const trace_facts *facts, uint32_t thread, int64_t at) {
  uint64_t low = 0, high = facts->range_count;
  while (low < high) {
    const uint64_t middle = low + (high - low) / 2;
    const pd_range *range = facts_range(facts, middle);
    if (range->thread < thread || (range->thread == thread && range->start_ns < at))
      low = middle + 1;
    else
      high = middle;
  }
  return low;
}

bool facts_mostly_graphs(const trace_facts *self) {
  uint64_t all = 0, captured = 0;
  for (uint64_t i = 0; i < self->call_count; i++) {
    const pd_call *call = facts_call(self, i);
    all += call->activity_count;
    if (call->api == PD_API_GRAPH_LAUNCH) captured += call->activity_count;
  }
  return 2 * captured > all;
}
