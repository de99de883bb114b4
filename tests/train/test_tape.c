/* The tape: buffers kept from step to step, sums of gradients, its bounds, and a numeric check of small operations. */
#include "pd_test.h"
#include "train_rig.h"

#include "train/elementwise.h"
#include "train/tape.h"

#include <math.h>

typedef struct scene {
  train_rig rig;
  train_context c;
} scene;

static void scene_open(scene *s) {
  memset(s, 0, sizeof *s);
  train_rig_open(&s->rig);
  s->c = train_rig_context(&s->rig);
  train_rig_ok(&s->rig, tape_open(&s->c, &s->c.tape), "tape_open");
}

static void scene_close(scene *s) {
  tape_close(&s->c, s->c.tape);
  train_rig_close(&s->rig);
}

enum { ROWS = 3, COLUMNS = 5, COUNT = ROWS * COLUMNS };

/* A tensor whose gradient is wanted though nothing made it. */
static tape_tensor *leaf(scene *s, const float *values, int64_t columns) {
  const pd_tensor shape = tensor_matrix(PD_F32, ROWS, columns);
  tape_tensor *x = NULL;
  train_rig_ok(&s->rig, tape_tensor_new(&s->c, &shape, &x), "leaf");
  x->needs_grad = true;
  train_rig_ok(
      &s->rig,
      s->c.memory->copy(s->c.device, s->c.stream, x->value.data, values, tensor_bytes(&shape), PD_COPY_HOST_TO_DEVICE),
      "copy");
  return x;
}

static void download(scene *s, const pd_tensor *tensor, float *out) {
  cr_assert_not_null(tensor->data);
  train_rig_ok(
      &s->rig,
      s->c.memory->copy(s->c.device, s->c.stream, out, tensor->data, tensor_bytes(tensor), PD_COPY_DEVICE_TO_HOST),
      "copy");
}

static void backward_from(scene *s, tape_tensor *y, const float *dy) {
  y->grad = tensor_like(&y->value, PD_F32);
  train_rig_ok(&s->rig, tape_buffer(&s->c, &y->grad), "buffer");
  train_rig_ok(
      &s->rig,
      s->c.memory->copy(s->c.device, s->c.stream, y->grad.data, dy, tensor_bytes(&y->grad), PD_COPY_HOST_TO_DEVICE),
      "copy");
  train_rig_ok(&s->rig, tape_backward(&s->c), "backward");
}

static void inputs(float *x, float *dy) {
  for (int i = 0; i < COUNT; i++) {
    x[i] = sinf((float)i * 1.7F) * 1.5F;
    dy[i] = cosf((float)i * 0.9F);
  }
}

/* y = (x + 0.01 tanh x) * sigmoid(x + 0.01 tanh x): x is used twice, and so is the sum. */
PD_TEST(tape, gradients_of_shared_tensors_add_up) {
  scene s;
  scene_open(&s);
  float x[COUNT], dy[COUNT], dx[COUNT], y[COUNT];
  inputs(x, dy);
  tape_tensor *in = leaf(&s, x, COLUMNS), *t, *h, *out;
  train_rig_ok(&s.rig, elementwise_tanh_forward(&s.c, in, &t), "tanh");
  train_rig_ok(&s.rig, elementwise_scale_forward(&s.c, t, 0.01, &t), "scale");
  train_rig_ok(&s.rig, elementwise_add_forward(&s.c, in, t, &h), "add");
  train_rig_ok(&s.rig, elementwise_sigmoid_forward(&s.c, h, &t), "sigmoid");
  train_rig_ok(&s.rig, elementwise_mul_forward(&s.c, h, t, &out), "mul");
  backward_from(&s, out, dy);
  download(&s, &out->value, y);
  download(&s, &in->grad, dx);
  for (int i = 0; i < COUNT; i++) {
    const double v = (double)x[i], sum = v + 0.01 * tanh(v), gate = 1 / (1 + exp(-sum));
    const double slope = (gate + sum * gate * (1 - gate)) * (1 + 0.01 * (1 - tanh(v) * tanh(v)));
    cr_assert_lt(fabs((double)y[i] - sum * gate), 1e-6);
    cr_assert_lt(fabs((double)dx[i] - (double)dy[i] * slope), 2e-6);
  }
  scene_close(&s);
}

