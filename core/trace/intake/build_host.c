/* Threads, nested ranges and memory events of an intake. See intake_rows.h. */
#include "intake_rows.h"

#include "trace/sort.h"

#include <stdlib.h>

/* ---- threads ---- */

/* The thread that runs the loop: it sets the marks of the steps, or waits for the loader, or else launches first. */
static uint32_t loop_thread(const intake *from) {
  const read_step *steps = from->steps.data;
  if (from->steps.count) return steps[0].thread;
  const read_range *ranges = from->ranges.data;
  for (uint64_t i = 0; i < from->ranges.count; i++)
    if (ranges[i].kind == PD_RANGE_DATALOADER) return ranges[i].thread;
  const read_call *calls = from->calls.data;
  const read_call *first = NULL;
  for (uint64_t i = 0; i < from->calls.count; i++) {
    const read_call *call = &calls[i];
    const bool launches = call->api >= PD_API_LAUNCH && call->api <= PD_API_GRAPH_LAUNCH;
    if (launches && (!first || call->start < first->start)) first = call;
  }
  return first ? first->thread : 0;
}

static bool thread_after(const void *rows, uint32_t a, uint32_t b) {
  const read_thread *threads = rows;
  if (threads[a].tid != threads[b].tid) return threads[a].tid > threads[b].tid;
  return threads[a].pid > threads[b].pid;
}

pd_status intake_build_threads(intake_build *self) {
  intake *from = self->from;
  if (!from->threads.count) (void)from->table.thread(&from->table, 0, 0);
  const uint64_t count = from->threads.count;
  const read_thread *given = from->threads.data;
  uint32_t *order = trace_scratch_alloc(count, 2 * sizeof *order);
  self->thread_rows = trace_scratch_alloc(count, sizeof *self->thread_rows);
  self->merge.threads = calloc(count + 1, sizeof *self->merge.threads);
  pd_status status = order && self->thread_rows && self->merge.threads ? PD_OK : PD_NO_MEMORY;
  if (status == PD_OK) status = trace_array(self->owned, &self->trace->threads, count, sizeof(pd_thread));
  if (status == PD_OK) {
    pd_thread *rows = (pd_thread *)self->trace->threads.data;
    const uint32_t loop = loop_thread(from);
    for (uint64_t i = 0; i < count; i++) order[i] = (uint32_t)i;
    sort_runs(order, order + count, count, thread_after, given);
    uint32_t next = 1;
    for (uint64_t i = 0; i < count; i++) {
      const uint32_t at = order[i] == loop ? 0 : next++;
      rows[at] = (pd_thread){given[order[i]].tid, given[order[i]].name};
      self->thread_rows[order[i]] = at;
    }
    self->merge.thread_count = count;
  }
  free(order);
  return status;
}

/* ---- ranges ---- */

typedef struct range_order {
  const read_range *ranges;
  const uint32_t *thread_rows;
} range_order;

static bool range_after(const void *rows, uint32_t a, uint32_t b) {
  const range_order *by = rows;
  const read_range *first = &by->ranges[a], *second = &by->ranges[b];
  if (first->thread != second->thread) return by->thread_rows[first->thread] > by->thread_rows[second->thread];
  if (first->start != second->start) return first->start > second->start;
  return first->end < second->end;
}

static bool is_step_or_wait(pd_range_kind kind) { return kind == PD_RANGE_STEP || kind == PD_RANGE_DATALOADER; }

