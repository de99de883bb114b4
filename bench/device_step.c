/* See device_step.h. */
#include "device_step.h"

#include <math.h>

static void layers_forward(op_rig *b, int round, const pd_conv2d *conv) {
  static const char *const names[] = {"conv1 forward", "conv2 forward", "conv3 forward"};
  const bool direct = b->x.data == b->images.data;
  if (!direct) RIG_OP("convert images", b->t->convert(b->device, b->stream, &b->x, &b->images));
  RIG_OP(names[0], b->t->conv2d_forward(b->device, b->stream, &b->y[0], &b->x, &b->w[0], &b->b[0], true, conv));
  for (int i = 1; i < RIG_LAYERS; i++)
    RIG_LIBRARY_OP(names[i],
                   b->t->conv2d_forward(b->device, b->stream, &b->y[i], &b->y[i - 1], &b->w[i], &b->b[i], true, conv));
}

static void layers_backward(op_rig *b, int round, const pd_conv2d *conv) {
  static const char *const weight[] = {"conv1 backward weight", "conv2 backward weight", "conv3 backward weight"};
  static const char *const data[] = {"", "conv2 backward data", "conv3 backward data"};
  static const char *const mask[] = {"relu1 backward", "relu2 backward", "relu3 backward"};
  if (b->t->mean_hw_relu_backward) {
    RIG_OP("mean, relu3 backward",
           b->t->mean_hw_relu_backward(b->device, b->stream, &b->dy[2], &b->db[2], &b->dpooled, &b->y[2]));
  } else {
    RIG_OP("mean backward", b->t->mean_hw_backward(b->device, b->stream, &b->dy[2], &b->dpooled));
    RIG_OP(mask[2], b->t->bias_relu_backward(b->device, b->stream, &b->dy[2], &b->db[2], &b->dy[2], &b->y[2]));
  }
  for (int i = RIG_LAYERS - 1; i > 0; i--) {
    RIG_LIBRARY_OP(weight[i],
                   b->t->conv2d_backward_weight(b->device, b->stream, &b->dw[i], &b->dy[i], &b->y[i - 1], conv));
    RIG_LIBRARY_OP(data[i], b->t->conv2d_backward_data(b->device, b->stream, &b->dy[i - 1], &b->dy[i], &b->w[i], conv));
    if (i == 1 && b->t->conv2d_relu_backward_weight) break;
    RIG_OP(mask[i - 1],
           b->t->bias_relu_backward(b->device, b->stream, &b->dy[i - 1], &b->db[i - 1], &b->dy[i - 1], &b->y[i - 1]));
  }
  if (b->t->conv2d_relu_backward_weight)
    RIG_OP("conv1, relu1 backward weight", b->t->conv2d_relu_backward_weight(b->device, b->stream, &b->dw[0], &b->db[0],
                                                                             &b->dy[0], &b->y[0], &b->x, conv));
  else
    RIG_OP(weight[0], b->t->conv2d_backward_weight(b->device, b->stream, &b->dw[0], &b->dy[0], &b->x, conv));
}

static void optimise(op_rig *b, int round) {
  const pd_tensor *grads[8] = {&b->dw[0], &b->db[0], &b->dw[1], &b->db[1],
                               &b->dw[2], &b->db[2], &b->dhead, &b->dhead_bias};
  pd_tensor *weights[8] = {&b->w[0], NULL, &b->w[1], NULL, &b->w[2], NULL, &b->head, NULL};
  pd_parameter p[8];
  for (int i = 0; i < 8; i++) {
    const bool half = b->m.dtype == PD_F16 && weights[i];
    p[i] = (pd_parameter){.value = b->masters[i].data,
                          .grad = grads[i]->data,
                          .m = b->m1[i].data,
                          .v = b->m2[i].data,
                          .half = half ? weights[i]->data : NULL,
                          .count = (int64_t)rig_bytes_of(grads[i]) / 4};
  }
  const pd_scaler scaler = {.scale = b->scale.data,
                            .found_inf = b->found_inf.data,
                            .good_steps = b->good_steps.data,
                            .growth = 2,
                            .backoff = 0.5,
                            .interval = 2000};
  const pd_adamw adamw = {.size = sizeof adamw,
                          .lr = 0,
                          .beta1 = 0.9,
                          .beta2 = 0.999,
                          .eps = 1e-8,
                          .step = b->step_count.data,
                          .found_inf = b->m.dtype == PD_F16 ? b->found_inf.data : NULL};
  if (b->m.dtype == PD_F16) RIG_OP("unscale", b->t->unscale(b->device, b->stream, p, 8, &scaler));
  RIG_OP("adamw", b->t->adamw(b->device, b->stream, p, 8, &adamw));
  if (b->m.dtype == PD_F16) RIG_OP("scaler update", b->t->scaler_update(b->device, b->stream, &scaler));
}

