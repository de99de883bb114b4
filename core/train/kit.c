/*
 * The training kit's table and life: train_kit.h, train.h.
 *
 * With cuda_graph the first step() runs as it is, which makes every buffer, and is then captured; later steps of the
 * same shape are replays. The copy to the device and the entry in the loss history stay outside the graph. A scenario
 * that calls the parts itself has no graph, and this is reported.
 */
#include "kit_state.h"

#include "device_check.h"
#include "loss.h"
#include "models.h"
#include "tiny_ops_block.h"

#include <stdlib.h>
#include <string.h>

enum { TRAIN_WIDTH_MOST = 32 };

static bool begin_part(train_kit *self, pd_site *site, pd_part part) {
  self->c.part = part;
  return OP_BEGIN(&self->c, site, .sequence = 0);
}

static void end_part(train_kit *self, bool begun) {
  op_end(&self->c, begun);
  self->c.part = PD_PART_NONE;
}

/* ---- the parts of the step ---- */

/* The model anew, with more channels. */
static pd_status widen(train_kit *self, uint32_t width) {
  if (!model_is_cnn(&self->config))
    return self->c.host->fail(
        self->c.host, PD_UNSUPPORTED,
        "[train] model = %s: this scenario wants the cnn with %u times its channels; set model = cnn",
        self->config.model, width);
  if (width > TRAIN_WIDTH_MOST || self->tiny_ops_block)
    return self->c.host->fail(self->c.host, PD_INVALID, "configure: a model of width %u%s; it is 1 to %d", width,
                              self->tiny_ops_block ? " with TinyOpsBlock" : "", TRAIN_WIDTH_MOST);
  const pd_status status =
      self->c.streams->synchronize(self->c.device, self->c.stream); /* their first values are set */
  if (status != PD_OK) return status;
  parameters_close(&self->c, &self->parameters);
  return model_build(&self->c, &self->parameters, &self->config, width);
}

static pd_status configure(const pd_train *train, const pd_train_model *model) {
  train_kit *kit = kit_state_of(train);
  if (!PD_HAS(pd_train_model, model, tiny_ops_block)) return PD_OK;
  if (kit->forward_count)
    return kit->c.host->fail(kit->c.host, PD_INVALID, "configure: the model is chosen in init, before the first step");
  if (PD_HAS(pd_train_model, model, width) && model->width > 1) return widen(kit, model->width);
  if (!model->tiny_ops_block || kit->tiny_ops_block) return PD_OK;
  kit->tiny_ops_block = true;
  kit->tiny_ops_first = kit->parameters.count;
  return tiny_ops_block_build(&kit->c, &kit->parameters, kit->config.seed);
}

static pd_status to_device(const pd_train *train, const pd_step *step, pd_tensor *images) {
  train_kit *kit = kit_state_of(train);
  pd_status status = input_take(&kit->c, &kit->input, step->batch);
  if (status == PD_OK && kit->next) status = input_fetch(&kit->c, &kit->input, kit->next);
  kit->next = NULL;
  kit->narrow_count = 0;
  if (images) *images = kit->input.images;
  return status;
}

static pd_status zero_grad(const pd_train *train) {
  static pd_site site = PD_SITE("Optimizer.zero_grad#AdamW.zero_grad", PD_RANGE_USER);
  train_kit *kit = kit_state_of(train);
  const bool begun = begin_part(kit, &site, PD_PART_OPTIMIZATION);
  for (uint32_t i = 0; i < kit->parameters.count; i++) kit->parameters.at[i].has_grad = false;
  end_part(kit, begun);
  return PD_OK;
}

/* `whole` without the samples that narrow() left out. */
static pd_tensor narrowed(const train_kit *self, const pd_tensor *whole) {
  pd_tensor part = *whole;
  if (!self->narrow_count) return part;
  const int64_t sample_bytes = (int64_t)tensor_bytes(whole) / whole->shape[0];
  part.data = (char *)whole->data + self->narrow_first * sample_bytes;
  part.shape[0] = self->narrow_count;
  return part;
}

