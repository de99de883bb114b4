/* See context.h. */
#include "context.h"

pd_status train_alloc(const train_context *c, pd_tensor *tensor) {
  return c->memory->alloc(c->device, c->stream, PD_ALLOCATOR_POOL, tensor_bytes(tensor), &tensor->data);
}

void train_free(const train_context *c, pd_tensor *tensor) {
  if (!tensor->data) return;
  /* A failure here is a failure of the device, which the next synchronisation reports. */
  (void)c->memory->free(c->device, c->stream, PD_ALLOCATOR_POOL, tensor_bytes(tensor), tensor->data);
  tensor->data = NULL;
}

bool op_begin(const train_context *c, pd_site *site, const op_about *about) {
  pd_shape shapes[4];
  uint32_t count = 0;
  for (; count < 4 && about->inputs[count]; count++) {
    const pd_tensor *input = about->inputs[count];
    shapes[count] = (pd_shape){.rank = input->rank, .dtype = input->dtype};
    for (uint32_t i = 0; i < input->rank; i++) shapes[count].dims[i] = input->shape[i];
  }
  const pd_range_info info = {.size = sizeof info,
                              .part = c->part,
                              .flops = c->with_flops ? about->flops : 0,
                              .sequence = about->sequence,
                              .backward = about->backward,
                              .shape_count = count,
                              .module = c->module,
                              .shapes = shapes};
  return pd_range_begin(c->record, site, &info);
}

module_mark module_begin(train_context *c, module_site *site) {
  const module_mark mark = {.outer = c->module, .begun = c->with_modules && OP_BEGIN(c, &site->range, .sequence = 0)};
  if (mark.begun) {
    if (!site->path.id) site->path.id = c->record->intern(c->record, site->path.text);
    c->module = site->path.id;
  }
  return mark;
}

void module_end(train_context *c, module_mark mark) {
  c->module = mark.outer;
  op_end(c, mark.begun);
}
