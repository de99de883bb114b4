/* See tape.h. */
#include "tape.h"

#include "parameters.h"

#include <stdlib.h>

/* A buffer that a graph's replays may write to. */
typedef struct retired {
  struct retired *next;
  pd_tensor buffer;
} retired;

struct train_tape {
  uint32_t node_count, tensor_count, slot_used, sequence;
  bool captured;
  retired *retired;
  tape_node nodes[TAPE_NODES];
  tape_tensor tensors[TAPE_TENSORS];
  pd_tensor slots[TAPE_SLOTS]; /* bytes, as PD_U8 vectors */
};

pd_status tape_open(train_context *c, train_tape **out) {
  *out = calloc(1, sizeof **out);
  if (!*out) return c->host->fail(c->host, PD_NO_MEMORY, "training kit: no memory for the tape");
  (*out)->sequence = 1;
  return PD_OK;
}

void tape_close(train_context *c, train_tape *tape) {
  if (!tape) return;
  for (uint32_t i = 0; i < TAPE_SLOTS; i++) train_free(c, &tape->slots[i]);
  while (tape->retired) {
    retired *old = tape->retired;
    tape->retired = old->next;
    train_free(c, &old->buffer);
    free(old);
  }
  free(tape);
}

void tape_reset(train_tape *self) {
  self->node_count = 0;
  self->tensor_count = 0;
  self->slot_used = 0;
}

void tape_captured(train_tape *self) { self->captured = true; }

static pd_status full(const train_context *c, const char *what) {
  return c->host->fail(c->host, PD_NO_MEMORY, "training kit: the tape is full (%s): the backward pass never ran?",
                       what);
}

/* Frees a slot's buffer, or keeps it where a graph's next replay may write to it. */
static pd_status drop(train_context *c, train_tape *tape, pd_tensor *slot) {
  if (tape->captured && slot->data) {
    retired *old = malloc(sizeof *old);
    if (!old) return c->host->fail(c->host, PD_NO_MEMORY, "training kit: no memory for the tape");
    *old = (retired){.next = tape->retired, .buffer = *slot};
    tape->retired = old;
  } else {
    train_free(c, slot);
  }
  *slot = (pd_tensor){0};
  return PD_OK;
}

pd_status tape_buffer(train_context *c, pd_tensor *tensor) {
  train_tape *tape = c->tape;
  if (tape->slot_used == TAPE_SLOTS) return full(c, "buffers");
  pd_tensor *slot = &tape->slots[tape->slot_used++];
  const int64_t bytes = (int64_t)tensor_bytes(tensor);
  if (!slot->data || tensor_count(slot) < bytes) {
    pd_status status = drop(c, tape, slot);
    if (status != PD_OK) return status;
    *slot = tensor_vector(PD_U8, bytes);
    status = train_alloc(c, slot);
    if (status != PD_OK) return status;
  }
  tensor->data = slot->data;
  return PD_OK;
}

pd_status tape_tensor_new(train_context *c, const pd_tensor *shape, tape_tensor **out) {
  train_tape *tape = c->tape;
  if (tape->tensor_count == TAPE_TENSORS) return full(c, "tensors");
  tape_tensor *tensor = &tape->tensors[tape->tensor_count++];
  *tensor = (tape_tensor){.value = *shape};
  *out = tensor;
  return tensor->value.data ? PD_OK : tape_buffer(c, &tensor->value);
}

uint32_t tape_sequence(const train_tape *self) { return self->sequence; }

pd_status tape_push(train_context *c, const tape_node *node) {
  train_tape *tape = c->tape;
  if (tape->node_count == TAPE_NODES) return full(c, "operations");
  tape_node *at = &tape->nodes[tape->node_count++];
  *at = *node;
  at->sequence = tape->sequence++;
  if (!tape->sequence) tape->sequence = 1;
  at->module = c->module;
  if (at->y) {
    at->y->producer = at;
    at->y->needs_grad = true;
  }
  return PD_OK;
}

pd_status tape_add_grad(train_context *c, tape_tensor *tensor, const pd_tensor *grad) {
  static pd_site site = PD_SITE("aten::add_", PD_RANGE_OP);
  if (!tensor->needs_grad) return PD_OK;
  if (!tensor->grad.data) {
    tensor->grad = *grad;
    return PD_OK;
  }
  /* Never in place: the first gradient's memory may be another tensor's gradient too. */
  pd_tensor sum = tensor_like(grad, grad->dtype);
  pd_status status = tape_buffer(c, &sum);
  if (status != PD_OK) return status;
  const bool begun = OP_BEGIN(c, &site, .inputs = {&tensor->grad, grad});
  status = c->t.elementwise(c->device, c->stream, PD_EW_ADD, &sum, &tensor->grad, grad, 1.0);
  op_end(c, begun);
  tensor->grad = sum;
  return status;
}

/* Whether a node that comes later in the backward pass adds to the gradient of `parameter`. */
static bool is_used_before(const train_tape *self, uint32_t node, const train_parameter_state *parameter) {
  for (uint32_t i = 0; i < node; i++)
    if (self->nodes[i].weight == parameter || self->nodes[i].bias == parameter) return true;
  return false;
}

/* Tells of the gradients that are whole after `node`: the bias's, then the weight's. */
static pd_status tell_of_gradients(const train_context *c, uint32_t node) {
  const gradient_listener *to = &c->listener;
  const train_parameter_state *const written[] = {c->tape->nodes[node].bias, c->tape->nodes[node].weight};
  pd_status status = PD_OK;
  for (int i = 0; i < 2 && to->ready && status == PD_OK; i++)
    if (written[i] && written[i]->has_grad && !is_used_before(c->tape, node, written[i]))
      status = to->ready(to->user, written[i]->index);
  return status;
}

pd_status tape_backward(train_context *c) {
  train_tape *tape = c->tape;
  pd_status status = PD_OK;
  for (uint32_t i = tape->node_count; status == PD_OK && i-- > 0;) {
    tape_node *node = &tape->nodes[i];
    if (node->y && !node->y->grad.data) continue;
    const uint32_t outer = c->module;
    c->module = node->module;
    const bool engine = OP_BEGIN(c, &node->names->engine, .sequence = node->sequence, .backward = true);
    const bool inner = OP_BEGIN(c, &node->names->node, .inputs = {node->y ? &node->y->grad : NULL});
    status = node->backward(c, node);
    op_end(c, inner);
    op_end(c, engine);
    c->module = outer;
    if (status == PD_OK) status = tell_of_gradients(c, i);
  }
  return status;
}
