/* What occupancy is reckoned from, of an H200. */
#ifndef TESTS_SUPPORT_H200_H
#define TESTS_SUPPORT_H200_H

#include <pdhost/device.h>

#define H200_FIELDS                                                                                                    \
  .size = sizeof(pd_device_props), .compute_major = 9, .sm_count = 132, .warp_size = 32,                               \
  .max_threads_per_block = 1024, .max_threads_per_sm = 2048, .registers_per_block = 65536, .registers_per_sm = 65536,  \
  .shared_per_block = 49152, .shared_per_sm = 233472, .shared_per_block_optin = 232448,                                \
  .shared_reserved_per_block = 1024

static inline pd_device_props h200_props(void) { return (pd_device_props){H200_FIELDS}; }

#endif
