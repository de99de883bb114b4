/*
 * Times the operations of the plain training step on a device plugin, each alone and all together, without the host.
 *
 *   bench_device_ops PLUGIN [-b batch] [-s size] [-n rounds] [-m mode] [-k] [-c ratio] [-v] [-o key=value]...
 *
 * One table per precision and layout. The times are the device's own events; `step` is wall time of a whole step with
 * its copy and one synchronisation at each end. The parameters' gradients of every mode are compared with those of the
 * first, float32 without TF32, so that a fast wrong kernel shows: exit 1 where one is off by 2 %. -k leaves out what
 * cuDNN and cuBLASLt do, for tools that check the other kernels and cannot stand theirs: tensors then hold NaN, and
 * only that every kernel runs matters. -c RATIO measures the copies from pinned memory alone: exit 1 where a batch's
 * rate is below RATIO times that of 256 MiB.
 */
#include <pdhost/clocks.h>
#include <pdhost/device.h>

#include <dlfcn.h>
#include <math.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

enum { MOST_OPS = 40, MOST_ROUNDS = 400, LAYERS = 3, CLASSES = 1000 };

static bool verbose, own_kernels_only;

static const void *no_extension(const pd_host *host, const char *id) {
  (void)host;
  (void)id;
  return NULL;
}
PD_PRINTF(3, 4) static pd_status print_failure(const pd_host *host, pd_status code, const char *format, ...) {
  va_list args;
  (void)host;
  va_start(args, format);
  fputs("bench_device_ops: ", stderr);
  vfprintf(stderr, format, args);
  fputc('\n', stderr);
  va_end(args);
  return code;
}
PD_PRINTF(3, 4) static void print_log(const pd_host *host, pd_log_level level, const char *format, ...) {
  va_list args;
  (void)host;
  if (!verbose && level > PD_LOG_WARN) return;
  va_start(args, format);
  vfprintf(stderr, format, args);
  fputc('\n', stderr);
  va_end(args);
}
static const pd_host host = {.size = sizeof(pd_host),
                             .abi_major = PD_ABI_MAJOR,
                             .abi_minor = PD_ABI_MINOR,
                             .extension = no_extension,
                             .fail = print_failure,
                             .log = print_log};

typedef struct mode {
  const char *name;
  pd_dtype dtype;
  pd_layout layout;
  bool tf32;
} mode;
static const mode modes[] = {{"float32, NCHW, no TF32", PD_F32, PD_NCHW, false},
                             {"float32, NCHW, TF32", PD_F32, PD_NCHW, true},
                             {"float32, NHWC, TF32", PD_F32, PD_NHWC, true},
                             {"float16, NCHW", PD_F16, PD_NCHW, true},
                             {"float16, NHWC", PD_F16, PD_NHWC, true}};

typedef struct bench {
  const pd_device_ops *ops;
  const pd_tensor_ops *t;
  pd_device *device;
  pd_stream *stream;
  pd_event *start, *end;
  int rounds;
  int op_count;
  const char *op_names[MOST_OPS];
  double op_ns[MOST_OPS][MOST_ROUNDS];
  int64_t batch, size;
  bool is_cuda;
  /* of the mode */
  mode m;
  pd_tensor images, x, y[LAYERS], dy[LAYERS], w[LAYERS], b[LAYERS], dw[LAYERS], db[LAYERS];
  pd_tensor pooled, dpooled, head, head_bias, dhead, dhead_bias, logits, dlogits, probs, labels, loss, scale, found_inf;
  pd_tensor good_steps, step_count, masters[8], m1[8], m2[8];
  float *pinned_images;
  int64_t *pinned_labels;
} bench;

static void need(pd_status status, const char *what) {
  if (status == PD_OK) return;
  fprintf(stderr, "bench_device_ops: %s failed (%d)\n", what, status);
  exit(1);
}

static double now_ns(void) { return (double)pd_monotonic_ns(); }

static int compare(const void *a, const void *b) {
  const double x = *(const double *)a, y = *(const double *)b;
  return (x > y) - (x < y);
}
static double median(double *v, int count) {
  qsort(v, (size_t)count, sizeof *v, compare);
  return v[count / 2];
}

