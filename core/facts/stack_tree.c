/* See stack_tree.h. */
#include "stack_tree.h"

#include <pdhost/array.h>

#include <stdlib.h>
#include <string.h>

/* The node of `frame` under `parent` (PD_NONE: outermost); PD_NONE on no memory. */
static uint32_t node_under(stack_tree *self, uint32_t parent, uint32_t frame) {
  const uint32_t node = groups_index(&self->nodes, parent == PD_NONE ? 0 : (uint64_t)parent + 1, frame);
  if (node == UINT32_MAX) return PD_NONE;
  uint32_t room = self->room;
  const bool fits =
      PD_ARRAY_FIT_ZERO(self->device_ns, room, node + 1) && PD_ARRAY_FIT_ZERO(self->self_ns, self->room, node + 1);
  return fits ? node : PD_NONE;
}

/* The call stack of the innermost range around `range` that has one; NULL: none has. */
static const pd_stack *stack_around(const trace_facts *facts, uint64_t range) {
  for (uint64_t at = range; facts_range(facts, at)->parent < at;) {
    at = facts_range(facts, at)->parent;
    const uint32_t stack = facts_range(facts, at)->stack;
    if (stack < facts->trace->stacks.count) return PD_AT(pd_stack, &facts->trace->stacks, stack);
  }
  return NULL;
}

/* Under the range that holds it stand what its call stack has beyond that of its holder, and its name. */
static uint32_t range_node(stack_tree *self, const trace_facts *facts, uint64_t i) {
  const pd_range *range = facts_range(facts, i);
  uint32_t node = range->parent < i ? self->of_range[range->parent] : PD_NONE;
  if (range->stack < facts->trace->stacks.count) {
    const pd_stack *stack = PD_AT(pd_stack, &facts->trace->stacks, range->stack), *outer = stack_around(facts, i);
    uint64_t f = 0;
    while (outer && f < stack->count && f < outer->count && stack->frames[f] == outer->frames[f]) f++;
    for (; f < stack->count; f++) {
      node = node_under(self, node, stack->frames[f]);
      if (node == PD_NONE) return PD_NONE;
    }
  }
  /* All steps are one frame, or no two steps would add up. */
  return node_under(self, node, range->kind == PD_RANGE_STEP ? 0 : range->name);
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
  if (out->of_range && fill(out, facts)) return true;
  stack_tree_free(out);
  return false;
}

void stack_tree_free(stack_tree *self) {
  free(self->self_ns);
  free(self->device_ns);
  free(self->of_range);
  groups_free(&self->nodes);
  *self = (stack_tree){0};
}
