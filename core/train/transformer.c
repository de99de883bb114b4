/* See transformer.h. */
#include "transformer.h"

#include "attention.h"
#include "elementwise.h"
#include "linear.h"
#include "norm.h"

enum { CHANNELS = 3, PAIR = 2, EMBED = 0, FIRST = PAIR };
/* Where a layer's pairs of weight and bias begin, from its first parameter on; and how many parameters it has. */
enum { NORM1 = 0, Q = 2, K = 4, V = 6, OUT = 8, NORM2 = 10, FC1 = 12, FC2 = 14, LAYER = 16 };
enum { NORM = FIRST + TRANSFORMER_LAYERS * LAYER, HEAD = NORM + PAIR };

typedef struct pair_kind {
  const char *weight, *bias;
  int64_t in, out; /* in 0: a LayerNorm */
} pair_kind;

static pd_status build_pair(train_context *c, parameters *all, uint64_t seed, const pair_kind *kind) {
  return kind->in ? linear_build(c, all, seed, kind->weight, kind->bias, kind->in, kind->out)
                  : norm_layer_build(c, all, seed, kind->weight, kind->bias, kind->out);
}

pd_status transformer_build(train_context *c, parameters *all, uint64_t seed, int64_t image_size) {
  const int64_t width = TRANSFORMER_WIDTH, hidden = TRANSFORMER_HIDDEN;
#define PAIR_OF(name, in_, out_)                                                                                       \
  { .weight = name ".weight", .bias = name ".bias", .in = (in_), .out = (out_) }
#define LAYER_OF(at)                                                                                                   \
  PAIR_OF(at "norm1", 0, width), PAIR_OF(at "q", width, width), PAIR_OF(at "k", width, width),                         \
      PAIR_OF(at "v", width, width), PAIR_OF(at "out", width, width), PAIR_OF(at "norm2", 0, width),                   \
      PAIR_OF(at "fc1", width, hidden), PAIR_OF(at "fc2", hidden, width)
  const pair_kind kinds[] = {PAIR_OF("embed", CHANNELS * image_size, width), LAYER_OF("layers.0."),
                             LAYER_OF("layers.1."), PAIR_OF("norm", 0, width), PAIR_OF("head", width, MODEL_CLASSES)};
#undef LAYER_OF
#undef PAIR_OF
  _Static_assert(sizeof kinds / sizeof kinds[0] * PAIR == HEAD + PAIR, "a layer is missing");
  pd_status status = PD_OK;
  for (size_t i = 0; i < sizeof kinds / sizeof kinds[0] && status == PD_OK; i++)
    status = build_pair(c, all, seed, &kinds[i]);
  return status;
}

/* ---- the same memory in another shape ---- */

static pd_status view_backward(train_context *c, tape_node *node) {
  pd_tensor dx = tensor_like(&node->a->value, node->a->value.dtype);
  dx.data = node->y->grad.data;
  return tape_add_grad(c, node->a, &dx);
}

static pd_status view(train_context *c, tape_tensor *x, pd_tensor shape, tape_tensor **y) {
  static tape_names names = TAPE_NAMES("ViewBackward0");
  shape.data = x->value.data;
  const pd_status status = tape_tensor_new(c, &shape, y);
  const tape_node node = {.backward = view_backward, .names = &names, .a = x, .y = *y};
  return status == PD_OK && x->needs_grad ? tape_push(c, &node) : status;
}

/* ---- layers ---- */

static pd_status linear(train_context *c, train_parameter_state *pair, tape_tensor *x, tape_tensor **y) {
  return linear_forward(c, x, &pair[0], &pair[1], y);
}

static pd_status attend(train_context *c, train_parameter_state *own, int64_t vectors, tape_tensor **x) {
  static module_site site = MODULE_SITE("MultiheadAttention_0", "Transformer.layers.attention");
  const module_mark mark = train_module_begin(c, &site);
  tape_tensor *h = NULL, *q = NULL, *k = NULL, *v = NULL;
  pd_status status = norm_layer_forward(c, *x, &own[NORM1], &own[NORM1 + 1], &h);
  if (status == PD_OK) status = linear(c, &own[Q], h, &q);
  if (status == PD_OK) status = linear(c, &own[K], h, &k);
  if (status == PD_OK) status = linear(c, &own[V], h, &v);
  if (status == PD_OK) status = attention_forward(c, q, k, v, vectors, TRANSFORMER_HEADS, &h);
  if (status == PD_OK) status = linear(c, &own[OUT], h, &h);
  if (status == PD_OK) status = elementwise_add_forward(c, *x, h, x);
  train_module_end(c, mark);
  return status;
}

static pd_status feed_forward(train_context *c, train_parameter_state *own, tape_tensor **x) {
  static module_site site = MODULE_SITE("FeedForward_0", "Transformer.layers.feed_forward");
  const module_mark mark = train_module_begin(c, &site);
  tape_tensor *h = NULL;
  pd_status status = norm_layer_forward(c, *x, &own[NORM2], &own[NORM2 + 1], &h);
  if (status == PD_OK) status = linear(c, &own[FC1], h, &h);
  if (status == PD_OK) status = elementwise_relu_forward(c, h, &h);
  if (status == PD_OK) status = linear(c, &own[FC2], h, &h);
  if (status == PD_OK) status = elementwise_add_forward(c, *x, h, x);
  train_module_end(c, mark);
  return status;
}

pd_status transformer_forward(train_context *c, parameters *all, tape_tensor *x, tape_tensor **logits) {
  static module_site model = MODULE_SITE("Transformer_0", "Transformer");
  static module_site head = MODULE_SITE("Linear_0", "Transformer.head");
  const int64_t samples = x->value.shape[0], vectors = x->value.shape[2];
  const int64_t numbers = tensor_count(&x->value) / (samples * vectors);
  const module_mark outer = train_module_begin(c, &model);
  pd_status status = view(c, x, tensor_matrix(c->dtype, samples * vectors, numbers), &x);
  if (status == PD_OK) status = linear(c, &all->at[EMBED], x, &x);
  for (int i = 0; i < TRANSFORMER_LAYERS && status == PD_OK; i++) {
    status = attend(c, &all->at[FIRST + i * LAYER], vectors, &x);
    if (status == PD_OK) status = feed_forward(c, &all->at[FIRST + i * LAYER], &x);
  }
  if (status == PD_OK) status = norm_layer_forward(c, x, &all->at[NORM], &all->at[NORM + 1], &x);
  if (status == PD_OK) status = view(c, x, tensor_image(c->dtype, PD_NHWC, samples, TRANSFORMER_WIDTH, vectors, 1), &x);
  if (status == PD_OK) status = norm_mean_hw_forward(c, x, &x);
  const module_mark mark = train_module_begin(c, &head);
  if (status == PD_OK) status = linear(c, &all->at[HEAD], x, logits);
  train_module_end(c, mark);
  train_module_end(c, outer);
  return status;
}