static uint64_t bytes_of(const pd_tensor *t) {
  uint64_t bytes = t->dtype == PD_F16 ? 2 : t->dtype == PD_I64 ? 8 : 4;
  for (uint32_t i = 0; i < t->rank; i++) bytes *= (uint64_t)t->shape[i];
  return bytes;
}
static pd_tensor tensor(bench *b, pd_dtype dtype, pd_layout layout, uint32_t rank, int64_t s0, int64_t s1, int64_t s2,
                        int64_t s3) {
  pd_tensor t = {.shape = {s0, s1, s2, s3}, .rank = rank, .dtype = dtype, .layout = layout};
  need(b->ops->memory->alloc(b->device, b->stream, PD_ALLOCATOR_POOL, bytes_of(&t), &t.data), "alloc");
  if (dtype == PD_F32 || dtype == PD_F16) need(b->t->fill(b->device, b->stream, &t, NAN), "fill");
  return t;
}
static void release(bench *b, pd_tensor *t) {
  need(b->ops->memory->free(b->device, b->stream, PD_ALLOCATOR_POOL, bytes_of(t), t->data), "free");
}

/* Normal numbers times `factor`, the same for every mode: `t` is written in its own type and layout. */
static void randomise(bench *b, const pd_tensor *t, uint64_t seed, double factor) {
  pd_tensor plain = tensor(b, PD_F32, PD_NCHW, t->rank, t->shape[0], t->shape[1], t->shape[2], t->shape[3]);
  need(b->t->randn(b->device, b->stream, &plain, seed, 0), "randn");
  need(b->t->elementwise(b->device, b->stream, PD_EW_SCALE, &plain, &plain, NULL, factor), "scale");
  need(b->t->convert(b->device, b->stream, t, &plain), "convert");
  release(b, &plain);
}

/* Times one call where `round` counts, or just makes it. */
static void begin(bench *b, int round) {
  if (round >= 0) need(b->ops->stream->event_record(b->device, b->stream, b->start), "event");
}
static void finish(bench *b, int round, const char *name, pd_status status) {
  need(status, name);
  if (round < 0) return;
  need(b->ops->stream->event_record(b->device, b->stream, b->end), "event");
  need(b->ops->stream->event_synchronize(b->device, b->end), "event");
  b->op_names[b->op_count] = name;
  need(b->ops->stream->event_elapsed_ns(b->device, b->start, b->end, &b->op_ns[b->op_count][round]), "event");
  b->op_count++;
}

#define OP(name, call)                                                                                                 \
  do {                                                                                                                 \
    begin(b, round);                                                                                                   \
    finish(b, round, name, (call));                                                                                    \
  } while (0)

/* What a library does on the CUDA device. */
#define LIBRARY_OP(name, call)                                                                                         \
  do {                                                                                                                 \
    if (!own_kernels_only) OP(name, call);                                                                             \
  } while (0)

static void layers_forward(bench *b, int round, const pd_conv2d *conv) {
  static const char *const names[] = {"conv1 forward", "conv2 forward", "conv3 forward"};
  const bool direct = b->x.data == b->images.data;
  if (!direct) OP("convert images", b->t->convert(b->device, b->stream, &b->x, &b->images));
  OP(names[0], b->t->conv2d_forward(b->device, b->stream, &b->y[0], &b->x, &b->w[0], &b->b[0], true, conv));
  for (int i = 1; i < LAYERS; i++)
    LIBRARY_OP(names[i],
               b->t->conv2d_forward(b->device, b->stream, &b->y[i], &b->y[i - 1], &b->w[i], &b->b[i], true, conv));
}

