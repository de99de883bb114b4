/* See ddp_buckets.h. */
#include "ddp_buckets.h"

enum { ALIGNED = 64 }; /* floats: 256 bytes */

static uint64_t padded(int64_t count) { return ((uint64_t)count + ALIGNED - 1) / ALIGNED * ALIGNED; }

/* Reduces bucket `index` on the communication stream, once the loop's stream has written it. */
static pd_status reduce(ddp_buckets *self, uint32_t index) {
  static pd_site site = PD_SITE("c10d::allreduce_", PD_RANGE_OP);
  const ddp_bucket *bucket = &self->all[index];
  const pd_stream_ops *ops = self->access->ops->stream;
  const pd_ranks *ranks = self->kit->ranks;
  const pd_shape shape = {.rank = 1, .dtype = PD_F32, .dims = {(int64_t)bucket->count}};
  const pd_range_info info = {.size = sizeof info, .part = PD_PART_BACKWARD, .shape_count = 1, .shapes = &shape};
  pd_status status = ops->event_record(self->access->device, self->access->stream, self->written);
  if (status == PD_OK) status = ops->event_wait(self->access->device, self->stream, self->written);
  const bool begun = self->kit->record && pd_range_begin(self->kit->record, &site, &info);
  if (status == PD_OK) status = ranks->all_reduce(ranks, self->stream, bucket->data, bucket->count, PD_REDUCE_MEAN);
  pd_kit_range_end(self->kit, begun);
  return status;
}

static pd_status on_gradient(void *user, uint32_t index) {
  ddp_buckets *self = user;
  ddp_bucket *bucket = &self->all[self->bucket_of[index]];
  if (!bucket->pending || --bucket->pending || !self->overlap) return PD_OK;
  return reduce(self, self->bucket_of[index]);
}

void ddp_buckets_begin(ddp_buckets *self, bool overlap) {
  self->overlap = overlap;
  for (uint32_t i = 0; i < self->count; i++) self->all[i].pending = self->all[i].members;
}

pd_status ddp_buckets_end(ddp_buckets *self) {
  const pd_stream_ops *ops = self->access->ops->stream;
  pd_status status = PD_OK;
  for (uint32_t i = 0; i < self->count && !self->overlap && status == PD_OK; i++) status = reduce(self, i);
  if (status == PD_OK) status = ops->event_record(self->access->device, self->stream, self->done);
  if (status == PD_OK) status = ops->event_wait(self->access->device, self->access->stream, self->done);
  return status;
}

/* Backward passes write the last parameters of the model first. */
static pd_status deal(ddp_buckets *self, uint64_t most) {
  const pd_train *train = self->kit->train;
  pd_train_parameter one = {.size = sizeof one};
  uint32_t count = 0;
  while (count < DDP_PARAMETERS && train->parameter(train, count, &one) == PD_OK) count++;
  if (train->parameter(train, count, &one) == PD_OK)
    return self->kit->host->fail(self->kit->host, PD_UNSUPPORTED, "a model of more than %d parameters", DDP_PARAMETERS);
  for (uint32_t i = count; i-- > 0;) {
    (void)train->parameter(train, i, &one);
    if (!self->count || self->all[self->count - 1].count * sizeof(float) >= most) self->count++;
    ddp_bucket *bucket = &self->all[self->count - 1];
    self->bucket_of[i] = self->count - 1;
    bucket->count += padded(one.count);
    bucket->members++;
  }
  return count ? PD_OK : self->kit->host->fail(self->kit->host, PD_UNSUPPORTED, "a model without parameters");
}

static pd_status place(ddp_buckets *self) {
  const pd_train *train = self->kit->train;
  uint64_t used[DDP_PARAMETERS] = {0};
  pd_train_parameter one = {.size = sizeof one};
  pd_status status = PD_OK;
  for (uint32_t i = 0; status == PD_OK && train->parameter(train, i, &one) == PD_OK; i++) {
    const uint32_t at = self->bucket_of[i];
    status = train->place_gradient(train, i, self->all[at].data + used[at]);
    used[at] += padded(one.count);
  }
  return status;
}

static pd_status make(ddp_buckets *self) {
  const pd_device_ops *ops = self->access->ops;
  pd_device *device = self->access->device;
  pd_status status = ops->stream->create(device, &self->stream);
  if (status == PD_OK) status = ops->stream->event_create(device, &self->written);
  if (status == PD_OK) status = ops->stream->event_create(device, &self->done);
  for (uint32_t i = 0; i < self->count && status == PD_OK; i++) {
    ddp_bucket *bucket = &self->all[i];
    void *data = NULL;
    status = ops->memory->alloc(device, self->access->stream, PD_ALLOCATOR_RAW, bucket->count * sizeof(float), &data);
    bucket->data = data;
    const pd_tensor all = {.data = data, .shape = {(int64_t)bucket->count}, .rank = 1, .dtype = PD_F32};
    if (status == PD_OK) status = ops->tensor->fill(device, self->access->stream, &all, 0);
  }
  return status;
}

pd_status ddp_buckets_open(ddp_buckets *self, const pd_kit *kit, uint64_t most) {
  const pd_host *host = kit->host;
  *self = (ddp_buckets){.kit = kit, .access = host->extension(host, PD_EXT_DEVICE)};
  if (!self->access || !PD_HAS(pd_train, kit->train, on_gradient))
    return host->fail(host, PD_UNSUPPORTED, "this host does not tell of gradients (%s), or has no device (%s)",
                      PD_EXT_TRAIN, PD_EXT_DEVICE);
  pd_status status = deal(self, most);
  if (status == PD_OK) status = make(self);
  if (status == PD_OK) status = place(self);
  return status == PD_OK ? kit->train->on_gradient(kit->train, on_gradient, self) : status;
}

void ddp_buckets_close(ddp_buckets *self) {
  if (!self->access) return;
  const pd_device_ops *ops = self->access->ops;
  pd_device *device = self->access->device;
  if (self->stream) ops->stream->destroy(device, self->stream);
  if (self->written) ops->stream->event_destroy(device, self->written);
  if (self->done) ops->stream->event_destroy(device, self->done);
  for (uint32_t i = 0; i < self->count; i++)
    (void)ops->memory->free(device, self->access->stream, PD_ALLOCATOR_RAW, self->all[i].count * sizeof(float),
                            self->all[i].data);
}