void device_step(op_rig *b, int round) {
  const pd_conv2d conv = {.size = sizeof conv, .stride = 2, .padding = 1, .allow_tf32 = b->m.tf32};
  const bool half = b->m.dtype == PD_F16;
  b->op_count = 0;
  RIG_OP("copy images", b->ops->memory->copy(b->device, b->stream, b->images.data, b->pinned_images,
                                             rig_bytes_of(&b->images), PD_COPY_HOST_TO_DEVICE));
  RIG_OP("copy labels", b->ops->memory->copy(b->device, b->stream, b->labels.data, b->pinned_labels,
                                             rig_bytes_of(&b->labels), PD_COPY_HOST_TO_DEVICE));
  layers_forward(b, round, &conv);
  RIG_OP("mean forward", b->t->mean_hw_forward(b->device, b->stream, &b->pooled, &b->y[2]));
  RIG_LIBRARY_OP("head forward", b->t->matmul(b->device, b->stream, &b->logits, &b->pooled, &b->head, &b->head_bias,
                                              false, true, false, b->m.tf32));
  RIG_OP("cross entropy",
         b->t->cross_entropy_forward(b->device, b->stream, &b->loss, &b->probs, &b->logits, &b->labels));
  RIG_OP("cross entropy backward", b->t->cross_entropy_backward(b->device, b->stream, &b->dlogits, &b->probs,
                                                                &b->labels, half ? &b->scale : NULL));
  RIG_OP("head bias backward", b->t->bias_backward(b->device, b->stream, &b->dhead_bias, &b->dlogits, false));
  RIG_LIBRARY_OP("head backward weight", b->t->matmul(b->device, b->stream, &b->dhead, &b->dlogits, &b->pooled, NULL,
                                                      true, false, false, b->m.tf32));
  RIG_LIBRARY_OP("head backward data", b->t->matmul(b->device, b->stream, &b->dpooled, &b->dlogits, &b->head, NULL,
                                                    false, false, false, b->m.tf32));
  layers_backward(b, round, &conv);
  optimise(b, round);
}

