/* How much of a product is reading its weights. */
#include "facts/weights.h"
#include "fake_trace.h"
#include "pd_test.h"

#include <pdhost/device.h>

/* The share of one kernel, launched by an operation with inputs of these ranks. */
static double share_of(const char *kernel, uint32_t inputs, const uint32_t *ranks, const int64_t (*dims)[4]) {
  fake_trace *fake = fake_trace_open();
  cr_assert_not_null(fake);
  fake_step(fake, 0, 0, 100000);
  fake_range(fake, PD_RANGE_OP, "aten::mm", 0, 1000, 9000);
  for (uint32_t i = 0; i < inputs; i++) fake_shape(fake, PD_F32, ranks[i], dims[i]);
  fake_call(fake, PD_API_LAUNCH, "cudaLaunchKernel", 0, 2000, 3000, 1);
  fake_kernel(fake, kernel, fake_stream(fake, 0, 1, 7), 4000, 8000, 1);
  const pd_trace *trace = fake_trace_finish(fake);
  cr_assert_not_null(trace);
  trace_facts *facts = facts_open(trace);
  cr_assert_not_null(facts);
  const double share = weights_share(facts, facts_activity(facts, 0), WEIGHTS_ROWS);
  facts_close(facts);
  fake_trace_close(fake);
  return share;
}

PD_TEST(weights, take_as_long_as_sixteen_rows) {
  const uint32_t ranks[] = {1, 2, 2};
  for (int64_t rows = 1; rows <= 64; rows *= 4) {
    const int64_t dims[][4] = {{256}, {rows, 128}, {256, 128}};
    cr_assert_float_eq(share_of("dnnl_sgemm", 3, ranks, dims), 16.0 / (16.0 + (double)rows), 1e-9);
  }
}

PD_TEST(weights, of_a_convolution_meet_a_row_in_each_pixel) {
  const uint32_t ranks[] = {4, 4};
  const int64_t dims[][4] = {{2, 64, 3, 5}, {128, 64, 3, 3}};
  cr_assert_float_eq(share_of("dnnl_conv2d_forward", 2, ranks, dims), 16.0 / (16.0 + 30), 1e-9);
}

PD_TEST(weights, are_not_known_or_not_there) {
  const uint32_t matrices[] = {2, 2}, batches[] = {3, 3};
  const int64_t dims[][4] = {{4, 128, 128}, {4, 128, 128}};
  cr_assert_float_eq(share_of("relu", 2, matrices, dims), 0, 0);
  cr_assert_float_eq(share_of("convert", 2, matrices, dims), 0, 0);
  cr_assert_float_eq(share_of("dnnl_sgemm", 0, NULL, NULL), 0, 0);
  cr_assert_float_eq(share_of("dnnl_sgemm_batched", 2, batches, dims), 0, 0);
}
