/* The program's own functions around its operations: each operation gets the stack of those that were open when it
 * began. */
#include "intake_rows.h"

#include "trace/sort.h"

#include <pdhost/array.h>

#include <stdlib.h>
#include <string.h>

/* A stack is a node: the node around it + 1, 0 for none, and its innermost function's name. */
typedef struct stack_node {
  uint64_t outer, name;
} stack_node;

typedef struct open_frame {
  int64_t end;
  uint32_t node;
} open_frame;

typedef struct stack_build {
  intake_build *build;
  row_array nodes; /* of stack_node */
  row_index index;
  open_frame *open;
  uint64_t depth, room;
  uint32_t *stack_of; /* by node: the trace's stack + 1 */
  uint64_t stacks_room, stacks, frames;
} stack_build;

typedef struct frame_order {
  const read_frame *frames;
  const uint32_t *thread_rows;
} frame_order;

static bool frame_after(const void *rows, uint32_t a, uint32_t b) {
  const frame_order *by = rows;
  const read_frame *first = &by->frames[a], *second = &by->frames[b];
  if (first->thread != second->thread) return by->thread_rows[first->thread] > by->thread_rows[second->thread];
  if (first->start != second->start) return first->start > second->start;
  return first->end < second->end;
}

static void close_until(stack_build *self, int64_t now) {
  while (self->depth && self->open[self->depth - 1].end <= now) self->depth--;
}

static bool open_one(stack_build *self, const read_frame *frame) {
  close_until(self, frame->start);
  const stack_node node = {self->depth ? (uint64_t)self->open[self->depth - 1].node + 1 : 0, frame->name};
  const uint32_t at = row_index_find(&self->index, &self->nodes, &node, sizeof node);
  if (at == PD_NONE || !PD_ARRAY_FIT(self->open, self->room, self->depth + 1)) return false;
  self->open[self->depth++] = (open_frame){frame->end, at};
  return true;
}

static uint64_t depth_of(const stack_build *self, uint32_t node) {
  const stack_node *nodes = self->nodes.data;
  uint64_t depth = 1;
  for (uint64_t outer = nodes[node].outer; outer; outer = nodes[outer - 1].outer) depth++;
  return depth;
}

/* The trace's stack of a node, which gets one when it is first asked for; PD_NONE on no memory. */
static uint32_t stack_number(stack_build *self, uint32_t node) {
  const uint64_t before = self->stacks_room;
  if (!PD_ARRAY_FIT(self->stack_of, self->stacks_room, node + 1)) return PD_NONE;
  if (self->stacks_room > before)
    memset(self->stack_of + before, 0, (self->stacks_room - before) * sizeof *self->stack_of);
  if (!self->stack_of[node]) {
    self->stack_of[node] = (uint32_t)++self->stacks;
    self->frames += depth_of(self, node);
  }
  return self->stack_of[node] - 1;
}

/* Ranges and frames both by thread and start. */
static bool give_stacks(stack_build *self, const uint32_t *order, uint64_t count) {
  intake_build *build = self->build;
  const read_frame *frames = build->from->frames.data;
  uint32_t thread = PD_NONE;
  for (uint64_t i = 0, at = 0; i < build->trace->ranges.count; i++) {
    pd_range *range = &build->merge.ranges[i];
    if (range->thread != thread) self->depth = 0;
    thread = range->thread;
    while (at < count && build->thread_rows[frames[order[at]].thread] < thread) at++;
    for (; at < count; at++) {
      const read_frame *frame = &frames[order[at]];
      if (build->thread_rows[frame->thread] != thread || frame->start - build->base > range->start_ns) break;
      if (!open_one(self, frame)) return false;
    }
    close_until(self, range->start_ns + build->base);
    if (range->kind != PD_RANGE_OP || !self->depth) continue;
    range->stack = stack_number(self, self->open[self->depth - 1].node);
    if (range->stack == PD_NONE) return false;
  }
  return true;
}

/* The innermost frame comes last. */
static pd_status write_stacks(const stack_build *self) {
  intake_build *build = self->build;
  const pd_status status = trace_array(build->owned, &build->trace->stacks, self->stacks, sizeof(pd_stack));
  uint32_t *frames = status == PD_OK ? trace_alloc(build->owned, self->frames + 1, sizeof *frames) : NULL;
  if (!frames) return PD_NO_MEMORY;
  pd_stack *stacks = (pd_stack *)build->trace->stacks.data;
  const stack_node *nodes = self->nodes.data;
  for (uint64_t node = 0; node < self->stacks_room && node < self->nodes.count; node++) {
    if (!self->stack_of[node]) continue;
    const uint64_t depth = depth_of(self, (uint32_t)node);
    stacks[self->stack_of[node] - 1] = (pd_stack){frames, depth};
    for (uint64_t f = depth, at = node + 1; f-- > 0; at = nodes[at - 1].outer) frames[f] = (uint32_t)nodes[at - 1].name;
    frames += depth;
  }
  return PD_OK;
}

pd_status intake_build_stacks(intake_build *self) {
  const uint64_t count = self->from->frames.count;
  stack_build made = {.build = self};
  if (!count) return PD_OK;
  const frame_order by = {self->from->frames.data, self->thread_rows};
  uint32_t *order = trace_scratch_alloc(count, 2 * sizeof *order);
  pd_status status = order ? PD_OK : PD_NO_MEMORY;
  for (uint64_t i = 0; status == PD_OK && i < count; i++) order[i] = (uint32_t)i;
  if (status == PD_OK) sort_runs(order, order + count, count, frame_after, &by);
  if (status == PD_OK && !give_stacks(&made, order, count)) status = PD_NO_MEMORY;
  if (status == PD_OK && made.stacks) status = write_stacks(&made);
  row_array_free(&made.nodes);
  free(made.index.slots);
  free(made.open);
  free(made.stack_of);
  free(order);
  return status;
}