/* The images in the type and layout that the model computes with. */
static pd_status model_input(train_kit *self, const pd_tensor *images, tape_tensor **x) {
  static pd_site to = PD_SITE("aten::to", PD_RANGE_OP);
  static pd_site site_copy = PD_SITE("aten::copy_", PD_RANGE_OP);
  train_context *c = &self->c;
  if (c->dtype == PD_F32 && c->layout == PD_NCHW) return tape_tensor_new(c, images, x);
  pd_tensor shape = tensor_like(images, c->dtype);
  shape.layout = c->layout;
  pd_status status = tape_tensor_new(c, &shape, x);
  if (status != PD_OK) return status;
  const bool outer = OP_BEGIN(c, &to, .inputs = {images});
  const bool inner = OP_BEGIN(c, &site_copy, .inputs = {&(*x)->value, images});
  status = c->t.convert(c->device, c->stream, &(*x)->value, images);
  op_end(c, inner);
  op_end(c, outer);
  return status;
}

static pd_status forward(const pd_train *train) {
  static pd_site site = PD_SITE("forward", PD_RANGE_USER);
  train_kit *kit = kit_state_of(train);
  train_context *c = &kit->c;
  tape_tensor *x = NULL;
  if (!kit->input.images.data)
    return c->host->fail(c->host, PD_INVALID, "forward: no batch on the device; call to_device first");
  const bool begun = begin_part(kit, &site, PD_PART_FORWARD);
  tape_reset(c->tape);
  kit->logits = NULL;
  kit->forward_count++;
  const pd_tensor images = narrowed(kit, &kit->input.images), labels = narrowed(kit, &kit->input.labels);
  pd_status status = model_input(kit, &images, &x);
  if (status == PD_OK) status = model_forward(c, &kit->parameters, &kit->config, x, &x);
  if (status == PD_OK && kit->tiny_ops_block && kit->rounds)
    status = tiny_ops_block_forward(c, &kit->parameters.at[kit->tiny_ops_first], kit->rounds, x, &x);
  if (status == PD_OK)
    status = loss_cross_entropy_forward(c, x, &labels, device_check_scales(&kit->config) ? &kit->scaler.scale : NULL,
                                        losses_slot(&kit->losses));
  if (status == PD_OK) kit->logits = x;
  end_part(kit, begun);
  return status;
}

static pd_status item(const pd_train *train, double *loss) {
  train_kit *kit = kit_state_of(train);
  float value = 0;
  const pd_status status = scaler_item(&kit->c, &kit->losses.current, &value);
  *loss = (double)value;
  return status;
}

static pd_status backward(const pd_train *train) {
  static pd_site site = PD_SITE("backward", PD_RANGE_USER);
  train_kit *kit = kit_state_of(train);
  if (!kit->logits)
    return kit->c.host->fail(kit->c.host, PD_INVALID,
                             "backward: no forward pass to go back through; call forward first");
  const bool begun = begin_part(kit, &site, PD_PART_BACKWARD);
  const pd_status status = tape_backward(&kit->c);
  end_part(kit, begun);
  return status;
}

static pd_status update(train_kit *self) {
  train_context *c = &self->c;
  c->part = PD_PART_OPTIMIZATION;
  const pd_status status = device_check_scales(&self->config) ? scaler_step(c, &self->scaler, &self->adamw,
                                                                            &self->parameters, self->config.scaler_sync)
                                                              : adamw_step(c, &self->adamw, &self->parameters, NULL);
  c->part = PD_PART_NONE;
  return status;
}

static pd_status optimizer_step(const pd_train *train) {
  train_kit *kit = kit_state_of(train);
  if (kit->config.cuda_graph && !kit->told_no_graph) {
    kit->told_no_graph = true;
    kit->c.host->log(kit->c.host, PD_LOG_WARN,
                     "[train] cuda_graph = true: this scenario calls the parts of the step, so that no graph is "
                     "captured; set cuda_graph = false");
  }
  const pd_status status = update(kit);
  return status == PD_OK ? losses_commit(&kit->c, &kit->losses) : status;
}

/* zero_grad to the update: what a graph holds. */
static pd_status compute(const pd_train *train) {
  pd_status status = zero_grad(train);
  if (status == PD_OK) status = forward(train);
  if (status == PD_OK) status = backward(train);
  if (status == PD_OK) status = update(kit_state_of(train));
  return status;
}

