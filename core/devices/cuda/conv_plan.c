/* cuDNN's graph interface: descriptors of a convolution, its candidates, their execution. */
#include "conv_plan.h"

#include <stdlib.h>
#include <string.h>

enum { ID_X = 'x', ID_W = 'w', ID_Y = 'y', ID_BIAS = 'b', ID_SUMMAND = 'z', ID_INNER = 'i' };
enum { MOST_DESCRIPTORS = 24, MOST_CONFIGS = 16 };

/* The descriptors of one graph, destroyed together. The first failure sticks. */
typedef struct graph {
  const cuda_libraries *libraries;
  cudnnStatus_t status;
  int count;
  cudnnBackendDescriptor_t all[MOST_DESCRIPTORS];
} graph;

static cudnnBackendDescriptor_t make(graph *g, cudnnBackendDescriptorType_t type) {
  cudnnBackendDescriptor_t descriptor = NULL;
  if (g->status != CUDNN_STATUS_SUCCESS) return NULL;
  if (g->count == MOST_DESCRIPTORS) {
    g->status = CUDNN_STATUS_INTERNAL_ERROR;
    return NULL;
  }
  g->status = g->libraries->cudnn.BackendCreateDescriptor(type, &descriptor);
  if (g->status == CUDNN_STATUS_SUCCESS) g->all[g->count++] = descriptor;
  return descriptor;
}
static void set(graph *g, cudnnBackendDescriptor_t descriptor, cudnnBackendAttributeName_t name,
                cudnnBackendAttributeType_t type, int64_t count, const void *value) {
  if (g->status == CUDNN_STATUS_SUCCESS)
    g->status = g->libraries->cudnn.BackendSetAttribute(descriptor, name, type, count, value);
}
static void finalize(graph *g, cudnnBackendDescriptor_t descriptor) {
  if (g->status == CUDNN_STATUS_SUCCESS) g->status = g->libraries->cudnn.BackendFinalize(descriptor);
}
static void graph_free(graph *g) {
  while (g->count > 0) g->libraries->cudnn.BackendDestroyDescriptor(g->all[--g->count]);
}

static cudnnDataType_t data_type(pd_dtype dtype) {
  return dtype == PD_F16 ? CUDNN_DATA_HALF : dtype == PD_BF16 ? CUDNN_DATA_BFLOAT16 : CUDNN_DATA_FLOAT;
}

static cudnnBackendDescriptor_t tensor(graph *g, int64_t id, const int64_t dims[4], pd_dtype dtype, pd_layout layout,
                                       bool inner) {
  const int64_t c = dims[1], h = dims[2], w = dims[3], alignment = 16;
  const int64_t planes[4] = {c * h * w, h * w, w, 1}, pixels[4] = {c * h * w, 1, w * c, c};
  const cudnnDataType_t type = data_type(dtype);
  cudnnBackendDescriptor_t t = make(g, CUDNN_BACKEND_TENSOR_DESCRIPTOR);
  set(g, t, CUDNN_ATTR_TENSOR_UNIQUE_ID, CUDNN_TYPE_INT64, 1, &id);
  set(g, t, CUDNN_ATTR_TENSOR_DATA_TYPE, CUDNN_TYPE_DATA_TYPE, 1, &type);
  set(g, t, CUDNN_ATTR_TENSOR_BYTE_ALIGNMENT, CUDNN_TYPE_INT64, 1, &alignment);
  set(g, t, CUDNN_ATTR_TENSOR_DIMENSIONS, CUDNN_TYPE_INT64, 4, dims);
  set(g, t, CUDNN_ATTR_TENSOR_STRIDES, CUDNN_TYPE_INT64, 4, layout == PD_NHWC ? pixels : planes);
  if (inner) set(g, t, CUDNN_ATTR_TENSOR_IS_VIRTUAL, CUDNN_TYPE_BOOLEAN, 1, &inner);
  finalize(g, t);
  return t;
}

