/* Occupancy of one launch. The formulas are Kineto's but for the shared-memory limit, the width of the grid's product
 * and the carve-out. Called by the decoder's thread. */
#include "occupancy.h"

#include <cuda_occupancy.h>
#include <string.h>

void occupancy_init(occupancy *self, const pd_device_props *props) {
  memset(self, 0, sizeof *self);
  if (props) memcpy(&self->props, props, props->size < sizeof *props ? props->size : sizeof *props);
}

static uint32_t compute(const pd_device_props *props, const occupancy_entry *key) {
  /* No launch has these; the calculator's integers would overflow. */
  if (key->block > props->max_threads_per_block || key->registers > 1024 || key->shared_static > props->shared_per_sm ||
      key->shared_dynamic > props->shared_per_sm)
    return 0;
  cudaOccDeviceProp device = {
      .computeMajor = (int)props->compute_major,
      .computeMinor = (int)props->compute_minor,
      .maxThreadsPerBlock = (int)props->max_threads_per_block,
      .maxThreadsPerMultiprocessor = (int)props->max_threads_per_sm,
      .regsPerBlock = (int)props->registers_per_block,
      .regsPerMultiprocessor = (int)props->registers_per_sm,
      .warpSize = (int)props->warp_size,
      .sharedMemPerBlock = props->shared_per_block,
      .sharedMemPerMultiprocessor = props->shared_per_sm,
      .numSms = (int)props->sm_count,
      .sharedMemPerBlockOptin = props->shared_per_block_optin,
      .reservedSharedMemPerBlock = props->shared_reserved_per_block,
  };
  cudaOccFuncAttributes function = {
      .maxThreadsPerBlock = INT_MAX,
      .numRegs = (int)key->registers,
      .sharedSizeBytes = key->shared_static,
      .partitionedGCConfig = PARTITIONED_GC_OFF,
      .shmemLimitConfig = FUNC_SHMEM_LIMIT_OPTIN,
      .maxDynamicSharedSizeBytes = key->shared_dynamic,
  };
  cudaOccDeviceState state = {.cacheConfig = CACHE_PREFER_NONE, .carveoutConfig = SHAREDMEM_CARVEOUT_DEFAULT};
  cudaOccResult result;
  memset(&result, 0, sizeof result);
  if (cudaOccMaxActiveBlocksPerMultiprocessor(&result, &device, &function, &state, (int)key->block,
                                              key->shared_dynamic) != CUDA_OCC_SUCCESS)
    return 0;
  return result.activeBlocksPerMultiprocessor > 0 ? (uint32_t)result.activeBlocksPerMultiprocessor : 0;
}

static uint32_t active_blocks(occupancy *self, const occupancy_entry *key) {
  uint64_t hash = key->block * 0x9e3779b97f4a7c15u ^ key->registers * 0xc2b2ae3d27d4eb4fu ^
                  key->shared_static * 0x165667b19e3779f9u ^ key->shared_dynamic * 0xff51afd7ed558ccdu;
  occupancy_entry *entry = &self->entries[(hash >> 40) % OCCUPANCY_CACHE];
  if (!entry->used || entry->block != key->block || entry->registers != key->registers ||
      entry->shared_static != key->shared_static || entry->shared_dynamic != key->shared_dynamic) {
    *entry = *key;
    entry->used = 1;
    entry->active_blocks = compute(&self->props, key);
    self->computed++;
  }
  return entry->active_blocks;
}

void occupancy_fill(occupancy *self, pd_activity *kernel) {
  const pd_device_props *props = &self->props;
  uint64_t threads = (uint64_t)kernel->u.kernel.block[0] * kernel->u.kernel.block[1] * kernel->u.kernel.block[2];
  /* Up to 2^31 * 65535 * 65535 blocks: 63 bits, so the product does not wrap. */
  uint64_t blocks = (uint64_t)kernel->u.kernel.grid[0] * kernel->u.kernel.grid[1] * kernel->u.kernel.grid[2];
  kernel->u.kernel.occupancy = -1.0f;
  kernel->u.kernel.waves = -1.0f;
  if (!props->sm_count || !props->warp_size || !props->max_threads_per_sm || !threads || threads > INT_MAX) return;
  double per_sm = (double)blocks / props->sm_count;
  occupancy_entry key = {.block = (uint32_t)threads,
                         .registers = kernel->u.kernel.registers,
                         .shared_static = kernel->u.kernel.static_bytes,
                         .shared_dynamic = kernel->u.kernel.dynamic_bytes};
  uint32_t active = active_blocks(self, &key);
  kernel->u.kernel.blocks_per_sm = (float)per_sm;
  kernel->u.kernel.warps_per_sm = (float)(per_sm * (double)threads / props->warp_size);
  kernel->u.kernel.active_blocks = active;
  if (!active) return; /* the calculator does not know this device or launch: say so rather than 0 % */
  double resident = per_sm < active ? per_sm : active;
  double share = resident * (double)threads / props->max_threads_per_sm;
  kernel->u.kernel.occupancy = (float)(share > 1.0 ? 1.0 : share);
  kernel->u.kernel.waves = (float)(per_sm / active);
}
