/* Occupancy of launches on an H200, against figures of a real trace and of the formulas written out. */
#include "devices/cuda/cupti/occupancy.h"
#include "h200.h"
#include "pd_test.h"

static occupancy cache;

static void h200(void) {
  const pd_device_props props = h200_props();
  occupancy_init(&cache, &props);
}

static pd_activity fill(uint32_t x, uint32_t y, uint32_t z, uint32_t block, uint32_t registers, uint32_t shared_static,
                        uint32_t shared_dynamic) {
  pd_activity kernel = {.kind = PD_ACTIVITY_KERNEL};
  kernel.u.kernel.grid[0] = x;
  kernel.u.kernel.grid[1] = y;
  kernel.u.kernel.grid[2] = z;
  kernel.u.kernel.block[0] = block;
  kernel.u.kernel.block[1] = kernel.u.kernel.block[2] = 1;
  kernel.u.kernel.registers = registers;
  kernel.u.kernel.static_bytes = shared_static;
  kernel.u.kernel.dynamic_bytes = shared_dynamic;
  occupancy_fill(&cache, &kernel);
  return kernel;
}

PD_TEST(occupancy, agrees_with_a_real_trace) {
  h200();
  pd_activity kernel = fill(63, 1, 1, 128, 16, 0, 0);
  cr_assert_float_eq(kernel.u.kernel.blocks_per_sm, 0.477273, 1e-6);
  cr_assert_float_eq(kernel.u.kernel.warps_per_sm, 1.909091, 1e-6);
  cr_assert_float_eq(kernel.u.kernel.occupancy, 0.477273 * 128 / 2048, 1e-6); /* 3 % */
  cr_assert_eq(kernel.u.kernel.active_blocks, 16);
  cr_assert_float_eq(kernel.u.kernel.waves, 0.477273 / 16, 1e-6);
}

PD_TEST(occupancy, is_right_beyond_48_KiB_of_dynamic_shared_memory) {
  h200();
  pd_activity kernel = fill(132, 1, 1, 256, 32, 0, 200000);
  cr_assert_eq(kernel.u.kernel.active_blocks, 1);
  cr_assert_float_eq(kernel.u.kernel.occupancy, 256.0 / 2048, 1e-6);
  cr_assert_float_eq(kernel.u.kernel.waves, 1.0, 1e-6);
  kernel = fill(132, 1, 1, 256, 32, 0, 100000); /* (100000 -> 100096) + 1024 fits twice into 233472 */
  cr_assert_eq(kernel.u.kernel.active_blocks, 2);
}

PD_TEST(occupancy, is_bounded_by_each_resource) {
  h200();
  cr_assert_eq(fill(1000, 1, 1, 1024, 32, 0, 0).u.kernel.active_blocks, 2);   /* threads: 2048 / 1024 */
  cr_assert_eq(fill(1000, 1, 1, 32, 16, 0, 0).u.kernel.active_blocks, 32);    /* blocks */
  cr_assert_eq(fill(1000, 1, 1, 256, 128, 0, 0).u.kernel.active_blocks, 2);   /* registers: 65536 / (128 * 256) */
  cr_assert_eq(fill(1000, 1, 1, 64, 16, 40960, 0).u.kernel.active_blocks, 5); /* shared: 233472 / (40960 + 1024) */
  cr_assert_float_eq(fill(100000, 1, 1, 1024, 32, 0, 0).u.kernel.occupancy, 1.0, 1e-6);
}

PD_TEST(occupancy, counts_grids_beyond_32_bits) {
  h200();
  pd_activity kernel = fill(2147483647, 65535, 2, 128, 16, 0, 0);
  cr_assert_float_eq(kernel.u.kernel.blocks_per_sm / (2147483647.0 * 65535 * 2 / 132), 1.0, 1e-6);
  cr_assert_float_eq(kernel.u.kernel.occupancy, 1.0, 1e-6);
}

PD_TEST(occupancy, says_unknown_rather_than_zero) {
  h200();
  cr_assert_lt(fill(1, 1, 1, 128, 16, 0, 300000).u.kernel.occupancy, 0);                        /* cannot have run */
  cr_assert_lt(fill(1, 1, 1, 2000000000, 60000, 0xffffffff, 0xffffffff).u.kernel.occupancy, 0); /* a broken record */
  cr_assert_lt(fill(1, 1, 1, 0, 16, 0, 0).u.kernel.occupancy, 0);
  occupancy_init(&cache, NULL);
  cr_assert_lt(fill(1, 1, 1, 128, 16, 0, 0).u.kernel.occupancy, 0);
  cr_assert_lt(fill(1, 1, 1, 128, 16, 0, 0).u.kernel.waves, 0);
}

PD_TEST(occupancy, is_worked_out_once_per_shape) {
  h200();
  for (uint32_t i = 1; i <= 100; i++) fill(i, 1, 1, 128, 16, 0, 0);
  cr_assert_eq(cache.computed, 1);
  fill(1, 1, 1, 128, 17, 0, 0);
  cr_assert_eq(cache.computed, 2);
}