static cudnnBackendDescriptor_t convolution(graph *g, const conv_key *key, cudnnBackendDescriptor_t x,
                                            cudnnBackendDescriptor_t w, cudnnBackendDescriptor_t y) {
  static const struct {
    cudnnBackendDescriptorType_t type;
    cudnnBackendAttributeName_t x, w, y, conv, alpha, beta;
  } names[] = {
      [CONV_FORWARD] = {CUDNN_BACKEND_OPERATION_CONVOLUTION_FORWARD_DESCRIPTOR,
                        CUDNN_ATTR_OPERATION_CONVOLUTION_FORWARD_X, CUDNN_ATTR_OPERATION_CONVOLUTION_FORWARD_W,
                        CUDNN_ATTR_OPERATION_CONVOLUTION_FORWARD_Y, CUDNN_ATTR_OPERATION_CONVOLUTION_FORWARD_CONV_DESC,
                        CUDNN_ATTR_OPERATION_CONVOLUTION_FORWARD_ALPHA, CUDNN_ATTR_OPERATION_CONVOLUTION_FORWARD_BETA},
      [CONV_BACKWARD_DATA] = {CUDNN_BACKEND_OPERATION_CONVOLUTION_BACKWARD_DATA_DESCRIPTOR,
                              CUDNN_ATTR_OPERATION_CONVOLUTION_BWD_DATA_DX, CUDNN_ATTR_OPERATION_CONVOLUTION_BWD_DATA_W,
                              CUDNN_ATTR_OPERATION_CONVOLUTION_BWD_DATA_DY,
                              CUDNN_ATTR_OPERATION_CONVOLUTION_BWD_DATA_CONV_DESC,
                              CUDNN_ATTR_OPERATION_CONVOLUTION_BWD_DATA_ALPHA,
                              CUDNN_ATTR_OPERATION_CONVOLUTION_BWD_DATA_BETA},
      [CONV_BACKWARD_WEIGHT] = {
          CUDNN_BACKEND_OPERATION_CONVOLUTION_BACKWARD_FILTER_DESCRIPTOR, CUDNN_ATTR_OPERATION_CONVOLUTION_BWD_FILTER_X,
          CUDNN_ATTR_OPERATION_CONVOLUTION_BWD_FILTER_DW, CUDNN_ATTR_OPERATION_CONVOLUTION_BWD_FILTER_DY,
          CUDNN_ATTR_OPERATION_CONVOLUTION_BWD_FILTER_CONV_DESC, CUDNN_ATTR_OPERATION_CONVOLUTION_BWD_FILTER_ALPHA,
          CUDNN_ATTR_OPERATION_CONVOLUTION_BWD_FILTER_BETA}};
  const cudnnDataType_t compute = CUDNN_DATA_FLOAT;
  const cudnnConvolutionMode_t mode = CUDNN_CROSS_CORRELATION;
  const int64_t spatial = 2, ones[2] = {1, 1}, stride[2] = {key->stride, key->stride};
  const int64_t padding[2] = {key->padding, key->padding};
  const float alpha = 1.0f, beta = 0.0f;
  cudnnBackendDescriptor_t conv = make(g, CUDNN_BACKEND_CONVOLUTION_DESCRIPTOR);
  set(g, conv, CUDNN_ATTR_CONVOLUTION_SPATIAL_DIMS, CUDNN_TYPE_INT64, 1, &spatial);
  set(g, conv, CUDNN_ATTR_CONVOLUTION_COMP_TYPE, CUDNN_TYPE_DATA_TYPE, 1, &compute);
  set(g, conv, CUDNN_ATTR_CONVOLUTION_CONV_MODE, CUDNN_TYPE_CONVOLUTION_MODE, 1, &mode);
  set(g, conv, CUDNN_ATTR_CONVOLUTION_PRE_PADDINGS, CUDNN_TYPE_INT64, 2, padding);
  set(g, conv, CUDNN_ATTR_CONVOLUTION_POST_PADDINGS, CUDNN_TYPE_INT64, 2, padding);
  set(g, conv, CUDNN_ATTR_CONVOLUTION_DILATIONS, CUDNN_TYPE_INT64, 2, ones);
  set(g, conv, CUDNN_ATTR_CONVOLUTION_FILTER_STRIDES, CUDNN_TYPE_INT64, 2, stride);
  finalize(g, conv);
  cudnnBackendDescriptor_t op = make(g, names[key->direction].type);
  set(g, op, names[key->direction].x, CUDNN_TYPE_BACKEND_DESCRIPTOR, 1, &x);
  set(g, op, names[key->direction].w, CUDNN_TYPE_BACKEND_DESCRIPTOR, 1, &w);
  set(g, op, names[key->direction].y, CUDNN_TYPE_BACKEND_DESCRIPTOR, 1, &y);
  set(g, op, names[key->direction].conv, CUDNN_TYPE_BACKEND_DESCRIPTOR, 1, &conv);
  set(g, op, names[key->direction].alpha, CUDNN_TYPE_FLOAT, 1, &alpha);
  set(g, op, names[key->direction].beta, CUDNN_TYPE_FLOAT, 1, &beta);
  finalize(g, op);
  return op;
}

