/* See ddp_same.h. */
#include "ddp_same.h"

/* FNV-1a, a word at a time. */
static uint64_t hash_floats(uint64_t hash, const float *values, int64_t count) {
  for (int64_t i = 0; i < count; i++) {
    uint32_t bits;
    memcpy(&bits, &values[i], sizeof bits);
    hash = (hash ^ bits) * 0x100000001b3u;
  }
  return hash;
}

static pd_status hash_parameters(const pd_kit *kit, uint64_t *hash) {
  const pd_device_access *access = kit->host->extension(kit->host, PD_EXT_DEVICE);
  pd_train_parameter one = {.size = sizeof one};
  pd_status status = PD_OK;
  *hash = 0xcbf29ce484222325u;
  for (uint32_t i = 0; status == PD_OK && kit->train->parameter(kit->train, i, &one) == PD_OK; i++) {
    const uint64_t bytes = (uint64_t)one.count * sizeof(float);
    float *values = malloc(bytes);
    if (!values) return kit->host->fail(kit->host, PD_NO_MEMORY, "no memory to read a parameter");
    status =
        access->ops->memory->copy(access->device, access->stream, values, one.value, bytes, PD_COPY_DEVICE_TO_HOST);
    if (status == PD_OK) status = access->ops->stream->synchronize(access->device, access->stream);
    if (status == PD_OK) *hash = hash_floats(*hash, values, one.count);
    free(values);
  }
  return status;
}

pd_status ddp_same(const pd_kit *kit, const char *when) {
  const pd_ranks *ranks = kit->ranks;
  uint64_t own = 0;
  uint64_t *all = calloc(ranks->count, sizeof *all);
  if (!all) return kit->host->fail(kit->host, PD_NO_MEMORY, "no memory to compare the ranks");
  pd_status status = hash_parameters(kit, &own);
  if (status == PD_OK) status = ranks->gather(ranks, &own, sizeof own, all);
  for (uint32_t i = 1; status == PD_OK && i < ranks->count; i++)
    if (all[i] != all[0])
      status =
          kit->host->fail(kit->host, PD_INVALID, "the parameters of rank %u differ from those of rank 0 %s", i, when);
  free(all);
  return status;
}
