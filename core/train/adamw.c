/* See adamw.h. Fused, the update writes the half precision copies too; else they are cast anew at their next use. */
#include "adamw.h"

pd_status adamw_open(train_context *c, adamw_state *adamw, double lr) {
  static const int64_t zero = 0;
  adamw->lr = lr;
  adamw->step = tensor_vector(PD_I64, 1);
  const pd_status status = train_alloc(c, &adamw->step);
  if (status != PD_OK) return status;
  return c->memory->copy(c->device, c->stream, adamw->step.data, &zero, sizeof zero, PD_COPY_HOST_TO_DEVICE);
}

void adamw_close(train_context *c, adamw_state *adamw) { train_free(c, &adamw->step); }

int64_t adamw_list(const train_context *c, const parameters *all, pd_parameter list[PARAMETERS_MAX]) {
  int64_t count = 0;
  for (uint32_t i = 0; i < all->count; i++) {
    const train_parameter_state *p = &all->at[i];
    if (!p->has_grad) continue;
    list[count] = (pd_parameter){.value = p->value.data,
                                 .grad = p->grad.data,
                                 .m = p->m.data,
                                 .v = p->v.data,
                                 .half = c->fused ? p->cast.data : NULL,
                                 .count = tensor_count(&p->value)};
    count++;
  }
  return count;
}

pd_status adamw_step(train_context *c, adamw_state *adamw, parameters *all, const pd_tensor *found_inf) {
  static pd_site step = PD_SITE("Optimizer.step#AdamW.step", PD_RANGE_USER);
  static pd_site update = PD_SITE("aten::_fused_adamw_", PD_RANGE_OP);
  pd_parameter list[PARAMETERS_MAX];
  const int64_t count = adamw_list(c, all, list);
  const pd_adamw how = {.size = sizeof how,
                        .half_dtype = c->dtype,
                        .lr = adamw->lr,
                        .beta1 = 0.9,
                        .beta2 = 0.999,
                        .eps = 1e-8,
                        .weight_decay = 0.01,
                        .step = adamw->step.data,
                        .found_inf = found_inf ? found_inf->data : NULL};
  const bool outer = OP_BEGIN(c, &step, .sequence = 0);
  const bool inner = OP_BEGIN(c, &update, .sequence = 0);
  const pd_status status = count ? c->t.adamw(c->device, c->stream, list, count, &how) : PD_OK;
  op_end(c, inner);
  op_end(c, outer);
  for (uint32_t i = 0; i < all->count; i++)
    if (all->at[i].has_grad && !c->fused) all->at[i].cast_fresh = false;
  return status;
}
