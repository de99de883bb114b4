/* See input.h. */
#include "input.h"

#include <pdhost/array.h>

#include <stdlib.h>

void input_close(train_context *c, input *in) {
  input_ahead *ahead = &in->ahead;
  (void)input_forget(c, in); /* a failure here is the device's own and has been reported where it happened */
  if (ahead->copied) c->streams->event_destroy(c->device, ahead->copied);
  if (ahead->reusable) c->streams->event_destroy(c->device, ahead->reusable);
  if (ahead->stream) c->streams->destroy(c->device, ahead->stream);
  train_free(c, &ahead->images);
  train_free(c, &ahead->labels);
  train_free(c, &in->own_images);
  train_free(c, &in->own_labels);
  for (uint64_t i = 0; i < in->resident_count; i++) {
    train_free(c, &in->residents[i].images);
    train_free(c, &in->residents[i].labels);
  }
  free(in->residents);
  *in = (input){0};
}

/* Room for `shape` in a buffer that only grows; `view` is the part of it that is used. */
static pd_status fit(train_context *c, pd_tensor *buffer, const pd_tensor *shape, pd_tensor *view) {
  if (!buffer->data || tensor_bytes(buffer) < tensor_bytes(shape)) {
    train_free(c, buffer);
    *buffer = *shape;
    buffer->data = NULL;
    const pd_status status = train_alloc(c, buffer);
    if (status != PD_OK) return status;
  }
  *view = *shape;
  view->data = buffer->data;
  return PD_OK;
}

static pd_status copy(train_context *c, pd_stream *stream, const pd_tensor *to, const void *from, pd_copy_kind kind) {
  static pd_site site_to = PD_SITE("aten::to", PD_RANGE_OP);
  static pd_site site_copy = PD_SITE("aten::copy_", PD_RANGE_OP);
  const bool outer = OP_BEGIN(c, &site_to, .inputs = {to});
  const bool inner = OP_BEGIN(c, &site_copy, .inputs = {to});
  const pd_status status = c->memory->copy(c->device, stream, to->data, from, tensor_bytes(to), kind);
  op_end(c, inner);
  op_end(c, outer);
  return status;
}

static pd_status upload(train_context *c, pd_stream *stream, const pd_tensor *images, const pd_tensor *labels,
                        const pd_batch *batch) {
  pd_status status = copy(c, stream, images, batch->images, PD_COPY_HOST_TO_DEVICE);
  return status == PD_OK ? copy(c, stream, labels, batch->labels, PD_COPY_HOST_TO_DEVICE) : status;
}

static pd_status copy_on_device(train_context *c, input *in, const pd_tensor *images, const pd_tensor *labels) {
  const pd_status status = copy(c, c->stream, &in->images, images->data, PD_COPY_DEVICE_TO_DEVICE);
  return status == PD_OK ? copy(c, c->stream, &in->labels, labels->data, PD_COPY_DEVICE_TO_DEVICE) : status;
}

static pd_tensor images_of(const pd_batch *batch) {
  return tensor_image(PD_F32, PD_NCHW, batch->count, batch->channels, batch->height, batch->width);
}
static pd_tensor labels_of(const pd_batch *batch) { return tensor_vector(PD_I64, batch->count); }

/* The device copy of a resident batch; made on first sight. */
static pd_status find_resident(train_context *c, input *in, const pd_batch *batch, const input_resident **out) {
  for (uint64_t i = 0; i < in->resident_count; i++) {
    *out = &in->residents[i];
    if (in->residents[i].number == batch->resident) return PD_OK;
  }
  if (!PD_ARRAY_FIT(in->residents, in->resident_capacity, in->resident_count + 1))
    return c->host->fail(c->host, PD_NO_MEMORY, "training kit: no memory for resident batches");
  input_resident made = {.number = batch->resident, .images = images_of(batch), .labels = labels_of(batch)};
  pd_status status = train_alloc(c, &made.images);
  if (status == PD_OK) status = train_alloc(c, &made.labels);
  if (status == PD_OK) status = upload(c, c->stream, &made.images, &made.labels, batch);
  if (status != PD_OK) {
    train_free(c, &made.images);
    train_free(c, &made.labels);
    return status;
  }
  in->residents[in->resident_count] = made;
  *out = &in->residents[in->resident_count++];
  return PD_OK;
}