void device_step_open(op_rig *b, rig_mode m) {
  static const int64_t channels[RIG_LAYERS + 1] = {3, 64, 128, 256};
  const pd_dtype dtype = m.dtype;
  const int64_t n = b->batch;
  int64_t size = b->size;
  b->m = m;
  b->images = rig_tensor(b, PD_F32, PD_NCHW, 4, n, 3, size, size);
  b->labels = rig_tensor(b, PD_I64, PD_NCHW, 1, n, 0, 0, 0);
  /* The CUDA device's first layer reads float32 images in any layout. */
  const bool direct = dtype == PD_F32 && (m.layout == PD_NCHW || b->is_cuda);
  b->x = direct ? b->images : rig_tensor(b, dtype, m.layout, 4, n, 3, size, size);
  for (int i = 0; i < RIG_LAYERS; i++) {
    const int64_t in = channels[i], out = channels[i + 1];
    size = (size + 1) / 2;
    b->y[i] = rig_tensor(b, dtype, m.layout, 4, n, out, size, size);
    b->dy[i] = rig_tensor(b, dtype, m.layout, 4, n, out, size, size);
    b->w[i] = rig_tensor(b, dtype, m.layout, 4, out, in, 3, 3);
    b->dw[i] = rig_tensor(b, PD_F32, m.layout, 4, out, in, 3, 3);
    b->b[i] = rig_tensor(b, PD_F32, PD_NCHW, 1, out, 0, 0, 0);
    b->db[i] = rig_tensor(b, PD_F32, PD_NCHW, 1, out, 0, 0, 0);
    rig_randomise(b, &b->w[i], (uint64_t)i + 1, 1.0 / sqrt((double)in * 9));
    rig_randomise(b, &b->b[i], (uint64_t)i + 11, 0.1);
  }
  b->pooled = rig_tensor(b, dtype, PD_NCHW, 2, n, 256, 0, 0);
  b->dpooled = rig_tensor(b, dtype, PD_NCHW, 2, n, 256, 0, 0);
  b->head = rig_tensor(b, dtype, PD_NCHW, 2, RIG_CLASSES, 256, 0, 0);
  b->dhead = rig_tensor(b, PD_F32, PD_NCHW, 2, RIG_CLASSES, 256, 0, 0);
  b->head_bias = rig_tensor(b, PD_F32, PD_NCHW, 1, RIG_CLASSES, 0, 0, 0);
  b->dhead_bias = rig_tensor(b, PD_F32, PD_NCHW, 1, RIG_CLASSES, 0, 0, 0);
  b->logits = rig_tensor(b, PD_F32, PD_NCHW, 2, n, RIG_CLASSES, 0, 0);
  b->probs = rig_tensor(b, PD_F32, PD_NCHW, 2, n, RIG_CLASSES, 0, 0);
  b->dlogits = rig_tensor(b, dtype, PD_NCHW, 2, n, RIG_CLASSES, 0, 0);
  rig_randomise(b, &b->head, 21, 1.0 / 16);
  rig_randomise(b, &b->head_bias, 22, 0.1);
  b->loss = rig_tensor(b, PD_F32, PD_NCHW, 1, 1, 0, 0, 0);
  b->scale = rig_tensor(b, PD_F32, PD_NCHW, 1, 1, 0, 0, 0);
  b->found_inf = rig_tensor(b, PD_F32, PD_NCHW, 1, 1, 0, 0, 0);
  b->good_steps = rig_tensor(b, PD_I32, PD_NCHW, 1, 1, 0, 0, 0);
  b->step_count = rig_tensor(b, PD_I64, PD_NCHW, 1, 1, 0, 0, 0);
  rig_need(b->t->fill(b->device, b->stream, &b->scale, 65536), "fill");
  rig_need(b->t->fill(b->device, b->stream, &b->good_steps, 0), "fill");
  rig_need(b->t->fill(b->device, b->stream, &b->step_count, 0), "fill");
  /* With lr = 0 AdamW leaves the masters as they are, which are the weights where those are half. */
  const pd_tensor *weights[8] = {&b->w[0], &b->b[0], &b->w[1], &b->b[1], &b->w[2], &b->b[2], &b->head, &b->head_bias};
  for (int i = 0; i < 8; i++) {
    const pd_tensor *w = weights[i];
    pd_tensor *all[3] = {&b->masters[i], &b->m1[i], &b->m2[i]};
    for (int k = 0; k < 3; k++) {
      *all[k] = rig_tensor(b, PD_F32, w->layout, w->rank, w->shape[0], w->shape[1], w->shape[2], w->shape[3]);
      rig_need(b->t->fill(b->device, b->stream, all[k], 0), "fill");
    }
    rig_need(b->t->convert(b->device, b->stream, &b->masters[i], w), "convert");
  }
}

void device_step_close(op_rig *b) {
  pd_tensor *single[] = {&b->images,    &b->labels,     &b->pooled,     &b->dpooled,   &b->head,    &b->dhead,
                         &b->head_bias, &b->dhead_bias, &b->logits,     &b->probs,     &b->dlogits, &b->loss,
                         &b->scale,     &b->found_inf,  &b->good_steps, &b->step_count};
  if (b->x.data != b->images.data) rig_release(b, &b->x);
  for (size_t i = 0; i < sizeof single / sizeof single[0]; i++) rig_release(b, single[i]);
  for (int i = 0; i < RIG_LAYERS; i++) {
    pd_tensor *layer[] = {&b->y[i], &b->dy[i], &b->w[i], &b->dw[i], &b->b[i], &b->db[i]};
    for (size_t k = 0; k < sizeof layer / sizeof layer[0]; k++) rig_release(b, layer[k]);
  }
  for (int i = 0; i < 8; i++) {
    rig_release(b, &b->masters[i]);
    rig_release(b, &b->m1[i]);
    rig_release(b, &b->m2[i]);
  }
}
