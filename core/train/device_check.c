/* See device_check.h. */
#include "device_check.h"

#include "attention.h"
#include "models.h"

#include <string.h>

typedef enum lack {
  LACKS_NOTHING = 0,
  LACKS_ATTENTION, /* no softmax, or no products for many heads at once */
  LACKS_HALF,      /* no training in half precision */
  LACKS_BF16,      /* none in this kind of it */
  LACKS_NHWC,      /* no such layout */
  LACKS_PLANES,    /* the model knows no images, which have a layout */
  LACKS_GRAPHS,    /* none are captured */
  LACKS_SCALER     /* a graph cannot hold what the host reads */
} lack;

pd_dtype device_check_dtype(const train_config *config) {
  if (!config->amp) return PD_F32;
  return config->amp_dtype && !strcmp(config->amp_dtype, "bfloat16") ? PD_BF16 : PD_F16;
}

bool device_check_scales(const train_config *config) { return device_check_dtype(config) == PD_F16; }

static bool trains_in(const pd_device_access *device, pd_dtype dtype, pd_layout layout) {
  const pd_tensor_ops *tensor = device->ops->tensor;
  return tensor->supports && tensor->supports(device->device, dtype, layout);
}

static bool captures(const pd_stream_ops *s) {
  return PD_HAS(pd_stream_ops, s, graph_destroy) && s->capture_begin && s->capture_end && s->graph_launch &&
         s->graph_destroy;
}

static lack lack_of(const pd_device_access *device, const train_config *config) {
  if (model_attends(config) && !attention_offered(device->ops->tensor)) return LACKS_ATTENTION;
  const pd_layout layout = config->channels_last ? PD_NHWC : PD_NCHW;
  if (config->amp && !trains_in(device, device_check_dtype(config), layout))
    return device_check_scales(config) || !trains_in(device, PD_F16, layout) ? LACKS_HALF : LACKS_BF16;
  if (config->channels_last && !model_is_cnn(config)) return LACKS_PLANES;
  if (config->channels_last && !trains_in(device, PD_F32, PD_NHWC)) return LACKS_NHWC;
  if (config->cuda_graph && !captures(device->ops->stream)) return LACKS_GRAPHS;
  if (config->cuda_graph && device_check_scales(config) && config->scaler_sync) return LACKS_SCALER;
  return LACKS_NOTHING;
}

pd_status device_check(const pd_host *host, const pd_device_access *device, const train_config *config) {
  pd_device_props props = {.size = sizeof props};
  const char *name = device->ops->props(device->device, &props) == PD_OK && props.name ? props.name : "this device";
  switch (lack_of(device, config)) {
  case LACKS_ATTENTION:
    return host->fail(host, PD_UNSUPPORTED,
                      "[train] model = transformer: %s has no batched products, softmax or swap of dimensions; set "
                      "model = cnn or mlp",
                      name);
  case LACKS_HALF:
    return host->fail(host, PD_UNSUPPORTED,
                      "[train] amp = true: %s does not train in half precision; set amp = false or use --device cuda",
                      name);
  case LACKS_BF16:
    return host->fail(host, PD_UNSUPPORTED,
                      "[train] amp_dtype = bfloat16: %s does not train in it; set amp_dtype = float16", name);
  case LACKS_NHWC:
    return host->fail(
        host, PD_UNSUPPORTED,
        "[train] channels_last = true: %s has no NHWC layout; set channels_last = false or use --device cuda", name);
  case LACKS_PLANES:
    return host->fail(host, PD_UNSUPPORTED,
                      "[train] channels_last = true: model = %s has no convolutions, which this is for; set "
                      "channels_last = false or model = cnn",
                      config->model);
  case LACKS_GRAPHS:
    return host->fail(host, PD_UNSUPPORTED,
                      "[train] cuda_graph = true: %s captures no graphs; set cuda_graph = false or use --device cuda",
                      name);
  case LACKS_SCALER:
    return host->fail(host, PD_INVALID,
                      "[train] cuda_graph = true: a graph cannot hold the host's read of found_inf; "
                      "set scaler_sync = false");
  default: return PD_OK;
  }
}

train_offers train_offers_of(const pd_device_access *device, const train_config *config) {
  train_config amp = *config, nhwc = *config, graph = *config;
  amp.amp = nhwc.channels_last = graph.cuda_graph = true;
  train_config unread = graph;
  unread.scaler_sync = false;
  return (train_offers){.amp = !config->amp && lack_of(device, &amp) == LACKS_NOTHING,
                        .channels_last = !config->channels_last && lack_of(device, &nhwc) == LACKS_NOTHING,
                        .cuda_graph = !config->cuda_graph && lack_of(device, &graph) == LACKS_NOTHING,
                        .unread_graph = !config->cuda_graph && lack_of(device, &graph) == LACKS_SCALER &&
                                        lack_of(device, &unread) == LACKS_NOTHING,
                        .unread_scaler = device_check_scales(config) && config->scaler_sync,
                        .fused = !config->fused && device->ops->tensor->tiny_round_forward &&
                                 device->ops->tensor->tiny_round_backward};
}
