/*
 * Convolutions by oneDNN. The primitive chooses its own formats; where they differ from the tensors', reorders stand
 * before and after it, with buffers that belong to the plan.
 */
#include "cpu_plans.h"

#include "cpu_guard.h"
#include "dnnl_shim.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

enum { ARG_X = 0, ARG_W = 1, ARG_Y = 2, ARG_BIAS = 3, ARG_COUNT = 4 };

/* One argument: memory in the tensor's format, and in the primitive's where that differs. */
typedef struct plan_argument {
  int index; /* DNNL_ARG_...; 0: not used */
  bool output;
  dnnl_memory_t outer, inner;
  dnnl_primitive_t reorder;
} plan_argument;

struct cpu_plan {
  cpu_plan *next;
  plan_key key;
  dnnl_primitive_t primitive;
  plan_argument arguments[ARG_COUNT];
};

static void plan_free(cpu_plan *plan) {
  for (int i = 0; i < ARG_COUNT; i++) {
    plan_argument *argument = &plan->arguments[i];
    if (argument->reorder) dnnl_primitive_destroy(argument->reorder);
    if (argument->inner) dnnl_memory_destroy(argument->inner);
    if (argument->outer) dnnl_memory_destroy(argument->outer);
  }
  if (plan->primitive) dnnl_primitive_destroy(plan->primitive);
  free(plan);
}

void cpu_plans_release(pd_stream *stream) {
  while (stream->plans) {
    cpu_plan *plan = stream->plans;
    stream->plans = plan->next;
    plan_free(plan);
  }
}

/* The tensors' descriptors, and the same with the format left to the primitive. */
typedef struct descriptors {
  dnnl_shim_desc outer[ARG_COUNT], any[ARG_COUNT];
} descriptors;

static void descriptors_release(descriptors *d) {
  for (int i = 0; i < ARG_COUNT; i++) {
    dnnl_shim_desc_destroy(d->outer[i]);
    dnnl_shim_desc_destroy(d->any[i]);
  }
}

static dnnl_status_t describe(const plan_key *key, descriptors *out) {
  const int64_t oh = (key->h + 2 * key->padding - key->kernel) / key->stride + 1;
  const int64_t ow = (key->w + 2 * key->padding - key->kernel) / key->stride + 1;
  const dnnl_dims_t x = {key->n, key->i, key->h, key->w}, w = {key->o, key->i, key->kernel, key->kernel};
  const dnnl_dims_t y = {key->n, key->o, oh, ow}, bias = {key->o};
  const bool last = key->layout == PD_NHWC;
  const dnnl_format_tag_t data = last ? dnnl_nhwc : dnnl_nchw, filter = last ? dnnl_ohwi : dnnl_oihw;
  dnnl_status_t status = dnnl_shim_desc_create(&out->outer[ARG_X], 4, x, data);
  if (status == dnnl_success) status = dnnl_shim_desc_create(&out->outer[ARG_W], 4, w, filter);
  if (status == dnnl_success) status = dnnl_shim_desc_create(&out->outer[ARG_Y], 4, y, data);
  if (status == dnnl_success) status = dnnl_shim_desc_create(&out->outer[ARG_BIAS], 1, bias, dnnl_x);
  if (status == dnnl_success) status = dnnl_shim_desc_create(&out->any[ARG_X], 4, x, dnnl_format_tag_any);
  if (status == dnnl_success) status = dnnl_shim_desc_create(&out->any[ARG_W], 4, w, dnnl_format_tag_any);
  if (status == dnnl_success) status = dnnl_shim_desc_create(&out->any[ARG_Y], 4, y, dnnl_format_tag_any);
  return status;
}

static dnnl_shim_convolution convolution_of(const plan_key *key, const descriptors *d, dnnl_shim_pass pass, bool bias) {
  return (dnnl_shim_convolution){.pass = pass,
                                 .x = d->any[ARG_X],
                                 .w = d->any[ARG_W],
                                 .bias = bias ? d->outer[ARG_BIAS] : NULL,
                                 .y = d->any[ARG_Y],
                                 .stride = key->stride,
                                 .padding = key->padding};
}

