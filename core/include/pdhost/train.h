/*
 * Training kit extension: the model of [train] model, TinyOpsBlock and their training step, whole or in its parts, for
 * scenarios that add something to it.
 *
 *   to_device -> zero_grad -> forward (and loss) -> backward -> optimizer_step
 *
 * Each part records its range and launches; none waits for the device unless its comment says so.
 */
#ifndef PDHOST_TRAIN_H
#define PDHOST_TRAIN_H

#include "device.h"
#include "scenario.h"

#ifdef __cplusplus
extern "C" {
#endif

#define PD_EXT_TRAIN "pdhost.train/1"

typedef struct pd_train_model {
  uint32_t size;
  uint32_t tiny_ops_block; /* 1: TinyOpsBlock(256) on the first 256 logits */
  uint32_t width;          /* the convolutions have this many times as many channels, 1..32; 0: 1. Above 1 only with
                            * the cnn, and not with tiny_ops_block */
  uint32_t reserved;
} pd_train_model;

/* A parameter of the model, in device memory: float32, `count` elements. */
typedef struct pd_train_parameter {
  uint32_t size;
  uint32_t reserved;
  const char *name; /* "conv1.weight"; the kit's */
  float *value;
  float *grad;
  int64_t count;
} pd_train_parameter;

typedef struct pd_train pd_train;
struct pd_train {
  uint32_t size;
  uint32_t reserved;
  void *impl;

  /* Chooses the model; in init, before the first step. Without it: the plain model. [loop thread & init] */
  pd_status (*configure)(const pd_train *train, const pd_train_model *model);

  /* The whole step: the parts below in their order. Replays a captured graph with [train] cuda_graph. [loop thread] */
  pd_status (*step)(const pd_train *train, const pd_step *step);

  /* Copies the batch to the device; `images` (N,C,H,W) F32 is the kit's, in place until the next call. [loop thread] */
  pd_status (*to_device)(const pd_train *train, const pd_step *step, pd_tensor *images);
  pd_status (*zero_grad)(const pd_train *train);
  /* Forward pass and loss of the images last copied. */
  pd_status (*forward)(const pd_train *train);
  /* Reads the last loss: waits for the device. [loop thread] */
  pd_status (*item)(const pd_train *train, double *loss);
  pd_status (*backward)(const pd_train *train);
  /* Unscale, AdamW, scaler update. */
  pd_status (*optimizer_step)(const pd_train *train);

  /* ---- a scenario's own tensors ---- */

  /* A tensor of `like`'s shape, F32 and NCHW, uninitialised; free it with tensor_free. `allocator` PD_ALLOCATOR_CACHED
   * is the kit's caching allocator, the others are the device's. [loop thread] */
  pd_status (*empty_like)(const pd_train *train, const pd_tensor *like, pd_allocator allocator, pd_tensor *out);
  pd_status (*tensor_free)(const pd_train *train, pd_allocator allocator, pd_tensor *tensor);
  /* Fills with N(0,1); a fresh part of the run's random sequence every time. */
  pd_status (*randn)(const pd_train *train, pd_tensor *y);
  /* y (1) = mean of x. */
  pd_status (*mean)(const pd_train *train, pd_tensor *y, const pd_tensor *x);
  /* y = a + alpha*b; b of one element is broadcast. y may be a. */
  pd_status (*add)(const pd_train *train, pd_tensor *y, const pd_tensor *a, const pd_tensor *b, double alpha);

  /* The next forward passes take `count` samples from `first` on of the batch last copied, until the next to_device.
   * Gradients add up from zero_grad to optimizer_step. [loop thread] */
  pd_status (*narrow)(const pd_train *train, int64_t first, int64_t count);
  /* Rounds of TinyOpsBlock in the next forward passes, 0..120; 30 without it. Needs configure's tiny_ops_block. The
   * captured graph has the rounds of its first step; steps with another number run without it. [loop thread] */
  pd_status (*tiny_ops_rounds)(const pd_train *train, uint32_t rounds);

  /* ---- gradients of several ranks ---- */

  /* Parameter `index`, in the order of the model; PD_STOP: there are no more. After configure. [loop thread] */
  pd_status (*parameter)(const pd_train *train, uint32_t index, pd_train_parameter *out);
  /* From now on the gradient of parameter `index` lies in `memory`: the scenario's own device memory, aligned to 256
   * bytes, which stays until teardown has returned. Before the first step. [loop thread & init] */
  pd_status (*place_gradient)(const pd_train *train, uint32_t index, float *memory);
  /* In backward passes `ready` is called when the last operation that writes the gradient of a parameter has been
   * launched. Its failure ends the pass. A step that replays a graph does not call it. [loop thread & init] */
  pd_status (*on_gradient)(const pd_train *train, pd_status (*ready)(void *user, uint32_t index), void *user);
};

#ifdef __cplusplus
}
#endif
#endif
