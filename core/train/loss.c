/* See loss.h. */
#include "loss.h"

enum { PROBS = 0, LABELS = 1, SCALE = 2 }; /* of tape_node.saved */

static pd_status cross_entropy_backward(train_context *c, tape_node *node) {
  static pd_site site = PD_SITE("aten::cross_entropy_loss_backward", PD_RANGE_OP);
  const pd_tensor *scale = node->saved[SCALE].data ? &node->saved[SCALE] : NULL;
  pd_tensor dlogits = tensor_like(&node->a->value, node->a->value.dtype);
  pd_status status = tape_buffer(c, &dlogits);
  if (status != PD_OK) return status;
  const bool begun = OP_BEGIN(c, &site, .inputs = {&node->saved[PROBS], &node->saved[LABELS]});
  status =
      c->t.cross_entropy_backward(c->device, c->stream, &dlogits, &node->saved[PROBS], &node->saved[LABELS], scale);
  op_end(c, begun);
  return status == PD_OK ? tape_add_grad(c, node->a, &dlogits) : status;
}

pd_status loss_cross_entropy_forward(train_context *c, tape_tensor *logits, const pd_tensor *labels,
                                     const pd_tensor *scale, const pd_tensor *loss) {
  static pd_site site = PD_SITE("aten::cross_entropy_loss", PD_RANGE_OP);
  static tape_names names = TAPE_NAMES("CrossEntropyLossBackward0");
  tape_node node = {.backward = cross_entropy_backward, .names = &names, .a = logits};
  node.saved[PROBS] = tensor_like(&logits->value, PD_F32);
  node.saved[LABELS] = *labels;
  if (scale) node.saved[SCALE] = *scale;
  pd_status status = tape_buffer(c, &node.saved[PROBS]);
  if (status != PD_OK) return status;
  const bool begun = OP_BEGIN(c, &site, .sequence = tape_sequence(c->tape), .inputs = {&logits->value, labels});
  status = c->t.cross_entropy_forward(c->device, c->stream, loss, &node.saved[PROBS], &logits->value, labels);
  op_end(c, begun);
  return status == PD_OK ? tape_push(c, &node) : status;
}
