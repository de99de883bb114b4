/*
 * What every operation of the kit needs: the device, the recorder, how to compute, where in the step we are. One per
 * kit, on the loop thread.
 *
 * `t` is a copy of the device's operation table, zero where the device is older than this kit: an optional operation
 * is simply NULL.
 */
#ifndef CORE_TRAIN_CONTEXT_H
#define CORE_TRAIN_CONTEXT_H

#include "tensor.h"

#include <pdhost/record.h>

typedef struct train_tape train_tape;

/* Whom a backward pass tells of gradients that are written: pd_train.on_gradient. */
typedef struct gradient_listener {
  pd_status (*ready)(void *user, uint32_t index); /* NULL: not asked for */
  void *user;
} gradient_listener;

typedef struct train_context {
  const pd_host *host;
  const pd_record *record;
  pd_device *device;
  uint32_t device_index;
  pd_stream *stream;
  const pd_memory_ops *memory;
  const pd_stream_ops *streams;
  pd_tensor_ops t;
  train_tape *tape;
  pd_dtype dtype;   /* of activations and of the weights that are multiplied with */
  pd_layout layout; /* of images and filters */
  bool fused, tf32, with_flops, with_modules;
  pd_part part;
  uint32_t module; /* string id of the module whose forward pass runs; 0: none */
  gradient_listener listener;
} train_context;

/* Device memory that lives as long as the kit; the pool's. */
pd_status train_alloc(const train_context *c, pd_tensor *tensor);
void train_free(const train_context *c, pd_tensor *tensor);

/* What a range says of its operation. `inputs` end with NULL or at four. */
typedef struct op_about {
  uint32_t sequence;
  bool backward;
  uint64_t flops;
  const pd_tensor *inputs[4];
} op_about;

/* Part of its caller, so that the innermost frame of a recorded call stack is the operation. */
__attribute__((always_inline)) static inline bool op_begin(const train_context *c, pd_site *site,
                                                           const op_about *about) {
  pd_shape shapes[4];
  uint32_t count = 0;
  for (; count < 4 && about->inputs[count]; count++) {
    const pd_tensor *input = about->inputs[count];
    shapes[count] = (pd_shape){.rank = input->rank, .dtype = input->dtype};
    for (uint32_t i = 0; i < input->rank; i++) shapes[count].dims[i] = input->shape[i];
  }
  const pd_range_info info = {.size = sizeof info,
                              .part = c->part,
                              .flops = c->with_flops ? about->flops : 0,
                              .sequence = about->sequence,
                              .backward = about->backward,
                              .shape_count = count,
                              .module = c->module,
                              .shapes = shapes};
  return pd_range_begin(c->record, site, &info);
}

/* Opens a range; give the result to op_end(). Costs a load and a branch while the recorder is off. */
#define OP_BEGIN(c, site, ...) (pd_record_on((c)->record) && op_begin((c), (site), &(op_about){__VA_ARGS__}))
static inline void op_end(const train_context *c, bool begun) { pd_range_end(c->record, begun); }

/* A module's range, nn.Module: NAME_0, while `with_modules`; until train_module_end ranges name its path. */
typedef struct module_site {
  pd_site range, path;
} module_site;
#define MODULE_SITE(range_, path_)                                                                                     \
  { PD_SITE("nn.Module: " range_, PD_RANGE_MODULE), PD_SITE(path_, PD_RANGE_MODULE) }
typedef struct module_mark {
  uint32_t outer;
  bool begun;
} module_mark;
module_mark train_module_begin(train_context *c, module_site *site);
void train_module_end(train_context *c, module_mark mark);

#endif
