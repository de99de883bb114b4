/* See stack_tree.h. */
#include "stack_tree.h"

#include <stdlib.h>
#include <string.h>

static bool grow(int64_t **times, uint32_t from, uint32_t to) {
  int64_t *grown = realloc(*times, to * sizeof *grown);
  if (!grown) return false;
  memset(grown + from, 0, (to - from) * sizeof *grown);
  *times = grown;
  return true;
}

/* The node of `frame` under `parent` (PD_NONE: outermost); PD_NONE on no memory. */
static uint32_t node_under(stack_tree *self, uint32_t parent, uint32_t frame) {
  const uint32_t node = groups_index(&self->nodes, parent == PD_NONE ? 0 : (uint64_t)parent + 1, frame);
  if (node == UINT32_MAX) return PD_NONE;
  if (self->nodes.room > self->room) {
    if (!grow(&self->self_ns, self->room, self->nodes.room) || !grow(&self->device_ns, self->room, self->nodes.room))
      return PD_NONE;
    self->room = self->nodes.room;
  }
  return node;
}

/* The node of a recorded call stack. Many operations share one. */
static uint32_t call_stack_node(stack_tree *self, const trace_facts *facts, uint32_t index) {
  const pd_stack *stack = PD_AT(pd_stack, &facts->trace->stacks, index);
  uint32_t node = PD_NONE;
  if (self->of_stack[index]) return self->of_stack[index] - 1;
  for (uint64_t f = 0; f < stack->count; f++) {
    node = node_under(self, node, stack->frames[f]);
    if (node == PD_NONE) return PD_NONE;
  }
  if (node != PD_NONE) self->of_stack[index] = node + 1;
  return node;
}

static uint32_t range_node(stack_tree *self, const trace_facts *facts, uint64_t i) {
  const pd_range *range = facts_range(facts, i);
  uint32_t parent = range->parent < i ? self->of_range[range->parent] : PD_NONE;
  if (range->stack < facts->trace->stacks.count) {
    parent = call_stack_node(self, facts, range->stack);
    if (parent == PD_NONE && PD_AT(pd_stack, &facts->trace->stacks, range->stack)->count) return PD_NONE;
  }
  /* All steps are one frame, or no two steps would add up. */
  return node_under(self, parent, range->kind == PD_RANGE_STEP ? 0 : range->name);
}

/* The node of a leaf in the range `range`, which may be none. */
static uint32_t leaf_node(stack_tree *self, const trace_facts *facts, uint32_t range, uint32_t name) {
  return node_under(self, range < facts->range_count ? self->of_range[range] : PD_NONE, name);
}

static bool fill(stack_tree *self, const trace_facts *facts) {
  for (uint64_t i = 0; i < facts->range_count; i++) {
    const uint32_t node = self->of_range[i] = range_node(self, facts, i);
    if (node == PD_NONE) return false;
    self->self_ns[node] += facts->range_self_ns[i];
  }
  for (uint64_t i = 0; i < facts->call_count; i++) {
    const pd_call *call = facts_call(facts, i);
    const uint32_t node = leaf_node(self, facts, call->range, call->name);
    if (node == PD_NONE) return false;
    self->self_ns[node] += facts->call_self_ns[i];
  }
  for (uint64_t i = 0; i < facts->activity_count; i++) {
    const pd_device_row *row = facts_activity(facts, i);
    const uint32_t node = leaf_node(self, facts, row->range, row->name);
    if (node == PD_NONE) return false;
    self->device_ns[node] += facts_span(row->start_ns, row->end_ns);
  }
  return true;
}

bool stack_tree_open(const trace_facts *facts, stack_tree *out) {
  *out = (stack_tree){0};
  out->of_range = malloc((facts->range_count + 1) * sizeof *out->of_range);
  out->of_stack = calloc(facts->trace->stacks.count + 1, sizeof *out->of_stack);
  if (out->of_range && out->of_stack && fill(out, facts)) return true;
  stack_tree_free(out);
  return false;
}

void stack_tree_free(stack_tree *self) {
  free(self->self_ns);
  free(self->device_ns);
  free(self->of_range);
  free(self->of_stack);
  groups_free(&self->nodes);
  *self = (stack_tree){0};
}
