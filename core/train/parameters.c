/* See parameters.h. */
#include "parameters.h"

#include "tape.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

static uint64_t splitmix64(uint64_t z) {
  z += 0x9E3779B97F4A7C15u;
  z = (z ^ (z >> 30)) * 0xBF58476D1CE4E5B9u;
  z = (z ^ (z >> 27)) * 0x94D049BB133111EBu;
  return z ^ (z >> 31);
}

/* Streams beyond 32 bits, of large seeds, differ too. */
static double uniform(uint64_t stream, uint64_t i) {
  const uint64_t high = (stream >> 32) * 0xD1B54A32D192ED03u;
  return (double)(splitmix64((stream << 32) + high + i) >> 11) * 0x1p-53;
}

static void first_values(float *out, int64_t count, uint64_t stream, const parameter_kind *kind) {
  const double bound = 1.0 / sqrt((double)kind->fan_in);
  for (int64_t i = 0; i < count; i++)
    out[i] = kind->start == PARAMETER_ONE    ? 1.0F
             : kind->start == PARAMETER_ZERO ? 0.0F
                                             : (float)((2.0 * uniform(stream, (uint64_t)i) - 1.0) * bound);
}

/* Uploads `values`, given in (O,I,H,W) order; `scratch` has room for as many. */
static pd_status upload(const train_context *c, const pd_tensor *to, const float *values, float *scratch) {
  if (to->rank == 4 && to->layout == PD_NHWC) {
    tensor_reorder(scratch, values, to->shape, true);
    values = scratch;
  }
  return c->memory->copy(c->device, c->stream, to->data, values, tensor_bytes(to), PD_COPY_HOST_TO_DEVICE);
}

pd_status parameters_add(train_context *c, parameters *all, uint64_t seed, const parameter_kind *kind) {
  const int64_t count = tensor_count(&kind->shape);
  if (all->count == PARAMETERS_MAX)
    return c->host->fail(c->host, PD_NO_MEMORY, "training kit: more than %d parameters", PARAMETERS_MAX);
  train_parameter_state *p = &all->at[all->count++];
  *p = (train_parameter_state){.name = kind->name, .index = all->count - 1, .own_grad = true};
  p->value = tensor_like(&kind->shape, PD_F32);
  if (p->value.rank == 4) p->value.layout = c->layout;
  p->grad = p->m = p->v = p->value;
  p->cast = tensor_like(&p->value, c->dtype);
  float *values = malloc(2 * (size_t)count * sizeof *values);
  pd_status status = PD_OK;
  if (!values) status = c->host->fail(c->host, PD_NO_MEMORY, "training kit: no memory for %s", kind->name);
  if (status == PD_OK) status = train_alloc(c, &p->value);
  if (status == PD_OK) status = train_alloc(c, &p->grad);
  if (status == PD_OK) status = train_alloc(c, &p->m);
  if (status == PD_OK) status = train_alloc(c, &p->v);
  if (status == PD_OK && kind->multiplied && c->dtype != PD_F32) status = train_alloc(c, &p->cast);
  if (status == PD_OK && values) {
    first_values(values, count, seed * 1000 + (all->count - 1), kind);
    status = upload(c, &p->value, values, values + count);
  }
  if (status == PD_OK) status = c->t.fill(c->device, c->stream, &p->m, 0);
  if (status == PD_OK) status = c->t.fill(c->device, c->stream, &p->v, 0);
  free(values);
  return status;
}

void parameter_place_grad(train_context *c, train_parameter_state *parameter, float *memory) {
  if (parameter->own_grad) train_free(c, &parameter->grad);
  parameter->own_grad = false;
  parameter->grad.data = memory;
}

void parameters_close(train_context *c, parameters *all) {
  for (uint32_t i = 0; i < all->count; i++) {
    train_parameter_state *p = &all->at[i];
    train_free(c, &p->value);
    if (p->own_grad) train_free(c, &p->grad);
    train_free(c, &p->m);
    train_free(c, &p->v);
    train_free(c, &p->cast);
  }
  all->count = 0;
}

pd_status parameter_use(train_context *c, train_parameter_state *parameter, const pd_tensor **out) {
  static pd_site to = PD_SITE("aten::to", PD_RANGE_OP);
  static pd_site copy = PD_SITE("aten::copy_", PD_RANGE_OP);
  *out = parameter->cast.data ? &parameter->cast : &parameter->value;
  if (!parameter->cast.data || parameter->cast_fresh) return PD_OK;
  const bool outer = OP_BEGIN(c, &to, .inputs = {&parameter->value});
  const bool inner = OP_BEGIN(c, &copy, .inputs = {&parameter->cast, &parameter->value});
  const pd_status status = c->t.convert(c->device, c->stream, &parameter->cast, &parameter->value);
  op_end(c, inner);
  op_end(c, outer);
  parameter->cast_fresh = status == PD_OK;
  return status;
}

pd_status parameter_grad_begin(train_context *c, train_parameter_state *parameter, pd_tensor *target) {
  *target = parameter->grad;
  if (!parameter->has_grad) return PD_OK;
  target->data = NULL;
  return tape_buffer(c, target);
}

pd_status parameter_grad_done(train_context *c, train_parameter_state *parameter, const pd_tensor *target) {
  static pd_site site = PD_SITE("aten::add_", PD_RANGE_OP);
  parameter->has_grad = true;
  if (target->data == parameter->grad.data) return PD_OK;
  const bool begun = OP_BEGIN(c, &site, .inputs = {&parameter->grad, target});
  const pd_status status =
      c->t.elementwise(c->device, c->stream, PD_EW_ADD, &parameter->grad, &parameter->grad, target, 1.0);
  op_end(c, begun);
  return status;
}
