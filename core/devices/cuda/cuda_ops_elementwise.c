/* Operations of one element at a time. */
#include "cuda_ops.h"

static bool reads_b(pd_elementwise op) {
  return op == PD_EW_ADD || op == PD_EW_MUL || op == PD_EW_RELU_BACKWARD || op == PD_EW_TANH_BACKWARD ||
         op == PD_EW_SIGMOID_BACKWARD;
}

pd_status cuda_op_elementwise(pd_device *device, pd_stream *stream, pd_elementwise op, const pd_tensor *y,
                              const pd_tensor *a, const pd_tensor *b, double alpha) {
  const int64_t count = tensor_count(y);
  OP_REQUIRE(op >= PD_EW_ADD && op <= PD_EW_SIGMOID_BACKWARD, "elementwise", "no such operation");
  OP_REQUIRE(tensor_real(y) && a->dtype == y->dtype && tensor_same(y, a), "elementwise",
             "y and a differ in type, shape or layout");
  bool scalar = false;
  if (reads_b(op)) {
    OP_REQUIRE(b != NULL, "elementwise", "b is missing");
    scalar = op == PD_EW_ADD && tensor_count(b) == 1;
    OP_REQUIRE(scalar ? tensor_real(b) : b->dtype == y->dtype && tensor_same(y, b), "elementwise",
               "y and b differ in type, shape or layout");
  }
  if (!count) return PD_OK;
  OP_LAUNCH("elementwise", cuda_elementwise(&stream->launch, op, y->dtype, y->data, a->data, b ? b->data : NULL,
                                            b ? b->dtype : y->dtype, scalar, count, (float)alpha));
}
