/* See kit_reads.h. */
#include "kit_reads.h"

#include "train/kit_state.h"

#include <stdlib.h>
#include <string.h>

pd_status parameter_read(train_context *c, const pd_tensor *tensor, float *out) {
  const uint64_t bytes = tensor_bytes(tensor);
  const bool reorder = tensor->rank == 4 && tensor->layout == PD_NHWC;
  float *host = reorder ? malloc(bytes) : out;
  if (!host) return c->host->fail(c->host, PD_NO_MEMORY, "no memory to read a parameter");
  pd_status status = c->memory->copy(c->device, c->stream, host, tensor->data, bytes, PD_COPY_DEVICE_TO_HOST);
  if (status == PD_OK) status = c->streams->synchronize(c->device, c->stream);
  if (reorder) {
    if (status == PD_OK) tensor_reorder(out, host, tensor->shape, false);
    free(host);
  }
  return status;
}

uint32_t train_kit_parameter_count(const train_kit *kit) { return kit->parameters.count; }

pd_status train_kit_parameter(const train_kit *kit, uint32_t index, train_parameter *out) {
  if (index >= kit->parameters.count) return PD_INVALID;
  const train_parameter_state *p = &kit->parameters.at[index];
  *out = (train_parameter){.name = p->name, .rank = p->value.rank, .count = tensor_count(&p->value)};
  memcpy(out->shape, p->value.shape, sizeof out->shape);
  return PD_OK;
}

pd_status train_kit_read_value(train_kit *kit, uint32_t index, float *out) {
  if (index >= kit->parameters.count) return PD_INVALID;
  return parameter_read(&kit->c, &kit->parameters.at[index].value, out);
}

pd_status train_kit_read_grad(train_kit *kit, uint32_t index, float *out, bool *present) {
  if (index >= kit->parameters.count) return PD_INVALID;
  *present = kit->parameters.at[index].has_grad;
  return *present ? parameter_read(&kit->c, &kit->parameters.at[index].grad, out) : PD_OK;
}

pd_status train_kit_read_logits(train_kit *kit, float *out) {
  train_context *c = &kit->c;
  if (!kit->logits) return c->host->fail(c->host, PD_INVALID, "training kit: no forward pass has run");
  const pd_tensor *logits = &kit->logits->value;
  if (logits->dtype == PD_F32) return parameter_read(c, logits, out);
  pd_tensor whole = tensor_like(logits, PD_F32);
  pd_status status = train_alloc(c, &whole);
  if (status == PD_OK) status = c->t.convert(c->device, c->stream, &whole, logits);
  if (status == PD_OK) status = parameter_read(c, &whole, out);
  train_free(c, &whole);
  return status;
}