static void layers_backward(bench *b, int round, const pd_conv2d *conv) {
  static const char *const weight[] = {"conv1 backward weight", "conv2 backward weight", "conv3 backward weight"};
  static const char *const data[] = {"", "conv2 backward data", "conv3 backward data"};
  static const char *const mask[] = {"relu1 backward", "relu2 backward", "relu3 backward"};
  if (b->t->mean_hw_relu_backward) {
    OP("mean, relu3 backward",
       b->t->mean_hw_relu_backward(b->device, b->stream, &b->dy[2], &b->db[2], &b->dpooled, &b->y[2]));
  } else {
    OP("mean backward", b->t->mean_hw_backward(b->device, b->stream, &b->dy[2], &b->dpooled));
    OP(mask[2], b->t->bias_relu_backward(b->device, b->stream, &b->dy[2], &b->db[2], &b->dy[2], &b->y[2]));
  }
  for (int i = LAYERS - 1; i > 0; i--) {
    LIBRARY_OP(weight[i], b->t->conv2d_backward_weight(b->device, b->stream, &b->dw[i], &b->dy[i], &b->y[i - 1], conv));
    LIBRARY_OP(data[i], b->t->conv2d_backward_data(b->device, b->stream, &b->dy[i - 1], &b->dy[i], &b->w[i], conv));
    if (i == 1 && b->t->conv2d_relu_backward_weight) break;
    OP(mask[i - 1],
       b->t->bias_relu_backward(b->device, b->stream, &b->dy[i - 1], &b->db[i - 1], &b->dy[i - 1], &b->y[i - 1]));
  }
  if (b->t->conv2d_relu_backward_weight)
    OP("conv1, relu1 backward weight",
       b->t->conv2d_relu_backward_weight(b->device, b->stream, &b->dw[0], &b->db[0], &b->dy[0], &b->y[0], &b->x, conv));
  else
    OP(weight[0], b->t->conv2d_backward_weight(b->device, b->stream, &b->dw[0], &b->dy[0], &b->x, conv));
}

static void optimise(bench *b, int round) {
  const pd_tensor *grads[8] = {&b->dw[0], &b->db[0], &b->dw[1], &b->db[1],
                               &b->dw[2], &b->db[2], &b->dhead, &b->dhead_bias};
  pd_tensor *weights[8] = {&b->w[0], NULL, &b->w[1], NULL, &b->w[2], NULL, &b->head, NULL};
  pd_parameter p[8];
  for (int i = 0; i < 8; i++) {
    const bool half = b->m.dtype == PD_F16 && weights[i];
    p[i] = (pd_parameter){.value = b->masters[i].data,
                          .grad = grads[i]->data,
                          .m = b->m1[i].data,
                          .v = b->m2[i].data,
                          .half = half ? weights[i]->data : NULL,
                          .count = (int64_t)bytes_of(grads[i]) / 4};
  }
  const pd_scaler scaler = {.scale = b->scale.data,
                            .found_inf = b->found_inf.data,
                            .good_steps = b->good_steps.data,
                            .growth = 2,
                            .backoff = 0.5,
                            .interval = 2000};
  const pd_adamw adamw = {.size = sizeof adamw,
                          .lr = 0,
                          .beta1 = 0.9,
                          .beta2 = 0.999,
                          .eps = 1e-8,
                          .step = b->step_count.data,
                          .found_inf = b->m.dtype == PD_F16 ? b->found_inf.data : NULL};
  if (b->m.dtype == PD_F16) OP("unscale", b->t->unscale(b->device, b->stream, p, 8, &scaler));
  OP("adamw", b->t->adamw(b->device, b->stream, p, 8, &adamw));
  if (b->m.dtype == PD_F16) OP("scaler update", b->t->scaler_update(b->device, b->stream, &scaler));
}

static void train_step(bench *b, int round) {
  const pd_conv2d conv = {.size = sizeof conv, .stride = 2, .padding = 1, .allow_tf32 = b->m.tf32};
  const bool half = b->m.dtype == PD_F16;
  b->op_count = 0;
  OP("copy images", b->ops->memory->copy(b->device, b->stream, b->images.data, b->pinned_images, bytes_of(&b->images),
                                         PD_COPY_HOST_TO_DEVICE));
  OP("copy labels", b->ops->memory->copy(b->device, b->stream, b->labels.data, b->pinned_labels, bytes_of(&b->labels),
                                         PD_COPY_HOST_TO_DEVICE));
  layers_forward(b, round, &conv);
  OP("mean forward", b->t->mean_hw_forward(b->device, b->stream, &b->pooled, &b->y[2]));
  LIBRARY_OP("head forward", b->t->matmul(b->device, b->stream, &b->logits, &b->pooled, &b->head, &b->head_bias, false,
                                          true, false, b->m.tf32));
  OP("cross entropy", b->t->cross_entropy_forward(b->device, b->stream, &b->loss, &b->probs, &b->logits, &b->labels));
  OP("cross entropy backward",
     b->t->cross_entropy_backward(b->device, b->stream, &b->dlogits, &b->probs, &b->labels, half ? &b->scale : NULL));
  OP("head bias backward", b->t->bias_backward(b->device, b->stream, &b->dhead_bias, &b->dlogits, false));
  LIBRARY_OP("head backward weight", b->t->matmul(b->device, b->stream, &b->dhead, &b->dlogits, &b->pooled, NULL, true,
                                                  false, false, b->m.tf32));
  LIBRARY_OP("head backward data", b->t->matmul(b->device, b->stream, &b->dpooled, &b->dlogits, &b->head, NULL, false,
                                                false, false, b->m.tf32));
  layers_backward(b, round, &conv);
  optimise(b, round);
}

