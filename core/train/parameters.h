/*
 * The model's parameters: float32 master values, gradients, moments, and the copy in the type that is multiplied with.
 * [loop thread]
 *
 * A gradient is "none" until its first use writes it; later uses of the same parameter add to it.
 */
#ifndef CORE_TRAIN_PARAMETERS_H
#define CORE_TRAIN_PARAMETERS_H

#include "context.h"

#include "train_kit.h"

enum { PARAMETERS_MAX = 48, MODEL_CLASSES = 1000 };

struct train_parameter_state {
  const char *name;
  pd_tensor value, grad, m, v; /* float32; filters in the context's layout */
  pd_tensor cast;              /* half precision copy; data NULL: `value` is used */
  uint32_t index;              /* in the model */
  bool has_grad;
  bool own_grad;   /* the gradient's memory is the kit's */
  bool cast_fresh; /* the copy equals the value */
};
typedef struct train_parameter_state train_parameter_state;

typedef struct parameters {
  uint32_t count;
  train_parameter_state at[PARAMETERS_MAX];
} parameters;

typedef enum parameter_start { PARAMETER_UNIFORM, PARAMETER_ONE, PARAMETER_ZERO } parameter_start;

/* What a parameter is: `multiplied` ones get a half precision copy with amp. `fan_in` scales the start. */
typedef struct parameter_kind {
  const char *name;
  pd_tensor shape;
  int64_t fan_in;
  parameter_start start;
  bool multiplied;
} parameter_kind;

/* Appends a parameter and uploads its first value: element i of number k is uniform in +-1/sqrt(fan_in), from the
 * counter-based generator of the goldens with stream seed*1000 + k, of which they use 32 bits. */
pd_status parameters_add(train_context *c, parameters *all, uint64_t seed, const parameter_kind *kind);
void parameters_close(train_context *c, parameters *all);

/* The gradient lies in `memory` from now on, which is not the kit's. */
void parameter_place_grad(train_context *c, train_parameter_state *parameter, float *memory);

/* The tensor to multiply with; brings the half precision copy up to date first. */
pd_status parameter_use(train_context *c, train_parameter_state *parameter, const pd_tensor **out);

/* Where a backward operation writes the gradient: the gradient itself, or a buffer when there is one already and the
 * operation cannot add. Then parameter_grad_done(). */
pd_status parameter_grad_begin(train_context *c, train_parameter_state *parameter, pd_tensor *target);
pd_status parameter_grad_done(train_context *c, train_parameter_state *parameter, const pd_tensor *target);

#endif
