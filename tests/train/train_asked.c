/* What the settings ask of the device, seen by one that passes everything on. */
#include "train_parts.h"

static struct {
  const pd_tensor_ops *device;
  int products, convolutions, updates;
  bool tf32;
  double lr;
} asked;

static pd_status matmul(pd_device *device, pd_stream *stream, const pd_tensor *c, const pd_tensor *a,
                        const pd_tensor *b, const pd_tensor *bias, bool transpose_a, bool transpose_b, bool accumulate,
                        bool allow_tf32) {
  asked.products++;
  cr_assert_eq(allow_tf32, asked.tf32);
  return asked.device->matmul(device, stream, c, a, b, bias, transpose_a, transpose_b, accumulate, allow_tf32);
}

static pd_status conv2d_forward(pd_device *device, pd_stream *stream, const pd_tensor *y, const pd_tensor *x,
                                const pd_tensor *w, const pd_tensor *bias, bool relu, const pd_conv2d *conv) {
  asked.convolutions++;
  cr_assert_eq(conv->allow_tf32, (uint32_t)asked.tf32);
  return asked.device->conv2d_forward(device, stream, y, x, w, bias, relu, conv);
}

static pd_status adamw(pd_device *device, pd_stream *stream, const pd_parameter *parameters, int64_t count,
                       const pd_adamw *how) {
  asked.updates++;
  cr_assert_float_eq(how->lr, asked.lr, 1e-18);
  return asked.device->adamw(device, stream, parameters, count, how);
}

/* One step under `config`. */
static void expect(train_config config) {
  train_rig rig;
  train_rig_open(&rig);
  pd_tensor_ops ops = *rig.ops.tensor;
  asked.device = rig.ops.tensor;
  asked.products = asked.convolutions = asked.updates = 0;
  asked.tf32 = config.tf32;
  asked.lr = config.lr;
  ops.matmul = matmul;
  ops.conv2d_forward = conv2d_forward;
  ops.adamw = adamw;
  rig.ops.tensor = &ops;
  train_rig_ok(&rig, train_rig_kit(&rig, &config), "kit");
  pd_batch batch = train_rig_batch(N, S, 1);
  const pd_step at = {.size = sizeof at, .batch = &batch};
  train_rig_ok(&rig, rig.train->step(rig.train, &at), "step");
  cr_assert(asked.products > 0 && asked.convolutions > 0, "%d, %d", asked.products, asked.convolutions);
  cr_assert_eq(asked.updates, 1);
  train_rig_close(&rig);
  train_rig_batch_free(&batch);
}

PD_TEST(train, tf32_is_what_products_and_convolutions_may_be_in) {
  train_config config = train_rig_config();
  config.tf32 = true;
  expect(config);
  config.tf32 = false;
  expect(config);
}

PD_TEST(train, the_optimizer_takes_the_rate_that_was_set) {
  train_config config = train_rig_config();
  config.lr = 0.25;
  expect(config);
  config.lr = 3e-5;
  expect(config);
}