static void open_mode(bench *b, mode m) {
  static const int64_t channels[LAYERS + 1] = {3, 64, 128, 256};
  const pd_dtype dtype = m.dtype;
  const int64_t n = b->batch;
  int64_t size = b->size;
  b->m = m;
  b->images = tensor(b, PD_F32, PD_NCHW, 4, n, 3, size, size);
  b->labels = tensor(b, PD_I64, PD_NCHW, 1, n, 0, 0, 0);
  /* The CUDA device's first layer reads float32 images in any layout. */
  const bool direct = dtype == PD_F32 && (m.layout == PD_NCHW || b->is_cuda);
  b->x = direct ? b->images : tensor(b, dtype, m.layout, 4, n, 3, size, size);
  for (int i = 0; i < LAYERS; i++) {
    const int64_t in = channels[i], out = channels[i + 1];
    size = (size + 1) / 2;
    b->y[i] = tensor(b, dtype, m.layout, 4, n, out, size, size);
    b->dy[i] = tensor(b, dtype, m.layout, 4, n, out, size, size);
    b->w[i] = tensor(b, dtype, m.layout, 4, out, in, 3, 3);
    b->dw[i] = tensor(b, PD_F32, m.layout, 4, out, in, 3, 3);
    b->b[i] = tensor(b, PD_F32, PD_NCHW, 1, out, 0, 0, 0);
    b->db[i] = tensor(b, PD_F32, PD_NCHW, 1, out, 0, 0, 0);
    randomise(b, &b->w[i], (uint64_t)i + 1, 1.0 / sqrt((double)in * 9));
    randomise(b, &b->b[i], (uint64_t)i + 11, 0.1);
  }
  b->pooled = tensor(b, dtype, PD_NCHW, 2, n, 256, 0, 0);
  b->dpooled = tensor(b, dtype, PD_NCHW, 2, n, 256, 0, 0);
  b->head = tensor(b, dtype, PD_NCHW, 2, CLASSES, 256, 0, 0);
  b->dhead = tensor(b, PD_F32, PD_NCHW, 2, CLASSES, 256, 0, 0);
  b->head_bias = tensor(b, PD_F32, PD_NCHW, 1, CLASSES, 0, 0, 0);
  b->dhead_bias = tensor(b, PD_F32, PD_NCHW, 1, CLASSES, 0, 0, 0);
  b->logits = tensor(b, PD_F32, PD_NCHW, 2, n, CLASSES, 0, 0);
  b->probs = tensor(b, PD_F32, PD_NCHW, 2, n, CLASSES, 0, 0);
  b->dlogits = tensor(b, dtype, PD_NCHW, 2, n, CLASSES, 0, 0);
  randomise(b, &b->head, 21, 1.0 / 16);
  randomise(b, &b->head_bias, 22, 0.1);
  b->loss = tensor(b, PD_F32, PD_NCHW, 1, 1, 0, 0, 0);
  b->scale = tensor(b, PD_F32, PD_NCHW, 1, 1, 0, 0, 0);
  b->found_inf = tensor(b, PD_F32, PD_NCHW, 1, 1, 0, 0, 0);
  b->good_steps = tensor(b, PD_I32, PD_NCHW, 1, 1, 0, 0, 0);
  b->step_count = tensor(b, PD_I64, PD_NCHW, 1, 1, 0, 0, 0);
  need(b->t->fill(b->device, b->stream, &b->scale, 65536), "fill");
  need(b->t->fill(b->device, b->stream, &b->good_steps, 0), "fill");
  need(b->t->fill(b->device, b->stream, &b->step_count, 0), "fill");
  /* With lr = 0 AdamW leaves the masters as they are, which are the weights where those are half. */
  const pd_tensor *weights[8] = {&b->w[0], &b->b[0], &b->w[1], &b->b[1], &b->w[2], &b->b[2], &b->head, &b->head_bias};
  for (int i = 0; i < 8; i++) {
    const pd_tensor *w = weights[i];
    pd_tensor *all[3] = {&b->masters[i], &b->m1[i], &b->m2[i]};
    for (int k = 0; k < 3; k++) {
      *all[k] = tensor(b, PD_F32, w->layout, w->rank, w->shape[0], w->shape[1], w->shape[2], w->shape[3]);
      need(b->t->fill(b->device, b->stream, all[k], 0), "fill");
    }
    need(b->t->convert(b->device, b->stream, &b->masters[i], w), "convert");
  }
}

