/*
 * The device operation suite: every operation of pd_tensor_ops against naive loops in double precision, on fresh random
 * numbers, into outputs that hold no number before. One function per operation, for any device that device_rig opens;
 * the file test_cpu_ops.c turns them into tests.
 *
 * Bounds come from rig_bound(): float32 rounding over the length of the reduction, and one rounding to the output's
 * type; products with TF32 have suite_tf32_bound() beside it. All [test's thread].
 */
#ifndef TESTS_DEVICES_OP_SUITE_H
#define TESTS_DEVICES_OP_SUITE_H

#include "device_rig.h"

/* ---- operands ---- */

/* A tensor and its numbers in double, as the device holds them: rounded to the tensor's type. */
typedef struct operand {
  pd_tensor t;
  double *v;
} operand;

#define OPERAND_DIMS(...)                                                                                              \
  sizeof((int64_t[]){__VA_ARGS__}) / sizeof(int64_t), (const int64_t[]) { __VA_ARGS__ }
/* Random numbers in (-1, 1); a tensor without a number in it, and as many zeros in `v`. `f` is a rig_format. */
#define INPUT(rig, f, ...) operand_input((rig), (f).dtype, (f).layout, OPERAND_DIMS(__VA_ARGS__))
#define OUTPUT(rig, f, ...) operand_output((rig), (f).dtype, (f).layout, OPERAND_DIMS(__VA_ARGS__))
#define OPERAND_F32 ((rig_format){PD_F32, PD_NCHW})
operand operand_input(device_rig *rig, pd_dtype dtype, pd_layout layout, size_t rank, const int64_t *dims);
operand operand_output(device_rig *rig, pd_dtype dtype, pd_layout layout, size_t rank, const int64_t *dims);
/* Random labels of 0..columns-1, I64. */
operand operand_labels(device_rig *rig, int64_t rows, int64_t columns, int64_t *labels);
/* One number, F32. */
operand operand_number(device_rig *rig, double value);
/* Changes the numbers on the device and in `v`. */
void operand_set(device_rig *rig, operand *o, const double *values);
void operand_poison(device_rig *rig, operand *o);
/* Asserts that the device's numbers are `v`, within `bound` of their norm. */
void operand_expect(device_rig *rig, const operand *o, double bound, const char *what);
/* The same for sums whose terms may cancel: their rounding is of the terms' size, so that `bound` is relative to
 * `size`, a norm over all of the output, where that is more than the result's. */
void operand_expect_sized(device_rig *rig, const operand *o, double bound, double size, const char *what);
double operand_norm(const double *values, int64_t count);
/* Asserts that every bit is as `v`. */
void operand_expect_exact(device_rig *rig, const operand *o, const char *what);
void operand_free(device_rig *rig, operand *o);
#define OPERANDS_FREE(rig, ...)                                                                                        \
  do {                                                                                                                 \
    operand *all_[] = {__VA_ARGS__};                                                                                   \
    for (size_t i_ = 0; i_ < sizeof all_ / sizeof all_[0]; i_++) operand_free((rig), all_[i_]);                        \
  } while (0)

/* Runs `check` for every precision and layout the device supports; asserts that F32 is among them. */
void suite_each_format(device_rig *rig, void (*check)(device_rig *rig, rig_format format));

/* What TF32 adds to the bound of a sum of products of inputs, relative to the walk of its terms; 0 where the device
 * does not use it for `f`, or `tf32` is false. */
double suite_tf32_bound(const device_rig *rig, rig_format f, bool tf32);

/* ---- operations ---- */

void suite_conv_forward(device_rig *rig, rig_format f);
void suite_conv_backward(device_rig *rig, rig_format f);
void suite_conv_fused_backward(device_rig *rig, rig_format f); /* optional */
void suite_conv_differences(device_rig *rig, rig_format f);    /* gradients by finite differences */
void suite_conv_forward_tf32(device_rig *rig, rig_format f);
void suite_conv_backward_tf32(device_rig *rig, rig_format f);
void suite_conv_fused_backward_tf32(device_rig *rig, rig_format f);
void suite_bias(device_rig *rig, rig_format f);
void suite_mean_hw(device_rig *rig, rig_format f);

void suite_fill_convert(device_rig *rig, rig_format f);
void suite_elementwise(device_rig *rig, rig_format f);
void suite_mean(device_rig *rig, rig_format f);
void suite_copy_columns(device_rig *rig, rig_format f);
void suite_matmul(device_rig *rig, rig_format f);
void suite_matmul_tf32(device_rig *rig, rig_format f);
void suite_layer_norm(device_rig *rig, rig_format f);
void suite_layer_norm_differences(device_rig *rig, rig_format f);
void suite_tiny_round(device_rig *rig, rig_format f);
void suite_cross_entropy(device_rig *rig, rig_format f);

void suite_sum_rows(device_rig *rig);
void suite_batched_matmul(device_rig *rig, rig_format f);
void suite_softmax(device_rig *rig, rig_format f);
void suite_swap_middle(device_rig *rig, rig_format f);
void suite_randn(device_rig *rig);
void suite_adamw(device_rig *rig);
void suite_adamw_skips(device_rig *rig);
void suite_unscale(device_rig *rig);
void suite_scaler(device_rig *rig);
void suite_spin(device_rig *rig);

#endif
