/*
 * The CUDA device's own short cuts against the plain operations of the same device: the first layer's kernels against
 * cuDNN on the same numbers with empty channels up to eight, and the two fused backward operations against their parts.
 * Needs a GPU; PDHOST_TEST_DEVICE names cuda.so.
 */
#include "pd_test.h"
#include "test_host.h"

#include <pdhost/device.h>

#include <dlfcn.h>
#include <math.h>
#include <stdlib.h>

typedef struct gpu {
  test_host host;
  void *library;
  const pd_device_ops *ops;
  const pd_tensor_ops *t;
  pd_device *device;
  pd_stream *stream;
  uint64_t seed;
} gpu;

static void ok(const gpu *g, pd_status status) { cr_assert_eq(status, PD_OK, "%d: %s", status, g->host.message); }

/* The rows' defaults, as far as the device's options go: choices and paths are strings, the others bytes. */
static void fill_options(const pd_plugin *plugin, unsigned char *options) {
  for (uint32_t i = 0; i < plugin->option_count; i++) {
    const pd_option *row = &plugin->options[i];
    const int64_t whole = row->type == PD_BYTES ? (int64_t)1 << 30 : 0;
    if (row->type == PD_BYTES)
      memcpy(options + row->offset, &whole, sizeof whole);
    else
      memcpy(options + row->offset, &row->def, sizeof row->def);
  }
}

static void gpu_open(gpu *g) {
  const char *path = getenv("PDHOST_TEST_DEVICE");
  cr_assert(path, "PDHOST_TEST_DEVICE does not name cuda.so");
  memset(g, 0, sizeof *g);
  test_host_init(&g->host);
  g->library = dlopen(path, RTLD_NOW | RTLD_LOCAL);
  cr_assert(g->library, "%s", dlerror());
  const pd_plugin *(*entry)(void);
  void *symbol = dlsym(g->library, "pd_plugin_entry");
  cr_assert(symbol);
  memcpy(&entry, &symbol, sizeof entry);
  const pd_plugin *plugin = entry();
  unsigned char *options = calloc(1, plugin->options_size);
  cr_assert(options);
  fill_options(plugin, options);
  g->ops = plugin->ops.device;
  g->t = g->ops->tensor;
  ok(g, g->ops->open(&g->host.host, options, 0, &g->device));
  ok(g, g->ops->stream->create(g->device, &g->stream));
  free(options);
}
static void gpu_close(gpu *g) {
  g->ops->stream->destroy(g->device, g->stream);
  g->ops->close(g->device);
  dlclose(g->library);
}