/* y = x + weight*b, or relu(x) where b is NULL. */
static cudnnBackendDescriptor_t pointwise(graph *g, cudnnBackendDescriptor_t x, cudnnBackendDescriptor_t b,
                                          float weight, cudnnBackendDescriptor_t y) {
  const cudnnPointwiseMode_t mode = b ? CUDNN_POINTWISE_ADD : CUDNN_POINTWISE_RELU_FWD;
  const cudnnDataType_t compute = CUDNN_DATA_FLOAT;
  const float one = 1.0f;
  cudnnBackendDescriptor_t pw = make(g, CUDNN_BACKEND_POINTWISE_DESCRIPTOR);
  set(g, pw, CUDNN_ATTR_POINTWISE_MODE, CUDNN_TYPE_POINTWISE_MODE, 1, &mode);
  set(g, pw, CUDNN_ATTR_POINTWISE_MATH_PREC, CUDNN_TYPE_DATA_TYPE, 1, &compute);
  finalize(g, pw);
  cudnnBackendDescriptor_t op = make(g, CUDNN_BACKEND_OPERATION_POINTWISE_DESCRIPTOR);
  set(g, op, CUDNN_ATTR_OPERATION_POINTWISE_PW_DESCRIPTOR, CUDNN_TYPE_BACKEND_DESCRIPTOR, 1, &pw);
  set(g, op, CUDNN_ATTR_OPERATION_POINTWISE_XDESC, CUDNN_TYPE_BACKEND_DESCRIPTOR, 1, &x);
  if (b) {
    set(g, op, CUDNN_ATTR_OPERATION_POINTWISE_BDESC, CUDNN_TYPE_BACKEND_DESCRIPTOR, 1, &b);
    set(g, op, CUDNN_ATTR_OPERATION_POINTWISE_ALPHA1, CUDNN_TYPE_FLOAT, 1, &one);
    set(g, op, CUDNN_ATTR_OPERATION_POINTWISE_ALPHA2, CUDNN_TYPE_FLOAT, 1, &weight);
  }
  set(g, op, CUDNN_ATTR_OPERATION_POINTWISE_YDESC, CUDNN_TYPE_BACKEND_DESCRIPTOR, 1, &y);
  finalize(g, op);
  return op;
}