static pd_status capture(train_kit *self) {
  train_context *c = &self->c;
  pd_status status = c->streams->capture_begin(c->device, c->stream);
  if (status != PD_OK) return status;
  status = compute(&self->table);
  pd_graph *graph = NULL;
  const pd_status ended = c->streams->capture_end(c->device, c->stream, &graph);
  if (status == PD_OK) status = ended;
  if (status != PD_OK) {
    if (graph) c->streams->graph_destroy(c->device, graph);
    return status;
  }
  self->graph = graph;
  tape_captured(c->tape);
  self->graph_images = self->input.images;
  self->graph_rounds = self->rounds;
  return PD_OK;
}

static bool graph_fits(const train_kit *self) {
  return self->graph && self->graph_rounds == self->rounds && self->graph_images.data == self->input.images.data &&
         !memcmp(self->graph_images.shape, self->input.images.shape, sizeof self->graph_images.shape);
}

static pd_status replay(train_kit *self) {
  static pd_site site = PD_SITE("graph replay", PD_RANGE_USER);
  const bool begun = OP_BEGIN(&self->c, &site, .sequence = 0);
  const pd_status status = self->c.streams->graph_launch(self->c.device, self->c.stream, self->graph);
  op_end(&self->c, begun);
  return status;
}

static pd_status step(const pd_train *train, const pd_step *at) {
  train_kit *kit = kit_state_of(train);
  pd_status status = to_device(train, at, NULL);
  if (status != PD_OK) return status;
  status = graph_fits(kit) ? replay(kit) : compute(train);
  if (status == PD_OK) status = losses_commit(&kit->c, &kit->losses);
  if (status == PD_OK && kit->config.cuda_graph && !kit->graph) status = capture(kit);
  return status;
}

/* ---- what a step computes ---- */

static pd_status narrow(const pd_train *train, int64_t first, int64_t count) {
  train_kit *kit = kit_state_of(train);
  const int64_t samples = kit->input.images.data ? kit->input.images.shape[0] : 0;
  if (first < 0 || count < 1 || count > samples || first > samples - count)
    return kit->c.host->fail(kit->c.host, PD_INVALID, "narrow: %lld samples from %lld on, of a batch of %lld",
                             (long long)count, (long long)first, (long long)samples);
  kit->narrow_first = first;
  kit->narrow_count = count;
  return PD_OK;
}

static pd_status tiny_ops_rounds(const pd_train *train, uint32_t rounds) {
  train_kit *kit = kit_state_of(train);
  if (!kit->tiny_ops_block)
    return kit->c.host->fail(kit->c.host, PD_INVALID, "tiny_ops_rounds: the model has no TinyOpsBlock");
  if (rounds > TINY_OPS_ROUNDS_MOST)
    return kit->c.host->fail(kit->c.host, PD_INVALID, "tiny_ops_rounds: %u rounds, of at most %d", rounds,
                             (int)TINY_OPS_ROUNDS_MOST);
  kit->rounds = rounds;
  return PD_OK;
}

/* ---- gradients of several ranks ---- */

static pd_status parameter(const pd_train *train, uint32_t index, pd_train_parameter *out) {
  const train_kit *kit = kit_state_of(train);
  if (index >= kit->parameters.count) return PD_STOP;
  const train_parameter_state *p = &kit->parameters.at[index];
  const pd_train_parameter all = {.size = out->size,
                                  .name = p->name,
                                  .value = p->value.data,
                                  .grad = p->grad.data,
                                  .count = tensor_count(&p->value)};
  memcpy(out, &all, out->size < sizeof all ? out->size : sizeof all);
  return PD_OK;
}

static pd_status place_gradient(const pd_train *train, uint32_t index, float *memory) {
  train_kit *kit = kit_state_of(train);
  if (index >= kit->parameters.count || kit->forward_count)
    return kit->c.host->fail(kit->c.host, PD_INVALID, "place_gradient: there is no parameter %u, or a step was done",
                             index);
  parameter_place_grad(&kit->c, &kit->parameters.at[index], memory);
  return PD_OK;
}

static pd_status on_gradient(const pd_train *train, pd_status (*ready)(void *user, uint32_t index), void *user) {
  kit_state_of(train)->c.listener = (gradient_listener){ready, user};
  return PD_OK;
}

/* ---- life ---- */

