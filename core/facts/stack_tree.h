/*
 * All stacks of a trace as one tree: the ranges that hold each other, and between them, where with_stack recorded it,
 * how the C code came from one to the next; runtime calls and device records are leaves. [one thread; then
 * any number read it]
 */
#ifndef CORE_FACTS_STACK_TREE_H
#define CORE_FACTS_STACK_TREE_H

#include "facts.h"
#include "groups.h"

/* A stack is a node: its parent's number and its last frame. */
typedef struct stack_tree {
  key_groups nodes;   /* a: parent + 1, 0: outermost; b: string id of the frame */
  int64_t *self_ns;   /* by node: host time of the last frame itself */
  int64_t *device_ns; /* by node: device time launched in it alone */
  uint32_t *of_range; /* node of each range */
  uint32_t room, reserved;
} stack_tree;

/* false on no memory. */
bool stack_tree_open(const trace_facts *facts, stack_tree *out);
void stack_tree_free(stack_tree *self);

#endif