/* y = cat(2 x[:, :2], x[:, 2:]) */
PD_TEST(tape, columns_keep_their_gradients) {
  scene s;
  scene_open(&s);
  float x[COUNT], dy[COUNT], dx[COUNT], y[COUNT];
  inputs(x, dy);
  tape_tensor *in = leaf(&s, x, COLUMNS), *part, *out;
  train_rig_ok(&s.rig, elementwise_slice_forward(&s.c, in, 2, &part), "slice");
  train_rig_ok(&s.rig, elementwise_scale_forward(&s.c, part, 2, &part), "scale");
  train_rig_ok(&s.rig, elementwise_cat_forward(&s.c, part, in, &out), "cat");
  backward_from(&s, out, dy);
  download(&s, &out->value, y);
  download(&s, &in->grad, dx);
  for (int i = 0; i < COUNT; i++) {
    const float factor = i % COLUMNS < 2 ? 2 : 1;
    cr_assert_eq(y[i], factor * x[i]);
    cr_assert_eq(dx[i], factor * dy[i]);
  }
  scene_close(&s);
}

PD_TEST(tape, relu_works_in_its_inputs_memory) {
  scene s;
  scene_open(&s);
  float x[COUNT], dy[COUNT], dx[COUNT], y[COUNT];
  inputs(x, dy);
  tape_tensor *in = leaf(&s, x, COLUMNS), *out;
  train_rig_ok(&s.rig, elementwise_relu_forward(&s.c, in, &out), "relu");
  cr_assert_eq(out->value.data, in->value.data);
  backward_from(&s, out, dy);
  download(&s, &out->value, y);
  download(&s, &in->grad, dx);
  for (int i = 0; i < COUNT; i++) {
    cr_assert_eq(y[i], x[i] > 0 ? x[i] : 0);
    cr_assert_eq(dx[i], x[i] > 0 ? dy[i] : 0);
  }
  scene_close(&s);
}

PD_TEST(tape, a_repeated_pass_allocates_nothing_and_sequences_go_on) {
  scene s;
  scene_open(&s);
  float x[COUNT], dy[COUNT];
  inputs(x, dy);
  uint64_t allocations = 0;
  const void *first = NULL;
  for (uint32_t pass = 0; pass < 3; pass++) {
    tape_reset(s.c.tape);
    tape_tensor *in = leaf(&s, x, COLUMNS), *out;
    cr_assert_eq(tape_sequence(s.c.tape), 1 + 2 * pass);
    train_rig_ok(&s.rig, elementwise_tanh_forward(&s.c, in, &out), "tanh");
    train_rig_ok(&s.rig, elementwise_scale_forward(&s.c, out, 2, &out), "scale");
    backward_from(&s, out, dy);
    if (pass == 0) {
      allocations = train_rig_allocations();
      first = out->value.data;
    }
    cr_assert_eq(train_rig_allocations(), allocations);
    cr_assert_eq(out->value.data, first);
  }
  scene_close(&s);
}

PD_TEST(tape, what_is_not_used_gets_no_gradient) {
  scene s;
  scene_open(&s);
  float x[COUNT], dy[COUNT];
  inputs(x, dy);
  tape_tensor *in = leaf(&s, x, COLUMNS), *unused, *out;
  train_rig_ok(&s.rig, elementwise_tanh_forward(&s.c, in, &out), "tanh");
  train_rig_ok(&s.rig, elementwise_sigmoid_forward(&s.c, in, &unused), "sigmoid");
  tape_tensor constant = *in;
  constant.needs_grad = false;
  backward_from(&s, out, dy);
  cr_assert_null(unused->grad.data);
  train_rig_ok(&s.rig, tape_add_grad(&s.c, &constant, &out->grad), "add");
  cr_assert_null(constant.grad.data);
  scene_close(&s);
}

PD_TEST(tape, a_full_tape_is_a_status) {
  scene s;
  scene_open(&s);
  float x[COUNT], dy[COUNT];
  inputs(x, dy);
  tape_tensor *out = leaf(&s, x, COLUMNS);
  pd_status status = PD_OK;
  int done = 0;
  for (; status == PD_OK && done < 5000; done++) status = elementwise_relu_forward(&s.c, out, &out);
  cr_assert_eq(status, PD_NO_MEMORY);
  cr_assert_eq(done, TAPE_NODES + 1);
  cr_assert(strstr(s.rig.host.message, "the tape is full (operations)"), "%s", s.rig.host.message);
  tape_reset(s.c.tape);
  status = PD_OK;
  for (done = 0; status == PD_OK && done < 5000; done++) {
    pd_tensor buffer = tensor_vector(PD_F32, 1);
    status = tape_buffer(&s.c, &buffer);
  }
  cr_assert_eq(status, PD_NO_MEMORY);
  cr_assert_eq(done, TAPE_SLOTS + 1);
  scene_close(&s);
}