pd_status input_keep(train_context *c, input *in, const pd_batch *batch) {
  const input_resident *resident;
  return batch->resident ? find_resident(c, in, batch, &resident) : PD_OK;
}

/* The buffers change places; one that a captured graph reads is copied to instead. */
static pd_status take_ahead(train_context *c, input *in, const pd_tensor *images, const pd_tensor *labels) {
  input_ahead *ahead = &in->ahead;
  ahead->from = NULL;
  pd_status status = c->streams->event_wait(c->device, c->stream, ahead->copied);
  if (status == PD_OK && !in->fixed) {
    const pd_tensor own_images = in->own_images, own_labels = in->own_labels;
    in->own_images = ahead->images;
    in->own_labels = ahead->labels;
    ahead->images = own_images;
    ahead->labels = own_labels;
  }
  if (status == PD_OK) status = fit(c, &in->own_images, images, &in->images);
  if (status == PD_OK) status = fit(c, &in->own_labels, labels, &in->labels);
  return status == PD_OK && in->fixed ? copy_on_device(c, in, &ahead->images, &ahead->labels) : status;
}

pd_status input_fetch(train_context *c, input *in, const pd_batch *batch) {
  input_ahead *ahead = &in->ahead;
  const pd_tensor images = images_of(batch), labels = labels_of(batch);
  pd_tensor image_view, label_view;
  pd_status status = input_forget(c, in);
  if (status != PD_OK || batch->resident) return status;
  if (!ahead->stream) status = c->streams->create(c->device, &ahead->stream);
  if (status == PD_OK && !ahead->copied) status = c->streams->event_create(c->device, &ahead->copied);
  if (status == PD_OK && !ahead->reusable) status = c->streams->event_create(c->device, &ahead->reusable);
  if (status == PD_OK) status = fit(c, &ahead->images, &images, &image_view);
  if (status == PD_OK) status = fit(c, &ahead->labels, &labels, &label_view);
  if (status == PD_OK) status = c->streams->event_record(c->device, c->stream, ahead->reusable);
  if (status == PD_OK) status = c->streams->event_wait(c->device, ahead->stream, ahead->reusable);
  if (status == PD_OK) status = upload(c, ahead->stream, &image_view, &label_view, batch);
  if (status == PD_OK) status = c->streams->event_record(c->device, ahead->stream, ahead->copied);
  if (status != PD_OK) return status;
  ahead->index = batch->index;
  ahead->from = batch->images;
  return PD_OK;
}

pd_status input_forget(train_context *c, input *in) {
  if (!in->ahead.from) return PD_OK;
  in->ahead.from = NULL;
  return c->streams->event_synchronize(c->device, in->ahead.copied);
}

pd_status input_take(train_context *c, input *in, const pd_batch *batch) {
  const pd_tensor images = images_of(batch), labels = labels_of(batch);
  const input_resident *resident = NULL;
  pd_status status = PD_OK;
  if (batch->resident) {
    status = find_resident(c, in, batch, &resident);
    if (status != PD_OK || !resident) return status;
    if (!in->fixed) {
      in->images = resident->images;
      in->labels = resident->labels;
      return PD_OK;
    }
  }
  if (in->ahead.from && in->ahead.from == batch->images && in->ahead.index == batch->index)
    return take_ahead(c, in, &images, &labels);
  status = fit(c, &in->own_images, &images, &in->images);
  if (status == PD_OK) status = fit(c, &in->own_labels, &labels, &in->labels);
  if (status != PD_OK) return status;
  if (!resident) return upload(c, c->stream, &in->images, &in->labels, batch);
  return copy_on_device(c, in, &resident->images, &resident->labels);
}

pd_status input_own(train_context *c, input *in, pd_tensor *images) {
  bool resident = false;
  for (uint64_t i = 0; i < in->resident_count; i++) resident |= in->residents[i].images.data == images->data;
  if (!resident) return PD_OK;
  const bool current = in->images.data == images->data;
  pd_tensor view;
  const pd_status status = fit(c, &in->own_images, images, &view);
  if (status != PD_OK) return status;
  *images = view;
  if (current) in->images = view;
  return PD_OK;
}