static cudnnBackendDescriptor_t build(graph *g, cudnnHandle_t handle, const conv_key *key, conv_form form) {
  const int64_t x_dims[4] = {key->n, key->c, key->h, key->w}, w_dims[4] = {key->o, key->c, key->kh, key->kw};
  const int64_t y_dims[4] = {key->n, key->o, key->oh, key->ow}, b_dims[4] = {1, key->o, 1, 1};
  cudnnBackendDescriptor_t ops[4], x = tensor(g, ID_X, x_dims, key->x_dtype, key->x_layout, false);
  cudnnBackendDescriptor_t w = tensor(g, ID_W, w_dims, key->w_dtype, key->w_layout, false);
  cudnnBackendDescriptor_t y = tensor(g, ID_Y, y_dims, key->y_dtype, key->y_layout, false);
  int64_t count = 0;
  if (form == CONV_PLAIN) {
    ops[count++] = convolution(g, key, x, w, y);
  } else {
    cudnnBackendDescriptor_t b = tensor(g, ID_BIAS, b_dims, PD_F32, PD_NHWC, false);
    cudnnBackendDescriptor_t from = tensor(g, ID_INNER, y_dims, PD_F32, key->y_layout, true), to;
    ops[count++] = convolution(g, key, x, w, from);
    if (form == CONV_FUSED_SUM) {
      cudnnBackendDescriptor_t z = tensor(g, ID_SUMMAND, y_dims, key->y_dtype, key->y_layout, false);
      to = tensor(g, ID_INNER + 1, y_dims, PD_F32, key->y_layout, true);
      ops[count++] = pointwise(g, from, z, 0.0f, to);
      from = to;
    }
    to = key->relu ? tensor(g, ID_INNER + 2, y_dims, PD_F32, key->y_layout, true) : y;
    ops[count++] = pointwise(g, from, b, 1.0f, to);
    if (key->relu) ops[count++] = pointwise(g, to, NULL, 0.0f, y);
  }
  cudnnBackendDescriptor_t whole = make(g, CUDNN_BACKEND_OPERATIONGRAPH_DESCRIPTOR);
  set(g, whole, CUDNN_ATTR_OPERATIONGRAPH_HANDLE, CUDNN_TYPE_HANDLE, 1, &handle);
  set(g, whole, CUDNN_ATTR_OPERATIONGRAPH_OPS, CUDNN_TYPE_BACKEND_DESCRIPTOR, count, ops);
  finalize(g, whole);
  return whole;
}

/* Whether the engine behind `config` computes as `key` asks. */
static bool acceptable(const cuda_libraries *self, cudnnBackendDescriptor_t config, const conv_key *key, bool compile,
                       bool *nondeterministic) {
  cudnnBackendDescriptor_t engine;
  cudnnBackendNumericalNote_t notes[CUDNN_NUMERICAL_NOTE_TYPE_COUNT];
  cudnnBackendBehaviorNote_t behaviours[CUDNN_BEHAVIOR_NOTE_TYPE_COUNT];
  int64_t count = 0;
  bool ok = true;
  if (self->cudnn.BackendCreateDescriptor(CUDNN_BACKEND_ENGINE_DESCRIPTOR, &engine)) return false;
  *nondeterministic = false;
  if (self->cudnn.BackendGetAttribute(config, CUDNN_ATTR_ENGINECFG_ENGINE, CUDNN_TYPE_BACKEND_DESCRIPTOR, 1, &count,
                                      &engine) ||
      self->cudnn.BackendGetAttribute(engine, CUDNN_ATTR_ENGINE_NUMERICAL_NOTE, CUDNN_TYPE_NUMERICAL_NOTE,
                                      CUDNN_NUMERICAL_NOTE_TYPE_COUNT, &count, notes)) {
    ok = false;
    goto out;
  }
  for (int64_t i = 0; i < count; i++) {
    if (notes[i] == CUDNN_NUMERICAL_NOTE_DOWN_CONVERT_INPUTS) ok = false;
    if (notes[i] == CUDNN_NUMERICAL_NOTE_REDUCED_PRECISION_REDUCTION) ok = false;
    /* Without TF32 single precision means what a plain sum gives. */
    const bool loose =
        notes[i] == CUDNN_NUMERICAL_NOTE_TENSOR_CORE || notes[i] == CUDNN_NUMERICAL_NOTE_FFT ||
        (notes[i] >= CUDNN_NUMERICAL_NOTE_WINOGRAD && notes[i] <= CUDNN_NUMERICAL_NOTE_WINOGRAD_TILE_13x13);
    if (loose && !key->tf32 && key->x_dtype == PD_F32) ok = false;
    if (notes[i] == CUDNN_NUMERICAL_NOTE_NONDETERMINISTIC) *nondeterministic = true;
  }
  if (!self->cudnn.BackendGetAttribute(engine, CUDNN_ATTR_ENGINE_BEHAVIOR_NOTE, CUDNN_TYPE_BEHAVIOR_NOTE,
                                       CUDNN_BEHAVIOR_NOTE_TYPE_COUNT, &count, behaviours))
    for (int64_t i = 0; i < count; i++)
      if (behaviours[i] == CUDNN_BEHAVIOR_NOTE_RUNTIME_COMPILATION && !compile) ok = false;
out:
  self->cudnn.BackendDestroyDescriptor(engine);
  return ok;
}