static dnnl_status_t describe_forward(pd_stream *stream, const plan_key *key, const descriptors *d,
                                      dnnl_primitive_desc_t *out) {
  const dnnl_shim_convolution forward = convolution_of(key, d, DNNL_SHIM_FORWARD, key->bias);
  dnnl_primitive_attr_t attributes = NULL;
  dnnl_post_ops_t post = NULL;
  dnnl_status_t status = dnnl_primitive_attr_create(&attributes);
  if (status == dnnl_success && key->relu) {
    status = dnnl_post_ops_create(&post);
    if (status == dnnl_success) status = dnnl_shim_append_relu(post);
    if (status == dnnl_success) status = dnnl_primitive_attr_set_post_ops(attributes, post);
  }
  if (status == dnnl_success)
    status = dnnl_shim_convolution_create(out, stream->device->engine, &forward, attributes, NULL);
  if (post) dnnl_post_ops_destroy(post);
  if (attributes) dnnl_primitive_attr_destroy(attributes);
  return status;
}

static dnnl_status_t describe_backward(pd_stream *stream, const plan_key *key, const descriptors *d,
                                       dnnl_primitive_desc_t *out) {
  dnnl_engine_t engine = stream->device->engine;
  const dnnl_shim_pass pass = key->kind == PLAN_BACKWARD_DATA ? DNNL_SHIM_BACKWARD_DATA : DNNL_SHIM_BACKWARD_WEIGHTS;
  const dnnl_shim_convolution forward = convolution_of(key, d, DNNL_SHIM_FORWARD, false);
  const dnnl_shim_convolution backward = convolution_of(key, d, pass, false);
  dnnl_primitive_desc_t hint = NULL;
  dnnl_status_t status = dnnl_shim_convolution_create(&hint, engine, &forward, NULL, NULL);
  if (status == dnnl_success) status = dnnl_shim_convolution_create(out, engine, &backward, NULL, hint);
  if (hint) dnnl_primitive_desc_destroy(hint);
  return status;
}

static dnnl_status_t make_reorder(dnnl_engine_t engine, dnnl_shim_const_desc from, dnnl_shim_const_desc to,
                                  dnnl_primitive_t *out) {
  dnnl_primitive_desc_t desc = NULL;
  dnnl_status_t status = dnnl_reorder_primitive_desc_create(&desc, from, engine, to, engine, NULL);
  if (status == dnnl_success) status = dnnl_primitive_create(out, desc);
  if (desc) dnnl_primitive_desc_destroy(desc);
  return status;
}

static dnnl_status_t bind_argument(pd_stream *stream, plan_argument *argument, int index, bool output,
                                   dnnl_shim_const_desc outer, const_dnnl_primitive_desc_t desc) {
  dnnl_engine_t engine = stream->device->engine;
  dnnl_shim_const_desc inner = dnnl_primitive_desc_query_md(desc, dnnl_query_exec_arg_md, index);
  argument->index = index;
  argument->output = output;
  dnnl_status_t status = dnnl_memory_create(&argument->outer, outer, engine, DNNL_MEMORY_NONE);
  if (status != dnnl_success || dnnl_memory_desc_equal(outer, inner)) return status;
  status = dnnl_memory_create(&argument->inner, inner, engine, DNNL_MEMORY_ALLOCATE);
  if (status != dnnl_success) return status;
  return output ? make_reorder(engine, inner, outer, &argument->reorder)
                : make_reorder(engine, outer, inner, &argument->reorder);
}

static dnnl_status_t plan_make(pd_stream *stream, cpu_plan *plan) {
  const plan_key *key = &plan->key;
  descriptors d = {0};
  dnnl_primitive_desc_t desc = NULL;
  plan_argument *arguments = plan->arguments;
  dnnl_status_t status = describe(key, &d);
  if (status == dnnl_success)
    status = key->kind == PLAN_FORWARD ? describe_forward(stream, key, &d, &desc)
                                       : describe_backward(stream, key, &d, &desc);
  if (status == dnnl_success) status = dnnl_primitive_create(&plan->primitive, desc);
  const bool forward = key->kind == PLAN_FORWARD, data = key->kind == PLAN_BACKWARD_DATA;
  if (status == dnnl_success)
    status =
        bind_argument(stream, &arguments[ARG_X], data ? DNNL_ARG_DIFF_SRC : DNNL_ARG_SRC, data, d.outer[ARG_X], desc);
  if (status == dnnl_success)
    status = bind_argument(stream, &arguments[ARG_W], forward || data ? DNNL_ARG_WEIGHTS : DNNL_ARG_DIFF_WEIGHTS,
                           !forward && !data, d.outer[ARG_W], desc);
  if (status == dnnl_success)
    status = bind_argument(stream, &arguments[ARG_Y], forward ? DNNL_ARG_DST : DNNL_ARG_DIFF_DST, forward,
                           d.outer[ARG_Y], desc);
  if (status == dnnl_success && key->bias)
    status = bind_argument(stream, &arguments[ARG_BIAS], DNNL_ARG_BIAS, false, d.outer[ARG_BIAS], desc);
  if (desc) dnnl_primitive_desc_destroy(desc);
  descriptors_release(&d);
  return status;
}

