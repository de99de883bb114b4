/*
 * The tape: every forward operation writes down a node; tape_backward() runs the nodes in reverse. [loop thread]
 *
 * Buffers are slots handed out in call order and kept from step to step, so that a step that repeats the one before
 * allocates nothing. A gradient is set by its first user and added to by the others.
 */
#ifndef CORE_TRAIN_TAPE_H
#define CORE_TRAIN_TAPE_H

#include "context.h"

/* Bounds of one step; with 120 rounds of TinyOpsBlock, unfused, the largest of the models needs 884 nodes and 2254
 * slots. */
enum { TAPE_NODES = 1024, TAPE_TENSORS = 2048, TAPE_SLOTS = 3072 };

typedef struct train_parameter_state train_parameter_state; /* parameters.h */
typedef struct tape_node tape_node;

/* A tensor of the forward pass and its gradient. */
typedef struct tape_tensor {
  pd_tensor value;
  pd_tensor grad; /* data NULL: none yet */
  tape_node *producer;
  bool needs_grad;
} tape_tensor;

/* The ranges of a node's backward pass, as torch nests them. */
typedef struct tape_names {
  pd_site engine, node;
} tape_names;
#define TAPE_NAMES(name_)                                                                                              \
  { PD_SITE("autograd::engine::evaluate_function: " name_, PD_RANGE_OP), PD_SITE(name_, PD_RANGE_OP) }

typedef pd_status (*tape_backward_fn)(train_context *c, tape_node *node);

struct tape_node {
  tape_backward_fn backward;
  tape_names *names;
  tape_tensor *a, *b, *y; /* y = f(a, b) */
  train_parameter_state *weight, *bias;
  pd_tensor saved[3]; /* what the forward pass keeps for the backward pass */
  double alpha;
  int64_t column, columns;
  uint64_t flops;
  uint32_t sequence, module;
  bool relu;      /* a ReLU was folded into y */
  bool relu_done; /* and y's gradient has been through it, the bias's gradient is written */
};

pd_status tape_open(train_context *c, train_tape **out);
void tape_close(train_context *c, train_tape *tape);

/* Forgets the nodes; a new forward pass begins. */
void tape_reset(train_tape *self);

/* A graph holds the step that was just recorded: a buffer that a later step outgrows stays until the end. */
void tape_captured(train_tape *self);

/* Gives `tensor` (shape set) the next slot's memory. */
pd_status tape_buffer(train_context *c, pd_tensor *tensor);
/* A new tensor of `shape` with a slot of its own, or the memory `shape` points to. */
pd_status tape_tensor_new(train_context *c, const pd_tensor *shape, tape_tensor **out);

/* The sequence number of the next node: give it to the forward range. */
uint32_t tape_sequence(const train_tape *self);
/* Appends a node whose y needs a gradient; `node` is copied, sequence and module are filled in. */
pd_status tape_push(train_context *c, const tape_node *node);

/* Adds `grad` to the tensor's gradient; takes it over where there is none yet. */
pd_status tape_add_grad(train_context *c, tape_tensor *tensor, const pd_tensor *grad);

/* Runs the backward pass; the last node's y must have its gradient, or be the loss. */
pd_status tape_backward(train_context *c);

#endif