static pd_status find_index(train_context *c, const pd_device_ops *ops) {
  pd_device_props props = {.size = sizeof props};
  const pd_status status = ops->props(c->device, &props);
  c->device_index = props.index;
  return status;
}

pd_status train_kit_open(const pd_host *host, const pd_device_access *device, const pd_record *record,
                         const train_config *config, train_kit **out) {
  *out = NULL;
  train_kit *kit = calloc(1, sizeof *kit);
  if (!kit) return host->fail(host, PD_NO_MEMORY, "training kit: no memory");
  train_context *c = &kit->c;
  kit->config = *config;
  kit->rounds = TINY_OPS_ROUNDS;
  *c = (train_context){.host = host,
                       .record = record,
                       .device = device->device,
                       .stream = device->stream,
                       .memory = device->ops->memory,
                       .streams = device->ops->stream,
                       .dtype = device_check_dtype(config),
                       .layout = config->channels_last ? PD_NHWC : PD_NCHW,
                       .fused = config->fused,
                       .tf32 = config->tf32,
                       .with_flops = config->with_flops,
                       .with_modules = config->with_modules};
  const pd_tensor_ops *t = device->ops->tensor;
  memcpy(&c->t, t, t->size < sizeof c->t ? t->size : sizeof c->t);
  kit->input.fixed = config->cuda_graph;
  kit->table = (pd_train){.size = sizeof(pd_train),
                          .impl = kit,
                          .configure = configure,
                          .step = step,
                          .to_device = to_device,
                          .zero_grad = zero_grad,
                          .forward = forward,
                          .item = item,
                          .backward = backward,
                          .optimizer_step = optimizer_step,
                          .empty_like = kit_tensors_empty_like,
                          .tensor_free = kit_tensors_free,
                          .randn = kit_tensors_randn,
                          .mean = kit_tensors_mean,
                          .add = kit_tensors_add,
                          .narrow = narrow,
                          .tiny_ops_rounds = tiny_ops_rounds,
                          .parameter = parameter,
                          .place_gradient = place_gradient,
                          .on_gradient = on_gradient};
  pd_status status = device_check(c->host, device, config);
  if (status == PD_OK) status = find_index(c, device->ops);
  if (status == PD_OK) status = tape_open(c, &c->tape);
  if (status == PD_OK) status = caching_allocator_open(c, &kit->cache);
  if (status == PD_OK) status = losses_open(c, &kit->losses, config->cuda_graph);
  if (status == PD_OK) status = adamw_open(c, &kit->adamw, config->lr);
  if (status == PD_OK && device_check_scales(config)) status = scaler_open(c, &kit->scaler);
  if (status == PD_OK) status = model_build(c, &kit->parameters, config, 1);
  if (status != PD_OK) {
    train_kit_close(kit);
    return status;
  }
  *out = kit;
  return PD_OK;
}

void train_kit_close(train_kit *self) {
  if (!self) return;
  train_context *c = &self->c;
  /* What is freed here may still be in use on the device; an error was reported where it happened. */
  (void)c->streams->synchronize(c->device, c->stream);
  if (self->graph) c->streams->graph_destroy(c->device, self->graph);
  parameters_close(c, &self->parameters);
  scaler_close(c, &self->scaler);
  adamw_close(c, &self->adamw);
  losses_close(c, &self->losses);
  input_close(c, &self->input);
  caching_allocator_close(c, self->cache);
  tape_close(c, c->tape);
  free(self);
}

const pd_train *train_kit_table(const train_kit *self) { return &self->table; }

pd_status train_kit_keep(train_kit *self, const pd_batch *batch) { return input_keep(&self->c, &self->input, batch); }

pd_status train_kit_losses(train_kit *self, double *losses, uint64_t capacity, uint64_t *count) {
  return losses_read(&self->c, &self->losses, losses, capacity, count);
}

pd_status train_kit_loss_scale(train_kit *self, double *scale) {
  float value = 1;
  pd_status status = PD_OK;
  if (device_check_scales(&self->config)) status = scaler_item(&self->c, &self->scaler.scale, &value);
  *scale = (double)value;
  return status;
}

void train_kit_offer_next(train_kit *self, const pd_batch *next) { self->next = next; }

pd_status train_kit_forget_next(train_kit *self) {
  self->next = NULL;
  return input_forget(&self->c, &self->input);
}
