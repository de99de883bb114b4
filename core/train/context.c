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

module_mark train_module_begin(train_context *c, module_site *site) {
  module_mark mark = {.outer = c->module};
  if (!c->with_modules || !pd_record_on(c->record)) return mark;
  if (!site->path.id) site->path.id = c->record->intern(c->record, site->path.text);
  c->module = site->path.id; /* before its range begins, which names it too */
  mark.begun = OP_BEGIN(c, &site->range, .sequence = 0);
  if (!mark.begun) c->module = mark.outer;
  return mark;
}

void train_module_end(train_context *c, module_mark mark) {
  c->module = mark.outer;
  op_end(c, mark.begun);
}
