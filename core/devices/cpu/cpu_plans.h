/* oneDNN primitives of one stream, made on first use and kept: a step after warm-up makes none. [device thread] */
#ifndef DEVICES_CPU_PLANS_H
#define DEVICES_CPU_PLANS_H

#include "cpu_device.h"

typedef enum plan_kind { PLAN_FORWARD = 1, PLAN_BACKWARD_DATA = 2, PLAN_BACKWARD_WEIGHT = 3 } plan_kind;

/* One convolution, by shape: everything that makes it another primitive. */
typedef struct plan_key {
  plan_kind kind;
  pd_layout layout;
  bool bias, relu;
  int64_t n, i, o, h, w, kernel, stride, padding;
} plan_key;

/* Runs it: `x` (N,I,H,W), `w` (O,I,K,K), `y` (N,O,H',W') or their gradients in their places; bias (O) or NULL. */
pd_status cpu_plans_run(pd_stream *stream, const plan_key *key, void *x, void *w, void *bias, void *y);

#endif