static int64_t count_of(const pd_tensor *t) {
  int64_t count = 1;
  for (uint32_t i = 0; i < t->rank; i++) count *= t->shape[i];
  return count;
}
/* Poisoned, so that an element nobody writes shows. */
static pd_tensor tensor(gpu *g, pd_dtype dtype, pd_layout layout, uint32_t rank, int64_t a, int64_t b, int64_t c,
                        int64_t d) {
  pd_tensor t = {.shape = {a, b, c, d}, .rank = rank, .dtype = dtype, .layout = layout};
  ok(g, g->ops->memory->alloc(g->device, g->stream, PD_ALLOCATOR_POOL,
                              (uint64_t)count_of(&t) * (dtype == PD_F16 ? 2 : 4), &t.data));
  ok(g, g->t->fill(g->device, g->stream, &t, NAN));
  return t;
}
static void drop(gpu *g, pd_tensor *t) {
  const uint64_t bytes = (uint64_t)count_of(t) * (t->dtype == PD_F16 ? 2 : 4);
  ok(g, g->ops->memory->free(g->device, g->stream, PD_ALLOCATOR_POOL, bytes, t->data));
}
static float *read_plain(gpu *g, const pd_tensor *t) {
  pd_tensor plain = tensor(g, PD_F32, PD_NCHW, t->rank, t->shape[0], t->shape[1], t->shape[2], t->shape[3]);
  float *out = malloc((size_t)count_of(t) * sizeof *out);
  cr_assert(out);
  ok(g, g->t->convert(g->device, g->stream, &plain, t));
  ok(g, g->ops->memory->copy(g->device, g->stream, out, plain.data, (uint64_t)count_of(t) * sizeof *out,
                             PD_COPY_DEVICE_TO_HOST));
  ok(g, g->ops->stream->synchronize(g->device, g->stream));
  drop(g, &plain);
  return out;
}
static void write_plain(gpu *g, const pd_tensor *t, const float *from) {
  pd_tensor plain = tensor(g, PD_F32, PD_NCHW, t->rank, t->shape[0], t->shape[1], t->shape[2], t->shape[3]);
  ok(g, g->ops->memory->copy(g->device, g->stream, plain.data, from, (uint64_t)count_of(t) * sizeof *from,
                             PD_COPY_HOST_TO_DEVICE));
  ok(g, g->t->convert(g->device, g->stream, t, &plain));
  ok(g, g->ops->stream->synchronize(g->device, g->stream));
  drop(g, &plain);
}
static void randomise(gpu *g, const pd_tensor *t) {
  pd_tensor plain = tensor(g, PD_F32, PD_NCHW, t->rank, t->shape[0], t->shape[1], t->shape[2], t->shape[3]);
  ok(g, g->t->randn(g->device, g->stream, &plain, ++g->seed, 0));
  ok(g, g->t->convert(g->device, g->stream, t, &plain));
  drop(g, &plain);
}

/* |a - b| / |b|, of tensors with the same logical shape; NaN never passes. */
static void near(gpu *g, const pd_tensor *a, const pd_tensor *b, double tolerance, const char *what) {
  float *u = read_plain(g, a), *v = read_plain(g, b);
  double square = 0, norm = 0;
  for (int64_t i = 0; i < count_of(a); i++) {
    square += ((double)u[i] - (double)v[i]) * ((double)u[i] - (double)v[i]);
    norm += (double)v[i] * (double)v[i];
  }
  free(u);
  free(v);
  cr_assert(sqrt(square) <= tolerance * sqrt(norm), "%s: relative difference %.3g, at most %.3g", what,
            sqrt(square / norm), tolerance);
}

/* A copy of `from` (N,C,H,W) with empty channels up to `channels`. */
static pd_tensor padded(gpu *g, const pd_tensor *from, int64_t channels) {
  pd_tensor to = tensor(g, from->dtype, from->layout, 4, from->shape[0], channels, from->shape[2], from->shape[3]);
  const int64_t plane = from->shape[2] * from->shape[3];
  float *in = read_plain(g, from), *out = calloc((size_t)count_of(&to), sizeof *out);
  cr_assert(out);
  for (int64_t n = 0; n < from->shape[0]; n++)
    memcpy(out + n * channels * plane, in + n * from->shape[1] * plane, (size_t)(from->shape[1] * plane) * sizeof *in);
  write_plain(g, &to, out);
  free(in);
  free(out);
  return to;
}
/* The first `channels` channels of `from`. */
static pd_tensor cut(gpu *g, const pd_tensor *from, int64_t channels) {
  pd_tensor to = tensor(g, PD_F32, PD_NCHW, 4, from->shape[0], channels, from->shape[2], from->shape[3]);
  const int64_t plane = from->shape[2] * from->shape[3];
  float *in = read_plain(g, from);
  float *out = malloc((size_t)count_of(&to) * sizeof *out);
  cr_assert(out);
  for (int64_t n = 0; n < from->shape[0]; n++)
    memcpy(out + n * channels * plane, in + n * from->shape[1] * plane, (size_t)(channels * plane) * sizeof *in);
  write_plain(g, &to, out);
  free(in);
  free(out);
  return to;
}