static void close_mode(bench *b) {
  pd_tensor *single[] = {&b->images,    &b->labels,     &b->pooled,     &b->dpooled,   &b->head,    &b->dhead,
                         &b->head_bias, &b->dhead_bias, &b->logits,     &b->probs,     &b->dlogits, &b->loss,
                         &b->scale,     &b->found_inf,  &b->good_steps, &b->step_count};
  if (b->x.data != b->images.data) release(b, &b->x);
  for (size_t i = 0; i < sizeof single / sizeof single[0]; i++) release(b, single[i]);
  for (int i = 0; i < LAYERS; i++) {
    pd_tensor *layer[] = {&b->y[i], &b->dy[i], &b->w[i], &b->dw[i], &b->b[i], &b->db[i]};
    for (size_t k = 0; k < sizeof layer / sizeof layer[0]; k++) release(b, layer[k]);
  }
  for (int i = 0; i < 8; i++) {
    release(b, &b->masters[i]);
    release(b, &b->m1[i]);
    release(b, &b->m2[i]);
  }
}

/* Reads a float32 tensor in NCHW order. */
static float *read_back(bench *b, const pd_tensor *t) {
  pd_tensor plain = tensor(b, PD_F32, PD_NCHW, t->rank, t->shape[0], t->shape[1], t->shape[2], t->shape[3]);
  float *host_copy = malloc(bytes_of(&plain));
  if (!host_copy) need(PD_NO_MEMORY, "malloc");
  need(b->t->convert(b->device, b->stream, &plain, t), "convert");
  need(b->ops->memory->copy(b->device, b->stream, host_copy, plain.data, bytes_of(&plain), PD_COPY_DEVICE_TO_HOST),
       "copy");
  need(b->ops->stream->synchronize(b->device, b->stream), "synchronize");
  release(b, &plain);
  return host_copy;
}

/* |v - reference| / |reference|; the first mode's values become the reference. */
static double difference(bench *b, const pd_tensor *t, float **reference) {
  float *v = read_back(b, t);
  const uint64_t count = bytes_of(t) / (t->dtype == PD_F16 ? 2 : 4);
  double square = 0, norm = 0;
  if (!*reference) *reference = v;
  for (uint64_t i = 0; i < count; i++) {
    const double d = (double)v[i] - (double)(*reference)[i];
    square += d * d;
    norm += (double)(*reference)[i] * (double)(*reference)[i];
  }
  if (v != *reference) free(v);
  return sqrt(square / norm);
}

/* Half precision and TF32 change gradients by 0.2 %, and those of a batch of 2 by 1 %. */
#define MOST_DIFFERENCE 0.02

