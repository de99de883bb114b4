/*
 * How full a launch makes the multiprocessors, by the toolkit's own calculator. The decoder's; one cache per device.
 *
 * Dynamic shared memory beyond 48 KiB is right too: such a kernel has asked for more, and the larger limit holds.
 */
#ifndef DEVICES_CUDA_OCCUPANCY_H
#define DEVICES_CUDA_OCCUPANCY_H

#include <pdhost/device.h>

enum { OCCUPANCY_CACHE = 1024 };

typedef struct occupancy_entry {
  uint32_t block, registers, shared_static, shared_dynamic;
  uint32_t used;
  uint32_t active_blocks;
} occupancy_entry;

typedef struct occupancy {
  pd_device_props props;
  uint64_t computed; /* entries worked out, not found */
  occupancy_entry entries[OCCUPANCY_CACHE];
} occupancy;

void occupancy_init(occupancy *self, const pd_device_props *props);

/* Fills blocks_per_sm, warps_per_sm, occupancy, waves and active_blocks of a kernel from its other fields. */
void occupancy_fill(occupancy *self, pd_activity *kernel);

#endif
