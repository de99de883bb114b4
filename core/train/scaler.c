/* See scaler.h. */
#include "scaler.h"

static const float first_scale = 65536.0F;

static pd_status make(const train_context *c, pd_tensor *tensor, pd_dtype dtype, const void *value) {
  *tensor = tensor_vector(dtype, 1);
  const pd_status status = train_alloc(c, tensor);
  if (status != PD_OK) return status;
  return c->memory->copy(c->device, c->stream, tensor->data, value, tensor_bytes(tensor), PD_COPY_HOST_TO_DEVICE);
}

pd_status scaler_open(train_context *c, scaler_state *scaler) {
  static const float none = 0;
  static const int32_t zero = 0;
  pd_status status = make(c, &scaler->scale, PD_F32, &first_scale);
  if (status == PD_OK) status = make(c, &scaler->found_inf, PD_F32, &none);
  if (status == PD_OK) status = make(c, &scaler->good_steps, PD_I32, &zero);
  return status;
}

void scaler_close(train_context *c, scaler_state *scaler) {
  train_free(c, &scaler->scale);
  train_free(c, &scaler->found_inf);
  train_free(c, &scaler->good_steps);
}

pd_status scaler_item(const train_context *c, const pd_tensor *tensor, float *out) {
  static pd_site item = PD_SITE("aten::item", PD_RANGE_OP);
  static pd_site local = PD_SITE("aten::_local_scalar_dense", PD_RANGE_OP);
  const bool outer = OP_BEGIN(c, &item, .inputs = {tensor});
  const bool inner = OP_BEGIN(c, &local, .inputs = {tensor});
  pd_status status = c->memory->copy(c->device, c->stream, out, tensor->data, sizeof *out, PD_COPY_DEVICE_TO_HOST);
  if (status == PD_OK) status = c->streams->synchronize(c->device, c->stream);
  op_end(c, inner);
  op_end(c, outer);
  return status;
}

pd_status scaler_step(train_context *c, scaler_state *scaler, adamw_state *adamw, parameters *all, bool read_back) {
  static pd_site unscale = PD_SITE("aten::_amp_foreach_non_finite_check_and_unscale_", PD_RANGE_OP);
  static pd_site update = PD_SITE("aten::_amp_update_scale_", PD_RANGE_OP);
  const pd_scaler state = {.scale = scaler->scale.data,
                           .found_inf = scaler->found_inf.data,
                           .good_steps = scaler->good_steps.data,
                           .growth = 2,
                           .backoff = 0.5,
                           .interval = 2000};
  pd_parameter list[PARAMETERS_MAX];
  const int64_t count = adamw_list(c, all, list);
  if (!count) return PD_OK;
  float bad = 0;
  bool begun = OP_BEGIN(c, &unscale, .inputs = {&scaler->found_inf, &scaler->scale});
  pd_status status = c->t.unscale(c->device, c->stream, list, count, &state);
  op_end(c, begun);
  if (status == PD_OK && read_back) status = scaler_item(c, &scaler->found_inf, &bad);
  if (status == PD_OK && bad == 0) status = adamw_step(c, adamw, all, read_back ? NULL : &scaler->found_inf);
  if (status != PD_OK) return status;
  begun = OP_BEGIN(c, &update, .inputs = {&scaler->scale, &scaler->good_steps, &scaler->found_inf});
  status = c->t.scaler_update(c->device, c->stream, &state);
  op_end(c, begun);
  return status;
}