/* Writes row `i`, and cuts it to the innermost range still open. */
static void add_range(intake_build *self, const read_range *given, uint32_t i, uint32_t *open, uint64_t *cut) {
  pd_range *row = &self->merge.ranges[i];
  const uint32_t thread = self->thread_rows[given->thread];
  *row = (pd_range){.start_ns = given->start - self->base,
                    .end_ns = given->end - self->base,
                    .name = given->name,
                    .kind = given->kind,
                    .part = given->part,
                    .thread = thread,
                    .parent = PD_NONE,
                    .step = PD_NONE,
                    .sequence = given->sequence,
                    .backward = given->backward,
                    .module = given->module,
                    .stack = PD_NONE};
  if (given->shape_set) {
    const read_shapes *set = (const read_shapes *)self->from->shape_sets.data + (given->shape_set - 1);
    row->shape_first = set->first;
    row->shape_count = set->count < UINT8_MAX ? (uint8_t)set->count : UINT8_MAX;
  }
  while (*open != PD_NONE &&
         (self->merge.ranges[*open].thread != thread || self->merge.ranges[*open].end_ns <= row->start_ns))
    *open = self->merge.ranges[*open].parent;
  if (*open != PD_NONE) {
    const pd_range *outer = &self->merge.ranges[*open];
    if (row->end_ns > outer->end_ns) {
      row->end_ns = outer->end_ns;
      ++*cut;
    }
    row->parent = *open;
    row->depth = outer->depth + 1;
    if (!row->part && !is_step_or_wait(outer->kind)) row->part = outer->part;
  }
  *open = i;
}

/* A moment holds no others: an operation of no length is no parent of what begins with it, as a stream of calls may. */
pd_status intake_build_ranges(intake_build *self) {
  intake *from = self->from;
  const uint64_t count = from->ranges.count;
  const range_order by = {from->ranges.data, self->thread_rows};
  uint64_t cut = 0;
  pd_status status = trace_array(self->owned, &self->trace->ranges, count, sizeof(pd_range));
  self->merge.ranges = (pd_range *)self->trace->ranges.data;
  uint32_t *order = status == PD_OK ? trace_scratch_alloc(count, 2 * sizeof *order) : NULL;
  if (!order) return PD_NO_MEMORY;
  for (uint64_t i = 0; i < count; i++) order[i] = (uint32_t)i;
  sort_runs(order, order + count, count, range_after, &by);
  uint32_t open = PD_NONE;
  for (uint64_t i = 0; i < count; i++) {
    const read_range *given = &by.ranges[order[i]];
    merge_thread *thread = &self->merge.threads[self->thread_rows[given->thread]];
    if (!thread->range_count) thread->range_first = i;
    thread->range_count++;
    add_range(self, given, (uint32_t)i, &open, &cut);
  }
  free(order);
  intake_build_odd(self, cut, PD_ODD_DAMAGE, "%llu host %s cut to it", (unsigned long long)cut,
                   cut == 1 ? "range ends after the range around it and is"
                            : "ranges end after the range around them and are");
  return PD_OK;
}

/* ---- memory ---- */

static bool memory_after(const void *rows, uint32_t a, uint32_t b) {
  const read_memory *memory = rows;
  return memory[a].ts > memory[b].ts;
}

pd_status intake_build_memory(intake_build *self) {
  const read_memory *given = self->from->memory.data;
  const uint64_t count = self->from->memory.count;
  range_sweep *sweep = NULL;
  pd_status status = trace_array(self->owned, &self->trace->memory, count, sizeof(pd_memory_row));
  if (status != PD_OK || !count) return status;
  pd_memory_row *rows = (pd_memory_row *)self->trace->memory.data;
  uint32_t *order = trace_scratch_alloc(count, 2 * sizeof *order);
  status = order ? merge_sweep_open(&self->merge, &sweep) : PD_NO_MEMORY;
  if (status == PD_OK) {
    for (uint64_t i = 0; i < count; i++) order[i] = (uint32_t)i;
    sort_runs(order, order + count, count, memory_after, given);
    for (uint64_t i = 0; i < count; i++) {
      const read_memory *at = &given[order[i]];
      rows[i] = (pd_memory_row){
          .ts_ns = at->ts - self->base, .thread = self->thread_rows[at->thread], .step = PD_NONE, .event = at->event};
      rows[i].range = merge_sweep_at(sweep, rows[i].thread, rows[i].ts_ns);
    }
  }
  merge_sweep_close(sweep);
  free(order);
  return status;
}