/* Whether what it computes is what the first mode did. */
static bool run_mode(bench *b, mode m, float **references) {
  static double wall[MOST_ROUNDS];
  open_mode(b, m);
  for (int i = 0; i < 5 && i < b->rounds; i++) train_step(b, -1);
  const pd_tensor *results[] = {&b->loss,  &b->dw[0], &b->db[0], &b->dw[1],     &b->db[1],
                                &b->dw[2], &b->db[2], &b->dhead, &b->dhead_bias};
  static const char *const names[] = {"loss", "dw1", "db1", "dw2", "db2", "dw3", "db3", "dhead", "dhead bias"};
  printf("\n%s: relative difference from the first mode:", m.name);
  bool held = true;
  for (size_t i = 0; i < sizeof results / sizeof results[0]; i++) {
    const double off = difference(b, results[i], &references[i]);
    printf(" %s %.1e", names[i], off);
    held &= own_kernels_only || off <= MOST_DIFFERENCE; /* NaN is not */
  }
  printf("%s\n", held ? "" : ": FAILED, 2.0e-02 is wanted");
  for (int i = 0; i < b->rounds; i++) {
    need(b->ops->stream->synchronize(b->device, b->stream), "synchronize");
    const double start = now_ns();
    train_step(b, -1);
    need(b->ops->stream->synchronize(b->device, b->stream), "synchronize");
    wall[i] = now_ns() - start;
  }
  for (int i = 0; i < b->rounds; i++) train_step(b, i);
  double sum = 0;
  for (int i = 0; i < b->op_count; i++) {
    const double ns = median(b->op_ns[i], b->rounds);
    sum += ns;
    printf("  %-30s %9.1f us\n", b->op_names[i], ns / 1e3);
  }
  printf("  %-30s %9.1f us\n  %-30s %9.1f us\n", "sum", sum / 1e3, "step", median(wall, b->rounds) / 1e3);
  close_mode(b);
  return held;
}

/* Host time per call of a tiny operation, and what large fills of random numbers and their mean take. */
static void small_things(bench *b) {
  enum { CALLS = 20000 };
  pd_tensor tiny = tensor(b, PD_F32, PD_NCHW, 2, 64, 256, 0, 0);
  pd_tensor large = tensor(b, PD_F32, PD_NCHW, 4, b->batch, 3, b->size, b->size);
  pd_tensor one = tensor(b, PD_F32, PD_NCHW, 1, 1, 0, 0, 0);
  pd_tensor weight = tensor(b, PD_F32, PD_NCHW, 2, 256, 256, 0, 0), out = tensor(b, PD_F32, PD_NCHW, 2, 64, 256, 0, 0);
  const int calls = b->rounds * 50 < CALLS ? b->rounds * 50 : CALLS;
  double at[3];
  for (int warm = 0; warm < 2; warm++) {
    need(b->ops->stream->synchronize(b->device, b->stream), "synchronize");
    at[0] = now_ns();
    for (int i = 0; i < calls; i++)
      need(b->t->elementwise(b->device, b->stream, PD_EW_TANH, &tiny, &tiny, NULL, 0), "tanh");
    need(b->ops->stream->synchronize(b->device, b->stream), "synchronize");
    at[1] = now_ns();
    for (int i = 0; i < calls; i++)
      need(b->t->matmul(b->device, b->stream, &out, &tiny, &weight, NULL, false, true, false, true), "matmul");
    need(b->ops->stream->synchronize(b->device, b->stream), "synchronize");
    at[2] = now_ns();
  }
  printf("\nper call, back to back: tanh (64,256) %.0f ns, matmul (64,256)x(256,256) %.0f ns\n",
         (at[1] - at[0]) / calls, (at[2] - at[1]) / calls);
  b->op_count = 0;
  for (int i = 0; i < b->rounds; i++) {
    const int round = i;
    b->op_count = 0;
    OP("randn of a batch", b->t->randn(b->device, b->stream, &large, 1, 0));
    OP("mean of a batch", b->t->mean(b->device, b->stream, &one, &large));
    OP("x + 0.001 * one", b->t->elementwise(b->device, b->stream, PD_EW_ADD, &large, &large, &one, 0.001));
    OP("tanh (64,256)", b->t->elementwise(b->device, b->stream, PD_EW_TANH, &tiny, &tiny, NULL, 0));
    OP("matmul (64,256)x(256,256)",
       b->t->matmul(b->device, b->stream, &out, &tiny, &weight, NULL, false, true, false, true));
  }
  for (int i = 0; i < b->op_count; i++)
    printf("  %-30s %9.1f us\n", b->op_names[i], median(b->op_ns[i], b->rounds) / 1e3);
  release(b, &tiny);
  release(b, &large);
  release(b, &one);
  release(b, &weight);
  release(b, &out);
}