void conv_plan_free(pd_device *device, conv_plan *plan) {
  if (!plan) return;
  if (plan->pack) device->libraries.cudnn.BackendDestroyDescriptor(plan->pack);
  if (plan->plan) device->libraries.cudnn.BackendDestroyDescriptor(plan->plan);
  free(plan);
}

/* NULL where cuDNN cannot build it, or it wants more workspace than is allowed. */
static conv_plan *plan_of(pd_device *device, cudnnBackendDescriptor_t config) {
  const cuda_libraries *libraries = &device->libraries;
  int64_t count = 0, workspace = 0;
  conv_plan *plan = calloc(1, sizeof *plan);
  if (!plan) return NULL;
  if (!libraries->cudnn.BackendCreateDescriptor(CUDNN_BACKEND_EXECUTION_PLAN_DESCRIPTOR, &plan->plan) &&
      !libraries->cudnn.BackendSetAttribute(plan->plan, CUDNN_ATTR_EXECUTION_PLAN_HANDLE, CUDNN_TYPE_HANDLE, 1,
                                            &device->cudnn) &&
      !libraries->cudnn.BackendSetAttribute(plan->plan, CUDNN_ATTR_EXECUTION_PLAN_ENGINE_CONFIG,
                                            CUDNN_TYPE_BACKEND_DESCRIPTOR, 1, &config) &&
      !libraries->cudnn.BackendFinalize(plan->plan) &&
      !libraries->cudnn.BackendGetAttribute(plan->plan, CUDNN_ATTR_EXECUTION_PLAN_WORKSPACE_SIZE, CUDNN_TYPE_INT64, 1,
                                            &count, &workspace) &&
      workspace <= device->options.conv_workspace) {
    plan->workspace = (uint64_t)workspace;
    return plan;
  }
  conv_plan_free(device, plan);
  return NULL;
}

/* Appends the plans of one of cuDNN's ways to propose. */
static void propose(pd_device *device, cudnnBackendDescriptor_t whole, cudnnBackendHeurMode_t mode, const conv_key *key,
                    conv_form form, bool compile, conv_plan **out, int capacity, int *count) {
  const cuda_libraries *libraries = &device->libraries;
  graph g = {.libraries = libraries};
  cudnnBackendDescriptor_t configs[MOST_CONFIGS];
  int64_t found = 0;
  cudnnBackendDescriptor_t heuristic = make(&g, CUDNN_BACKEND_ENGINEHEUR_DESCRIPTOR);
  set(&g, heuristic, CUDNN_ATTR_ENGINEHEUR_OPERATION_GRAPH, CUDNN_TYPE_BACKEND_DESCRIPTOR, 1, &whole);
  set(&g, heuristic, CUDNN_ATTR_ENGINEHEUR_MODE, CUDNN_TYPE_HEUR_MODE, 1, &mode);
  finalize(&g, heuristic);
  for (int i = 0; i < MOST_CONFIGS; i++) configs[i] = make(&g, CUDNN_BACKEND_ENGINECFG_DESCRIPTOR);
  if (g.status == CUDNN_STATUS_SUCCESS)
    g.status = libraries->cudnn.BackendGetAttribute(heuristic, CUDNN_ATTR_ENGINEHEUR_RESULTS,
                                                    CUDNN_TYPE_BACKEND_DESCRIPTOR, MOST_CONFIGS, &found, configs);
  for (int64_t i = 0; g.status == CUDNN_STATUS_SUCCESS && i < found && i < MOST_CONFIGS && *count < capacity; i++) {
    bool nondeterministic;
    if (!acceptable(libraries, configs[i], key, compile, &nondeterministic)) continue;
    conv_plan *plan = plan_of(device, configs[i]);
    if (!plan) continue;
    plan->key = *key;
    plan->form = form;
    plan->nondeterministic = nondeterministic;
    out[(*count)++] = plan;
  }
  graph_free(&g);
}

