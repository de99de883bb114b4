/* See losses.h. */
#include "losses.h"

#include <stdlib.h>

pd_status losses_open(train_context *c, loss_history *losses, bool fixed) {
  losses->ring = tensor_vector(PD_F32, TRAIN_LOSSES_KEPT);
  losses->fixed = tensor_vector(PD_F32, 1);
  pd_status status = train_alloc(c, &losses->ring);
  if (status == PD_OK && fixed) status = train_alloc(c, &losses->fixed);
  /* A loss read before the first step is 0, not garbage. */
  if (status == PD_OK) status = c->t.fill(c->device, c->stream, &losses->ring, 0);
  losses->current = tensor_vector(PD_F32, 1);
  losses->current.data = losses->ring.data;
  return status;
}

void losses_close(train_context *c, loss_history *losses) {
  train_free(c, &losses->ring);
  train_free(c, &losses->fixed);
}

static float *place(const loss_history *self, uint64_t step) {
  return (float *)self->ring.data + step % TRAIN_LOSSES_KEPT;
}

const pd_tensor *losses_slot(loss_history *self) {
  self->current.data = self->fixed.data ? self->fixed.data : place(self, self->done);
  return &self->current;
}

pd_status losses_commit(train_context *c, loss_history *losses) {
  static pd_site site = PD_SITE("aten::copy_", PD_RANGE_OP);
  pd_status status = PD_OK;
  if (losses->fixed.data) {
    const bool begun = OP_BEGIN(c, &site, .inputs = {&losses->fixed});
    status = c->memory->copy(c->device, c->stream, place(losses, losses->done), losses->fixed.data, sizeof(float),
                             PD_COPY_DEVICE_TO_DEVICE);
    op_end(c, begun);
  }
  losses->done++;
  return status;
}

pd_status losses_read(train_context *c, loss_history *losses, double *out, uint64_t capacity, uint64_t *count) {
  *count = 0;
  if (losses->done - losses->read > TRAIN_LOSSES_KEPT) losses->read = losses->done - TRAIN_LOSSES_KEPT;
  const uint64_t wanted = losses->done - losses->read < capacity ? losses->done - losses->read : capacity;
  if (!wanted) return PD_OK;
  float *values = malloc(wanted * sizeof *values);
  if (!values) return c->host->fail(c->host, PD_NO_MEMORY, "training kit: no memory to read the losses");
  /* One copy, or two where the ring's end lies between. */
  const uint64_t first = TRAIN_LOSSES_KEPT - losses->read % TRAIN_LOSSES_KEPT < wanted
                             ? TRAIN_LOSSES_KEPT - losses->read % TRAIN_LOSSES_KEPT
                             : wanted;
  pd_status status = c->memory->copy(c->device, c->stream, values, place(losses, losses->read), first * sizeof *values,
                                     PD_COPY_DEVICE_TO_HOST);
  if (status == PD_OK && wanted > first)
    status = c->memory->copy(c->device, c->stream, values + first, losses->ring.data, (wanted - first) * sizeof *values,
                             PD_COPY_DEVICE_TO_HOST);
  if (status == PD_OK) status = c->streams->synchronize(c->device, c->stream);
  if (status == PD_OK) {
    for (uint64_t i = 0; i < wanted; i++) out[i] = (double)values[i];
    losses->read += wanted;
    *count = wanted;
  }
  free(values);
  return status;
}