/* Bytes per nanosecond of one copy from pinned memory, by events, the median of the rounds. */
static double copy_rate(bench *b, void *device, const void *pinned, uint64_t bytes, double *ns) {
  for (int i = -2; i < b->rounds; i++) {
    double elapsed;
    need(b->ops->stream->event_record(b->device, b->stream, b->start), "event");
    need(b->ops->memory->copy(b->device, b->stream, device, pinned, bytes, PD_COPY_HOST_TO_DEVICE), "copy");
    need(b->ops->stream->event_record(b->device, b->stream, b->end), "event");
    need(b->ops->stream->event_synchronize(b->device, b->end), "event");
    need(b->ops->stream->event_elapsed_ns(b->device, b->start, b->end, &elapsed), "event");
    if (i >= 0) ns[i] = elapsed;
  }
  return (double)bytes / median(ns, b->rounds);
}

/* Whether a batch goes to the device at `least` times the rate of a copy of 256 MiB. */
static bool copies(bench *b, double least) {
  static double ns[MOST_ROUNDS];
  const uint64_t large = (uint64_t)256 << 20, batch = (uint64_t)(b->batch * 3 * b->size * b->size) * sizeof(float);
  const uint64_t room = batch > large ? batch : large;
  void *pinned, *device;
  need(b->ops->memory->host_alloc(b->device, room, &pinned), "pinned memory");
  memset(pinned, 1, room);
  need(b->ops->memory->alloc(b->device, b->stream, PD_ALLOCATOR_POOL, room, &device), "alloc");
  const double plain = copy_rate(b, device, pinned, large, ns), own = copy_rate(b, device, pinned, batch, ns);
  printf("copies from pinned memory: a batch of %.1f MB %.2f GB/s, 256 MiB %.2f GB/s, ratio %.3f, wanted %.3f\n",
         (double)batch / 1e6, own, plain, own / plain, least);
  need(b->ops->memory->free(b->device, b->stream, PD_ALLOCATOR_POOL, room, device), "free");
  need(b->ops->memory->host_free(b->device, room, pinned), "free");
  return own >= least * plain;
}

/* Fills an options struct from the rows' defaults and the command line, as far as this program needs it. */
static void set_option(const pd_plugin *plugin, unsigned char *options, const char *key, const char *value) {
  for (uint32_t i = 0; i < plugin->option_count; i++) {
    const pd_option *row =
        (const pd_option *)(const void *)((const char *)plugin->options + (size_t)i * plugin->option_size);
    if (key && strcmp(row->key, key) != 0) continue;
    const char *text = key ? value : row->def;
    unsigned char *field = options + row->offset;
    char *unit = NULL;
    const int64_t whole = strtoll(text ? text : "0", &unit, 10);
    const int64_t scaled = strcmp(unit, "GiB") == 0 ? whole << 30 : strcmp(unit, "MiB") == 0 ? whole << 20 : whole;
    const double real = strtod(text ? text : "0", NULL);
    const bool yes = text && strcmp(text, "true") == 0;
    switch (row->type) {
    case PD_BOOL: memcpy(field, &yes, sizeof yes); break;
    case PD_INT:
    case PD_BYTES:
    case PD_DURATION: memcpy(field, &scaled, sizeof scaled); break;
    case PD_FLOAT: memcpy(field, &real, sizeof real); break;
    default: memcpy(field, &text, sizeof text); break;
    }
  }
}