static pd_status open_library(pd_device *device) {
  if (device->cudnn) return PD_OK;
  if (!device->convolutions) device->convolutions = calloc(1, sizeof *device->convolutions);
  if (!device->convolutions) return device->host->fail(device->host, PD_NO_MEMORY, "cuda: no memory for plans");
  const cudnnStatus_t status = device->libraries.cudnn.Create(&device->cudnn);
  return status != CUDNN_STATUS_SUCCESS ? cuda_cudnn_failed(device, status, "cudnnCreate") : PD_OK;
}

pd_status conv_candidates(pd_device *device, const conv_key *key, conv_form form, bool compile, conv_plan **out,
                          int capacity, int *count) {
  pd_status status = open_library(device);
  if (status != PD_OK) return status;
  graph g = {.libraries = &device->libraries};
  cudnnBackendDescriptor_t whole = build(&g, device->cudnn, key, form);
  const int before = *count;
  if (g.status == CUDNN_STATUS_SUCCESS) {
    propose(device, whole, CUDNN_HEUR_MODE_A, key, form, compile, out, capacity, count);
    if (*count == before) propose(device, whole, CUDNN_HEUR_MODE_FALLBACK, key, form, compile, out, capacity, count);
  }
  graph_free(&g);
  return PD_OK;
}

cudnnStatus_t conv_execute(pd_device *device, pd_stream *stream, conv_plan *plan, const conv_arguments *arguments) {
  const cuda_libraries *libraries = &device->libraries;
  cudnnStatus_t status = CUDNN_STATUS_SUCCESS;
  if (device->cudnn_stream != stream) {
    status = libraries->cudnn.SetStream(device->cudnn, stream->handle);
    if (status != CUDNN_STATUS_SUCCESS) return status;
    device->cudnn_stream = stream;
  }
  if (!plan->pack || memcmp(&plan->packed, arguments, sizeof *arguments) != 0 ||
      plan->packed_workspace != stream->workspace) {
    if (plan->pack) libraries->cudnn.BackendDestroyDescriptor(plan->pack);
    plan->pack = NULL;
    const int64_t ids[5] = {ID_X, ID_W, ID_Y, ID_BIAS, ID_SUMMAND};
    const void *data[5] = {arguments->x, arguments->w, arguments->y, arguments->bias, arguments->y};
    const int64_t count = plan->form == CONV_PLAIN ? 3 : plan->form == CONV_FUSED ? 4 : 5;
    cudnnBackendDescriptor_t pack = NULL;
    status = libraries->cudnn.BackendCreateDescriptor(CUDNN_BACKEND_VARIANT_PACK_DESCRIPTOR, &pack);
    if (status == CUDNN_STATUS_SUCCESS)
      status =
          libraries->cudnn.BackendSetAttribute(pack, CUDNN_ATTR_VARIANT_PACK_UNIQUE_IDS, CUDNN_TYPE_INT64, count, ids);
    if (status == CUDNN_STATUS_SUCCESS)
      status = libraries->cudnn.BackendSetAttribute(pack, CUDNN_ATTR_VARIANT_PACK_DATA_POINTERS, CUDNN_TYPE_VOID_PTR,
                                                    count, data);
    if (status == CUDNN_STATUS_SUCCESS)
      status = libraries->cudnn.BackendSetAttribute(pack, CUDNN_ATTR_VARIANT_PACK_WORKSPACE, CUDNN_TYPE_VOID_PTR, 1,
                                                    &stream->workspace);
    if (status == CUDNN_STATUS_SUCCESS) status = libraries->cudnn.BackendFinalize(pack);
    if (status != CUDNN_STATUS_SUCCESS) {
      if (pack) libraries->cudnn.BackendDestroyDescriptor(pack);
      return status;
    }
    plan->pack = pack;
    plan->packed = *arguments;
    plan->packed_workspace = stream->workspace;
  }
  return libraries->cudnn.BackendExecute(device->cudnn, plan->plan, plan->pack);
}

void cuda_convolutions_close(pd_device *device) {
  if (device->convolutions) {
    for (conv_plan *plan = device->convolutions->plans, *next; plan; plan = next) {
      next = plan->next;
      conv_plan_free(device, plan);
    }
    free(device->convolutions);
  }
  if (device->cudnn) device->libraries.cudnn.Destroy(device->cudnn);
  device->convolutions = NULL;
  device->cudnn = NULL;
}