static dnnl_status_t reorder(pd_stream *stream, const plan_argument *argument) {
  const dnnl_exec_arg_t both[] = {{DNNL_ARG_FROM, argument->output ? argument->inner : argument->outer},
                                  {DNNL_ARG_TO, argument->output ? argument->outer : argument->inner}};
  return dnnl_primitive_execute(argument->reorder, stream->dnnl, 2, both);
}

static bool same_key(const plan_key *a, const plan_key *b) {
  return a->kind == b->kind && a->layout == b->layout && a->bias == b->bias && a->relu == b->relu && a->n == b->n &&
         a->i == b->i && a->o == b->o && a->h == b->h && a->w == b->w && a->kernel == b->kernel &&
         a->stride == b->stride && a->padding == b->padding;
}

static cpu_plan *plan_find(pd_stream *stream, const plan_key *key, dnnl_status_t *status) {
  for (cpu_plan *plan = stream->plans; plan; plan = plan->next)
    if (same_key(&plan->key, key)) return plan;
  cpu_plan *plan = calloc(1, sizeof *plan);
  *status = dnnl_out_of_memory;
  if (!plan) return NULL;
  plan->key = *key;
  *status = plan_make(stream, plan);
  if (*status != dnnl_success) {
    plan_free(plan);
    return NULL;
  }
  plan->next = stream->plans;
  stream->plans = plan;
  return plan;
}

typedef struct plan_run {
  pd_stream *stream;
  const plan_key *key;
  void *data[ARG_COUNT];
  dnnl_status_t status;
} plan_run;

static void run_plan(void *state) {
  plan_run *self = state;
  pd_stream *stream = self->stream;
  dnnl_exec_arg_t arguments[ARG_COUNT];
  dnnl_status_t status = dnnl_success;
  int count = 0;
  cpu_plan *plan = plan_find(stream, self->key, &status);
  for (int i = 0; plan && status == dnnl_success && i < ARG_COUNT; i++) {
    const plan_argument *argument = &plan->arguments[i];
    if (!argument->index) continue;
    status = dnnl_memory_set_data_handle(argument->outer, self->data[i]);
    if (status == dnnl_success && argument->reorder && !argument->output) status = reorder(stream, argument);
    arguments[count++] = (dnnl_exec_arg_t){argument->index, argument->inner ? argument->inner : argument->outer};
  }
  if (plan && status == dnnl_success) status = dnnl_primitive_execute(plan->primitive, stream->dnnl, count, arguments);
  for (int i = 0; plan && status == dnnl_success && i < ARG_COUNT; i++)
    if (plan->arguments[i].reorder && plan->arguments[i].output) status = reorder(stream, &plan->arguments[i]);
  if (status == dnnl_success) status = dnnl_stream_wait(stream->dnnl);
  self->status = status;
}

pd_status cpu_plans_run(pd_stream *stream, const plan_key *key, void *x, void *w, void *bias, void *y) {
  plan_run run = {.stream = stream, .key = key, .data = {[ARG_X] = x, [ARG_W] = w, [ARG_Y] = y, [ARG_BIAS] = bias}};
  char why[128];
  const cpu_caught caught = cpu_guard(run_plan, &run, why, sizeof why);
  if (caught == CPU_CAUGHT_NOTHING && run.status == dnnl_success) return PD_OK;
  const bool no_memory = caught == CPU_CAUGHT_NO_MEMORY || run.status == dnnl_out_of_memory;
  if (caught == CPU_CAUGHT_NOTHING) snprintf(why, sizeof why, "status %d", (int)run.status);
  return cpu_stream_fail(stream, no_memory ? PD_NO_MEMORY : PD_DEVICE, "oneDNN convolution %lld->%lld %lldx%lld %s: %s",
                         (long long)key->i, (long long)key->o, (long long)key->kernel, (long long)key->kernel,
                         key->layout == PD_NHWC ? "NHWC" : "NCHW", why);
}