int main(int argc, char **argv) {
  int only = -1;            /* of the modes */
  double copies_least = -1; /* negative: everything else */
  bool held = true;
  static bench b = {.rounds = 50, .batch = 64, .size = 224};
  if (argc < 2) {
    puts("usage: bench_device_ops PLUGIN [-b batch] [-s size] [-n rounds] [-m mode 0..4] [-k] [-c ratio] [-v] [-o "
         "key=value]...");
    return 0;
  }
  void *handle = dlopen(argv[1], RTLD_NOW | RTLD_LOCAL);
  if (!handle) {
    fprintf(stderr, "bench_device_ops: %s\n", dlerror());
    return 1;
  }
  const pd_plugin *(*entry)(void);
  void *symbol = dlsym(handle, "pd_plugin_entry");
  need(symbol ? PD_OK : PD_INVALID, "pd_plugin_entry");
  memcpy(&entry, &symbol, sizeof entry);
  const pd_plugin *plugin = entry();
  need(plugin->kind == PD_KIND_DEVICE ? PD_OK : PD_INVALID, "a device plugin");
  unsigned char *options = calloc(1, plugin->options_size + 1);
  need(options ? PD_OK : PD_NO_MEMORY, "options");
  set_option(plugin, options, NULL, NULL);
  for (int i = 2; i < argc; i++) {
    char *value = i + 1 < argc ? argv[i + 1] : NULL;
    if (strcmp(argv[i], "-v") == 0 || strcmp(argv[i], "-k") == 0) {
      *(argv[i][1] == 'v' ? &verbose : &own_kernels_only) = true;
      continue;
    }
    need(value ? PD_OK : PD_INVALID, argv[i]);
    i++;
    if (strcmp(argv[i - 1], "-b") == 0) b.batch = strtoll(value, NULL, 10);
    if (strcmp(argv[i - 1], "-s") == 0) b.size = strtoll(value, NULL, 10);
    if (strcmp(argv[i - 1], "-c") == 0) copies_least = strtod(value, NULL);
    if (strcmp(argv[i - 1], "-m") == 0) only = (int)strtol(value, NULL, 10);
    if (strcmp(argv[i - 1], "-n") == 0) {
      const long rounds = strtol(value, NULL, 10);
      b.rounds = rounds < MOST_ROUNDS ? (int)rounds : MOST_ROUNDS;
    }
    char *equals = strchr(value, '=');
    if (strcmp(argv[i - 1], "-o") == 0 && equals) {
      *equals = '\0';
      set_option(plugin, options, value, equals + 1);
    }
  }
  const double at = now_ns();
  b.ops = plugin->ops.device;
  b.t = b.ops->tensor;
  need(b.ops->open(&host, options, 0, &b.device), "open");
  pd_device_props props = {.size = sizeof props};
  need(b.ops->props(b.device, &props), "props");
  b.is_cuda = props.is_cuda != 0;
  printf("%s, %s\nbatch %lld, image %lld, %d rounds; medians; opened in %.0f ms\n", props.name, props.versions,
         (long long)b.batch, (long long)b.size, b.rounds, (now_ns() - at) / 1e6);
  need(b.ops->stream->create(b.device, &b.stream), "stream");
  need(b.ops->stream->event_create(b.device, &b.start), "event");
  need(b.ops->stream->event_create(b.device, &b.end), "event");
  if (copies_least >= 0) {
    held = copies(&b, copies_least);
    goto out;
  }
  const uint64_t image_bytes = (uint64_t)(b.batch * 3 * b.size * b.size) * sizeof(float);
  void *pinned;
  need(b.ops->memory->host_alloc(b.device, image_bytes, &pinned), "pinned memory");
  b.pinned_images = pinned;
  need(b.ops->memory->host_alloc(b.device, (uint64_t)b.batch * sizeof(int64_t), &pinned), "pinned memory");
  b.pinned_labels = pinned;
  for (uint64_t i = 0; i < image_bytes / sizeof(float); i++)
    b.pinned_images[i] = (float)((double)(i * 2654435761u % 65536) / 32768.0 - 1.0) * 1.7f;
  for (int64_t i = 0; i < b.batch; i++) b.pinned_labels[i] = i * 37 % CLASSES;
  float *references[9] = {NULL};
  for (size_t i = 0; i < sizeof modes / sizeof modes[0]; i++) {
    if (only >= 0 && only != (int)i) continue;
    if (b.t->supports(b.device, modes[i].dtype, modes[i].layout)) held &= run_mode(&b, modes[i], references);
  }
  if (only < 0) small_things(&b);
  for (int i = 0; i < 9; i++) free(references[i]);
  need(b.ops->memory->host_free(b.device, image_bytes, b.pinned_images), "free");
  need(b.ops->memory->host_free(b.device, (uint64_t)b.batch * sizeof(int64_t), b.pinned_labels), "free");
out:
  b.ops->stream->event_destroy(b.device, b.start);
  b.ops->stream->event_destroy(b.device, b.end);
  b.ops->stream->destroy(b.device, b.stream);
  b.ops->close(b.device);
  free(options);
  dlclose(handle);
  return held ? 0 : 1;
}