typedef struct shape {
  int64_t n, c, h, w, o;
  uint32_t stride;
} shape;
static const shape shapes[] = {{4, 3, 32, 32, 64, 2}, {2, 3, 33, 29, 64, 2}, {3, 2, 17, 23, 128, 1},
                               {2, 1, 40, 24, 64, 2}, {5, 3, 7, 5, 192, 2},  {2, 3, 224, 224, 64, 2}};

static void first_layer(gpu *g, const shape *s, pd_dtype dtype, pd_layout layout, bool tf32) {
  const pd_conv2d conv = {.size = sizeof conv, .stride = s->stride, .padding = 1, .allow_tf32 = tf32};
  const int64_t oh = (s->h - 1) / s->stride + 1, ow = (s->w - 1) / s->stride + 1;
  const double tolerance = dtype == PD_F16 ? 2e-3 : tf32 ? 1e-3 : 2e-6;
  pd_tensor x = tensor(g, dtype, layout, 4, s->n, s->c, s->h, s->w), w = tensor(g, dtype, layout, 4, s->o, s->c, 3, 3);
  pd_tensor b = tensor(g, PD_F32, PD_NCHW, 1, s->o, 0, 0, 0), y = tensor(g, dtype, layout, 4, s->n, s->o, oh, ow);
  pd_tensor dy = tensor(g, dtype, layout, 4, s->n, s->o, oh, ow), dw = tensor(g, PD_F32, layout, 4, s->o, s->c, 3, 3);
  pd_tensor db = tensor(g, PD_F32, PD_NCHW, 1, s->o, 0, 0, 0), db2 = tensor(g, PD_F32, PD_NCHW, 1, s->o, 0, 0, 0);
  randomise(g, &x);
  randomise(g, &w);
  randomise(g, &b);
  randomise(g, &dy);
  pd_tensor x8 = padded(g, &x, 8), w8 = padded(g, &w, 8), y8 = tensor(g, dtype, layout, 4, s->n, s->o, oh, ow);
  pd_tensor dw8 = tensor(g, PD_F32, layout, 4, s->o, 8, 3, 3);
  for (int relu = 0; relu < 2; relu++) {
    ok(g, g->t->conv2d_forward(g->device, g->stream, &y, &x, &w, &b, relu, &conv));
    ok(g, g->t->conv2d_forward(g->device, g->stream, &y8, &x8, &w8, &b, relu, &conv));
    near(g, &y, &y8, tolerance, "forward");
  }
  ok(g, g->t->conv2d_backward_weight(g->device, g->stream, &dw, &dy, &x, &conv));
  ok(g, g->t->conv2d_backward_weight(g->device, g->stream, &dw8, &dy, &x8, &conv));
  pd_tensor dw3 = cut(g, &dw8, s->c);
  near(g, &dw, &dw3, tolerance, "backward weight");
  drop(g, &dw3);
  /* Fused: the mask, the sums and the weight's gradient. dy is the parts' to overwrite, so they come last. */
  ok(g, g->t->fill(g->device, g->stream, &dw, NAN));
  ok(g, g->t->conv2d_relu_backward_weight(g->device, g->stream, &dw, &db, &dy, &y, &x, &conv));
  ok(g, g->t->bias_relu_backward(g->device, g->stream, &dy, &db2, &dy, &y));
  ok(g, g->t->conv2d_backward_weight(g->device, g->stream, &dw8, &dy, &x8, &conv));
  dw3 = cut(g, &dw8, s->c);
  near(g, &dw, &dw3, tolerance, "fused backward weight");
  near(g, &db, &db2, tolerance, "fused bias gradient");
  pd_tensor *all[] = {&x, &w, &b, &y, &dy, &dw, &db, &db2, &x8, &w8, &y8, &dw8, &dw3};
  for (size_t i = 0; i < sizeof all / sizeof all[0]; i++) drop(g, all[i]);
}

