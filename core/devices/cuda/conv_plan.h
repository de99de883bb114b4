/*
 * Convolutions as plans of cuDNN's graph interface: a plan is one engine, set up for one shape.
 *
 * conv_candidates() asks cuDNN for plans, conv_choose() (conv_tune.c) keeps the best one per shape in the device's
 * cache, conv_run() executes it. All under device->lock.
 */
#ifndef DEVICES_CUDA_CONV_PLAN_H
#define DEVICES_CUDA_CONV_PLAN_H

#include "cuda_ops.h"

typedef enum conv_direction { CONV_FORWARD, CONV_BACKWARD_DATA, CONV_BACKWARD_WEIGHT } conv_direction;

/* Compared as bytes: zero it before filling. */
typedef struct conv_key {
  int64_t n, c, h, w, o, oh, ow, kh, kw;
  uint32_t direction, stride, padding, tf32;
  pd_dtype x_dtype, w_dtype, y_dtype;
  pd_layout x_layout, w_layout, y_layout;
  uint32_t bias, relu;
} conv_key;

/* x, w, y of the forward pass or the gradients that take their places; the bias of the forward pass. */
typedef struct conv_arguments {
  void *x, *w, *y;
  const void *bias;
} conv_arguments;

/* What one execution does beside the convolution. */
typedef enum conv_form {
  CONV_PLAIN,    /* the convolution alone */
  CONV_FUSED,    /* bias and ReLU in the graph */
  CONV_FUSED_SUM /* the same with a summand of weight 0, which is the form cuDNN's prebuilt engines know */
} conv_form;

typedef struct conv_plan {
  struct conv_plan *next; /* in the cache */
  conv_key key;
  cudnnBackendDescriptor_t plan;
  cudnnBackendDescriptor_t pack; /* of `packed`, kept while the pointers stay */
  conv_arguments packed;
  void *packed_workspace;
  uint64_t workspace;
  conv_form form;
  bool nondeterministic;
  bool narrow; /* the weight's gradient comes out as float16 into the workspace and is converted */
} conv_plan;

struct cuda_conv_cache {
  conv_plan *plans;
};

/* Appends up to `capacity` plans to `out`, in cuDNN's order of preference. Finding none is PD_OK with *count 0. */
pd_status conv_candidates(pd_device *device, const conv_key *key, conv_form form, bool compile, conv_plan **out,
                          int capacity, int *count);
void conv_plan_free(pd_device *device, conv_plan *plan);
/* Executes the engine alone; the stream has its workspace. */
cudnnStatus_t conv_execute(pd_device *device, pd_stream *stream, conv_plan *plan, const conv_arguments *arguments);

/* Executes the plan and what belongs to it but a separate bias. */
pd_status conv_run(pd_device *device, pd_stream *stream, conv_plan *plan, const conv_arguments *arguments);

/* The plan for `key`, chosen at its first call with these arguments as the data to try candidates on. */
pd_status conv_choose(pd_device *device, pd_stream *stream, const conv_key *key, const conv_arguments *arguments,
                      conv_plan **out);

#endif
