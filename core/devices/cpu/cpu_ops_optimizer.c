/* AdamW and the loss scaler, one job for all parameters. The list is copied and freed by the job. */
#include "cpu_ops.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

typedef struct list_arguments {
  pd_parameter *parameters;
  int64_t count;
  pd_adamw adamw;
  pd_scaler scaler;
} list_arguments;

/* Loshchilov and Hutter, "Decoupled Weight Decay Regularization", with torch's order of operations. */
static void update(const pd_parameter *p, const pd_adamw *h, double correction1, double correction2) {
  if (!p->grad) return; /* it took no part in this step */
  const double size = h->lr / correction1, root2 = sqrt(correction2);
  for (int64_t i = 0; i < p->count; i++) {
    const double g = (double)p->grad[i];
    const double m = h->beta1 * (double)p->m[i] + (1 - h->beta1) * g;
    const double v = h->beta2 * (double)p->v[i] + (1 - h->beta2) * g * g;
    const double value = (double)p->value[i] * (1 - h->lr * h->weight_decay);
    p->m[i] = (float)m;
    p->v[i] = (float)v;
    p->value[i] = (float)(value - size * m / (sqrt(v) / root2 + h->eps));
  }
}

static pd_status run_adamw(pd_stream *stream, void *arguments) {
  const list_arguments *a = arguments;
  const pd_adamw *h = &a->adamw;
  if (stream->failed == PD_OK && (!h->found_inf || h->found_inf[0] == 0)) {
    const double step = (double)++*h->step;
    const double correction1 = 1 - pow(h->beta1, step), correction2 = 1 - pow(h->beta2, step);
    for (int64_t i = 0; i < a->count; i++) update(&a->parameters[i], h, correction1, correction2);
  }
  free(a->parameters);
  return PD_OK;
}

static pd_status run_unscale(pd_stream *stream, void *arguments) {
  const list_arguments *a = arguments;
  const float inverse = stream->failed == PD_OK ? 1.0f / a->scaler.scale[0] : 0;
  bool found = false;
  for (int64_t k = 0; stream->failed == PD_OK && k < a->count; k++)
    for (int64_t i = 0; a->parameters[k].grad && i < a->parameters[k].count; i++) {
      float *grad = &a->parameters[k].grad[i];
      if (!isfinite(*grad)) found = true;
      *grad *= inverse;
    }
  if (stream->failed == PD_OK) a->scaler.found_inf[0] = found;
  free(a->parameters);
  return PD_OK;
}

static pd_status run_scaler_update(pd_stream *stream, void *arguments) {
  (void)stream;
  const pd_scaler *s = arguments;
  if (s->found_inf[0] != 0) {
    s->scale[0] *= (float)s->backoff;
    s->good_steps[0] = 0;
  } else if (++s->good_steps[0] == s->interval) {
    s->scale[0] *= (float)s->growth;
    s->good_steps[0] = 0;
  }
  return PD_OK;
}

static pd_status launch_list(pd_device *device, pd_stream *stream, pd_site *site, job_run run, list_arguments *a,
                             const pd_parameter *parameters) {
  const size_t bytes = (size_t)a->count * sizeof *parameters;
  a->parameters = malloc(bytes ? bytes : 1);
  if (!a->parameters) return device->host->fail(device->host, PD_NO_MEMORY, "%s: no memory for its list", site->text);
  if (bytes) memcpy(a->parameters, parameters, bytes);
  static pd_site call = PD_SITE("pdLaunchKernel", 0);
  const launch how = {.call = &call,
                      .site = site,
                      .api = PD_API_LAUNCH,
                      .always = true, /* frees the list */
                      .record = {.kind = PD_ACTIVITY_KERNEL}};
  return cpu_stream_launch(stream, &how, run, a, sizeof *a);
}

pd_status cpu_adamw(pd_device *device, pd_stream *stream, const pd_parameter *parameters, int64_t count,
                    const pd_adamw *adamw) {
  static pd_site site = PD_SITE("adamw", 0);
  list_arguments a = {.count = count, .adamw = *adamw};
  for (int64_t i = 0; i < count; i++)
    if (parameters[i].half) return refuse(device, "adamw");
  return launch_list(device, stream, &site, run_adamw, &a, parameters);
}

pd_status cpu_unscale(pd_device *device, pd_stream *stream, const pd_parameter *parameters, int64_t count,
                      const pd_scaler *scaler) {
  static pd_site site = PD_SITE("unscale", 0);
  list_arguments a = {.count = count, .scaler = *scaler};
  return launch_list(device, stream, &site, run_unscale, &a, parameters);
}

pd_status cpu_scaler_update(pd_device *device, pd_stream *stream, const pd_scaler *scaler) {
  static pd_site site = PD_SITE("scaler_update", 0);
  (void)device;
  return cpu_stream_kernel(stream, &site, run_scaler_update, scaler, sizeof *scaler);
}