static void every_first_layer(pd_dtype dtype, pd_layout layout, bool tf32) {
  gpu g;
  gpu_open(&g);
  for (size_t i = 0; i < sizeof shapes / sizeof shapes[0]; i++) first_layer(&g, &shapes[i], dtype, layout, tf32);
  gpu_close(&g);
}

PD_TEST_WITH(cuda_fused, first_layer_exact, .timeout = 120) {
  every_first_layer(PD_F32, PD_NCHW, false);
  every_first_layer(PD_F32, PD_NHWC, false);
}
PD_TEST_WITH(cuda_fused, first_layer_tf32, .timeout = 120) {
  every_first_layer(PD_F32, PD_NCHW, true);
  every_first_layer(PD_F32, PD_NHWC, true);
}
PD_TEST_WITH(cuda_fused, first_layer_half, .timeout = 120) {
  every_first_layer(PD_F16, PD_NCHW, true);
  every_first_layer(PD_F16, PD_NHWC, true);
}

/* The first layer's kernels read float32 images in any layout beside float16 activations. */
PD_TEST_WITH(cuda_fused, first_layer_of_mixed_types, .timeout = 120) {
  gpu g;
  gpu_open(&g);
  const pd_conv2d conv = {.size = sizeof conv, .stride = 2, .padding = 1, .allow_tf32 = 1};
  pd_tensor x = tensor(&g, PD_F32, PD_NCHW, 4, 2, 3, 32, 32), xh = tensor(&g, PD_F16, PD_NHWC, 4, 2, 3, 32, 32);
  pd_tensor w = tensor(&g, PD_F16, PD_NHWC, 4, 64, 3, 3, 3);
  pd_tensor y = tensor(&g, PD_F16, PD_NHWC, 4, 2, 64, 16, 16), yh = tensor(&g, PD_F16, PD_NHWC, 4, 2, 64, 16, 16);
  randomise(&g, &x);
  randomise(&g, &w);
  ok(&g, g.t->convert(g.device, g.stream, &xh, &x));
  ok(&g, g.t->conv2d_forward(g.device, g.stream, &y, &x, &w, NULL, false, &conv));
  ok(&g, g.t->conv2d_forward(g.device, g.stream, &yh, &xh, &w, NULL, false, &conv));
  near(&g, &y, &yh, 0, "forward of float32 images");
  pd_tensor *all[] = {&x, &xh, &w, &y, &yh};
  for (size_t i = 0; i < sizeof all / sizeof all[0]; i++) drop(&g, all[i]);
  gpu_close(&g);
}

static void last_layer(gpu *g, const shape *s, pd_dtype dtype, pd_layout layout) {
  pd_tensor y = tensor(g, dtype, layout, 4, s->n, s->o, s->h, s->w),
            dx = tensor(g, dtype, layout, 4, s->n, s->o, s->h, s->w);
  pd_tensor dx2 = tensor(g, dtype, layout, 4, s->n, s->o, s->h, s->w),
            dy = tensor(g, dtype, PD_NCHW, 2, s->n, s->o, 0, 0);
  pd_tensor db = tensor(g, PD_F32, PD_NCHW, 1, s->o, 0, 0, 0), db2 = tensor(g, PD_F32, PD_NCHW, 1, s->o, 0, 0, 0);
  randomise(g, &y);
  randomise(g, &dy);
  ok(g, g->t->elementwise(g->device, g->stream, PD_EW_RELU, &y, &y, NULL, 0));
  ok(g, g->t->mean_hw_relu_backward(g->device, g->stream, &dx, &db, &dy, &y));
  ok(g, g->t->mean_hw_backward(g->device, g->stream, &dx2, &dy));
  ok(g, g->t->bias_relu_backward(g->device, g->stream, &dx2, &db2, &dx2, &y));
  near(g, &dx, &dx2, dtype == PD_F16 ? 1e-3 : 1e-6, "fused gradient through the mean");
  near(g, &db, &db2, dtype == PD_F16 ? 1e-3 : 1e-5, "fused bias gradient through the mean");
  pd_tensor *all[] = {&y, &dx, &dx2, &dy, &db, &db2};
  for (size_t i = 0; i < sizeof all / sizeof all[0]; i++) drop(g, all[i]);
}

