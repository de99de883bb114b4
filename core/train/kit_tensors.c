/* Tensors of a scenario's own, of the training kit's table. */
#include "kit_state.h"

pd_status kit_tensors_empty_like(const pd_train *train, const pd_tensor *like, pd_allocator allocator, pd_tensor *out) {
  static pd_site site = PD_SITE("aten::empty_like", PD_RANGE_OP);
  train_kit *kit = kit_state_of(train);
  train_context *c = &kit->c;
  *out = tensor_like(like, PD_F32);
  out->layout = PD_NCHW;
  if (allocator != PD_ALLOCATOR_CACHED && allocator != PD_ALLOCATOR_POOL && allocator != PD_ALLOCATOR_RAW)
    return c->host->fail(c->host, PD_INVALID, "empty_like: allocator %u is none of pool, raw and cached", allocator);
  const bool begun = OP_BEGIN(c, &site, .inputs = {like});
  const pd_status status = allocator == PD_ALLOCATOR_CACHED
                               ? caching_allocator_alloc(c, kit->cache, tensor_bytes(out), &out->data)
                               : c->memory->alloc(c->device, c->stream, allocator, tensor_bytes(out), &out->data);
  op_end(c, begun);
  return status;
}

pd_status kit_tensors_free(const pd_train *train, pd_allocator allocator, pd_tensor *tensor) {
  train_kit *kit = kit_state_of(train);
  train_context *c = &kit->c;
  const pd_status status = allocator == PD_ALLOCATOR_CACHED
                               ? caching_allocator_free(c, kit->cache, tensor->data)
                               : c->memory->free(c->device, c->stream, allocator, tensor_bytes(tensor), tensor->data);
  tensor->data = NULL;
  return status;
}

pd_status kit_tensors_randn(const pd_train *train, pd_tensor *y) {
  static pd_site site = PD_SITE("aten::normal_", PD_RANGE_OP);
  train_kit *kit = kit_state_of(train);
  pd_status status = input_own(&kit->c, &kit->input, y);
  if (status != PD_OK) return status;
  const bool begun = OP_BEGIN(&kit->c, &site, .inputs = {y});
  status = kit->c.t.randn(kit->c.device, kit->c.stream, y, kit->config.seed, kit->random_offset);
  op_end(&kit->c, begun);
  kit->random_offset += (uint64_t)tensor_count(y);
  return status;
}

pd_status kit_tensors_mean(const pd_train *train, pd_tensor *y, const pd_tensor *x) {
  static pd_site site = PD_SITE("aten::mean", PD_RANGE_OP);
  const train_context *c = &kit_state_of(train)->c;
  const bool begun = OP_BEGIN(c, &site, .inputs = {x});
  const pd_status status = c->t.mean(c->device, c->stream, y, x);
  op_end(c, begun);
  return status;
}

pd_status kit_tensors_add(const pd_train *train, pd_tensor *y, const pd_tensor *a, const pd_tensor *b, double alpha) {
  static pd_site site = PD_SITE("aten::add", PD_RANGE_OP);
  train_kit *kit = kit_state_of(train);
  const pd_tensor from = *a; /* y may be a, and move */
  pd_status status = input_own(&kit->c, &kit->input, y);
  if (status != PD_OK) return status;
  const bool begun = OP_BEGIN(&kit->c, &site, .inputs = {&from, b});
  status = kit->c.t.elementwise(kit->c.device, kit->c.stream, PD_EW_ADD, y, &from, b, alpha);
  op_end(&kit->c, begun);
  return status;
}
