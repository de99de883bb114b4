/*
 * Collapsed stacks, as flamegraph.pl and speedscope read them: frames joined by semicolons, outermost first, and the
 * time of the last frame itself in whole microseconds. The frames are the C call stack where with_stack recorded one,
 * else the ranges that hold each other; runtime calls and kernels are leaves.
 */
#include "groups.h"
#include "tables.h"

#include <stdlib.h>
#include <string.h>

/* A stack is a node of a trie: its parent's number and its last frame. */
typedef struct stack_tree {
  key_groups nodes; /* a: parent + 1, b: string id */
  int64_t *self_ns; /* by node */
  uint32_t room, reserved;
  uint32_t *of_range;
} stack_tree;

/* The node of `frame` under `parent` (PD_NONE: outermost). */
static uint32_t node_under(stack_tree *tree, uint32_t parent, uint32_t frame) {
  uint32_t node = groups_index(&tree->nodes, parent == PD_NONE ? 0 : (uint64_t)parent + 1, frame);
  if (node == UINT32_MAX) return PD_NONE;
  if (tree->nodes.room > tree->room) {
    int64_t *grown = realloc(tree->self_ns, tree->nodes.room * sizeof *grown);
    if (!grown) return PD_NONE;
    memset(grown + tree->room, 0, (tree->nodes.room - tree->room) * sizeof *grown);
    tree->self_ns = grown;
    tree->room = tree->nodes.room;
  }
  return node;
}

static uint32_t range_node(stack_tree *tree, const trace_facts *facts, uint64_t i) {
  const pd_trace *trace = facts->trace;
  const pd_range *range = facts_range(facts, i);
  uint32_t parent = range->parent < i ? tree->of_range[range->parent] : PD_NONE;
  if (range->stack < trace->stacks.count) {
    const pd_stack *stack = PD_AT(pd_stack, &trace->stacks, range->stack);
    parent = PD_NONE;
    for (uint64_t f = 0; f < stack->count; f++) {
      parent = node_under(tree, parent, stack->frames[f]);
      if (parent == PD_NONE) return PD_NONE;
    }
  }
  /* All steps are one frame, or no two steps would add up. */
  return node_under(tree, parent, range->kind == PD_RANGE_STEP ? 0 : range->name);
}

static bool build_tree(stack_tree *tree, const trace_facts *facts, bool device) {
  tree->of_range = malloc((facts->range_count + 1) * sizeof *tree->of_range);
  if (!tree->of_range) return false;
  for (uint64_t i = 0; i < facts->range_count; i++) {
    tree->of_range[i] = range_node(tree, facts, i);
    if (tree->of_range[i] == PD_NONE) return false;
    if (!device) tree->self_ns[tree->of_range[i]] += facts->range_self_ns[i];
  }
  for (uint64_t i = 0; !device && i < facts->call_count; i++) {
    const pd_call *call = facts_call(facts, i);
    uint32_t node =
        node_under(tree, call->range < facts->range_count ? tree->of_range[call->range] : PD_NONE, call->name);
    if (node == PD_NONE) return false;
    tree->self_ns[node] += facts->call_self_ns[i];
  }
  for (uint64_t i = 0; device && i < facts->activity_count; i++) {
    const pd_device_row *row = facts_activity(facts, i);
    uint32_t node = node_under(tree, row->range < facts->range_count ? tree->of_range[row->range] : PD_NONE, row->name);
    if (node == PD_NONE) return false;
    tree->self_ns[node] += facts_span(row->start_ns, row->end_ns);
  }
  return true;
}

/* The characters that separate frames and values become '_'. */
static void copy_frame(char *to, const char *frame, size_t length) {
  memcpy(to, frame, length);
  for (size_t i = 0; i < length; i++) {
    unsigned char c = (unsigned char)frame[i];
    if (c <= ' ' || c == ';' || c == 0x7F) to[i] = '_';
  }
}

static const char *frame_text(const trace_facts *facts, uint32_t id) {
  return id ? facts_text(facts, id) : "ProfileStep";
}

static const char *stack_text(const stack_tree *tree, const table_work *work, uint32_t node) {
  size_t length = 0;
  char *text;
  for (uint32_t at = node;;) {
    const group_key *key = &tree->nodes.keys[at];
    length += strlen(frame_text(work->facts, (uint32_t)key->b)) + 1;
    if (!key->a) break;
    at = (uint32_t)(key->a - 1);
  }
  text = arena_take(work->arena, length);
  if (!text) return NULL;
  text[--length] = 0;
  for (uint32_t at = node;;) {
    const group_key *key = &tree->nodes.keys[at];
    const char *frame = frame_text(work->facts, (uint32_t)key->b);
    size_t own = strlen(frame);
    length -= own;
    copy_frame(text + length, frame, own);
    if (!key->a) break;
    text[--length] = ';';
    at = (uint32_t)(key->a - 1);
  }
  return text;
}

typedef struct ordered {
  int64_t value_us;
  uint32_t node, reserved;
} ordered;

static int by_value(const void *a, const void *b) {
  const ordered *x = a, *y = b;
  if (x->value_us != y->value_us) return x->value_us > y->value_us ? -1 : 1;
  return (x->node > y->node) - (x->node < y->node);
}

static const pd_table *make(const table_work *work, bool device) {
  stack_tree tree = {0};
  ordered *order = NULL;
  const pd_table *done = NULL;
  uint32_t kept = 0;
  table_build table;
  if (!build_tree(&tree, work->facts, device) || !(order = malloc((tree.nodes.count + 1) * sizeof *order))) {
    work->arena->failed = true;
    goto out;
  }
  for (uint32_t i = 0; i < tree.nodes.count; i++) {
    int64_t value_us = (tree.self_ns[i] + 500) / 1000;
    if (value_us > 0) order[kept++] = (ordered){.value_us = value_us, .node = i};
  }
  qsort(order, kept, sizeof *order, by_value);
  table_begin(&table, work->arena, work->is_cuda, device ? "stacks_device" : "stacks",
              device ? "Stacks by device time" : "Stacks by host time",
              "One line per stack for flamegraph.pl and speedscope: frames joined by semicolons, then microseconds.");
  TABLE_COLUMNS(&table, M_stack, M_value_us);
  for (uint32_t i = 0; i < kept; i++) {
    table_row(&table, 0);
    table_string(&table, M_stack, stack_text(&tree, work, order[i].node));
    table_int(&table, M_value_us, order[i].value_us);
  }
  done = table_done(&table);
out:
  free(order);
  free(tree.of_range);
  free(tree.self_ns);
  groups_free(&tree.nodes);
  return done;
}

const pd_table *stacks_table(const table_work *work) { return make(work, false); }
const pd_table *stacks_device_table(const table_work *work) { return make(work, true); }