PD_TEST_WITH(cuda_fused, last_layer_in_every_type_and_layout, .timeout = 120) {
  static const shape last[] = {{4, 0, 28, 28, 256, 0}, {3, 0, 5, 7, 100, 0}, {64, 0, 4, 4, 256, 0}, {1, 0, 1, 1, 3, 0}};
  gpu g;
  gpu_open(&g);
  for (size_t i = 0; i < sizeof last / sizeof last[0]; i++)
    for (int k = 0; k < 4; k++) last_layer(&g, &last[i], k % 2 ? PD_F16 : PD_F32, k / 2 ? PD_NHWC : PD_NCHW);
  gpu_close(&g);
}

/* What comes out twice is the same, bit by bit: no sum depends on the order in which blocks finish. */
PD_TEST_WITH(cuda_fused, sums_are_the_same_every_time, .timeout = 120) {
  gpu g;
  gpu_open(&g);
  pd_tensor y = tensor(&g, PD_F32, PD_NHWC, 4, 8, 128, 28, 28), dy = tensor(&g, PD_F32, PD_NHWC, 4, 8, 128, 28, 28);
  pd_tensor dx = tensor(&g, PD_F32, PD_NHWC, 4, 8, 128, 28, 28), mean = tensor(&g, PD_F32, PD_NCHW, 1, 1, 0, 0, 0);
  pd_tensor first = tensor(&g, PD_F32, PD_NCHW, 1, 128, 0, 0, 0), again = tensor(&g, PD_F32, PD_NCHW, 1, 128, 0, 0, 0);
  pd_tensor mean_again = tensor(&g, PD_F32, PD_NCHW, 1, 1, 0, 0, 0);
  randomise(&g, &y);
  randomise(&g, &dy);
  ok(&g, g.t->bias_relu_backward(g.device, g.stream, &dx, &first, &dy, &y));
  ok(&g, g.t->mean(g.device, g.stream, &mean, &dy));
  for (int i = 0; i < 20; i++) {
    ok(&g, g.t->bias_relu_backward(g.device, g.stream, &dx, &again, &dy, &y));
    ok(&g, g.t->mean(g.device, g.stream, &mean_again, &dy));
    near(&g, &again, &first, 0, "bias gradient");
    near(&g, &mean_again, &mean, 0, "mean");
  }
  pd_tensor *all[] = {&y, &dy, &dx, &mean, &first, &again, &mean_again};
  for (size_t i = 0; i < sizeof all / sizeof all[0]; i++) drop(&g, all[i]);
  gpu_close(&g);
}

/* What does not fit is an error that says how much was asked, and the device goes on. */
PD_TEST_WITH(cuda_fused, too_large_an_allocation_is_refused, .timeout = 120) {
  gpu g;
  void *data = &g;
  gpu_open(&g);
  const uint64_t bytes = (uint64_t)1 << 50;
  for (pd_allocator allocator = PD_ALLOCATOR_POOL; allocator <= PD_ALLOCATOR_RAW; allocator++) {
    cr_assert_eq(g.ops->memory->alloc(g.device, g.stream, allocator, bytes, &data), PD_NO_MEMORY);
    cr_assert_null(data);
    cr_assert(strstr(g.host.message, "1125899906842624"), "%s", g.host.message);
  }
  pd_tensor t = tensor(&g, PD_F32, PD_NCHW, 1, 10, 0, 0, 0);
  ok(&g, g.ops->stream->synchronize(g.device, g.stream));
  drop(&g, &t);
  gpu_close(&g);
}
