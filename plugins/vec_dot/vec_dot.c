/* vec_dot: the dot products of many pairs of vectors, by multiplying and summing, or as a batched matrix product: which
 * of two is faster, and on what. For [run] mode = benchmark. */
#include <pdhost/device.h>
#include <pdhost/scenario.h>

#include <stdlib.h>
#include <string.h>

typedef struct {
  const char *implementation;
  int64_t batch, dim;
} options;

static const char *const implementations[] = {"mul_sum", "bmm", NULL};
static const pd_option rows[] = {
    PD_OPTION_CHOICE(options, implementation, .def = "mul_sum", .choices = implementations,
                     .help = "multiply and sum, or a batched product of 1 x dim and dim x 1 matrices"),
    PD_OPTION(options, batch, .def = "10000", .min = "1", .max = "100_000_000", .unit = "pairs",
              .help = "pairs of vectors"),
    PD_OPTION(options, dim, .def = "64", .min = "1", .max = "100_000_000", .unit = "elements",
              .help = "length of each vector"),
};

/* The loop's images are not looked at: few and small. */
static const pd_preset presets[] = {{"data.batch_size", "1"},
                                    {"data.image_size", "8"},
                                    {"data.cpu_work", "0"},
                                    {"data.io_sleep_ms", "0"},
                                    {NULL, NULL}};

typedef struct {
  const options *opt;
  const pd_host *host;
  const pd_record *record; /* or NULL */
  const pd_device_access *device;
  pd_tensor a, b, product; /* (batch, dim); product: only of mul_sum */
  pd_tensor dots;          /* (batch) */
} state;

static uint64_t bytes_of(const pd_tensor *t) {
  return (uint64_t)t->shape[0] * (uint64_t)(t->rank > 1 ? t->shape[1] : 1) * sizeof(float);
}

static pd_status make(state *s, pd_tensor *t, uint32_t rank) {
  const pd_device_access *d = s->device;
  *t = (pd_tensor){.shape = {s->opt->batch, s->opt->dim}, .rank = rank, .dtype = PD_F32};
  const pd_status status = d->ops->memory->alloc(d->device, d->stream, PD_ALLOCATOR_RAW, bytes_of(t), &t->data);
  if (status != PD_NO_MEMORY) return status;
  return s->host->fail(s->host, status, "no memory for %llu bytes of vectors: lower scenario.batch or scenario.dim",
                       (unsigned long long)bytes_of(t));
}

static bool is_bmm(const state *s) { return strcmp(s->opt->implementation, "bmm") == 0; }

static void teardown(void *state_) {
  state *s = state_;
  const pd_device_access *d = s->device;
  pd_tensor *const all[] = {&s->a, &s->b, &s->product, &s->dots};
  for (size_t i = 0; i < sizeof all / sizeof all[0]; i++)
    if (all[i]->data)
      (void)d->ops->memory->free(d->device, d->stream, PD_ALLOCATOR_RAW, bytes_of(all[i]), all[i]->data);
  free(s);
}

/* Both operations are optional, and younger than the device interface's first version. */
static bool device_can(const state *s) {
  const pd_tensor_ops *ops = s->device->ops->tensor;
  return is_bmm(s) ? PD_HAS(pd_tensor_ops, ops, batched_matmul) && ops->batched_matmul
                   : PD_HAS(pd_tensor_ops, ops, sum_rows) && ops->sum_rows;
}

static pd_status init(const pd_host *host, const void *opt, void **out) {
  state *s = calloc(1, sizeof *s);
  if (!s) return host->fail(host, PD_NO_MEMORY, "no memory for the scenario's state");
  s->opt = opt;
  s->host = host;
  s->device = host->extension(host, PD_EXT_DEVICE);
  s->record = host->extension(host, PD_EXT_RECORD);
  if (!s->device || !device_can(s)) {
    const char *what = s->device ? "an operation of this device" : PD_EXT_DEVICE;
    free(s);
    return host->fail(host, PD_UNSUPPORTED, "vec_dot needs %s: sum_rows for mul_sum, batched_matmul for bmm", what);
  }
  const pd_device_access *d = s->device;
  const uint64_t count = (uint64_t)s->opt->batch * (uint64_t)s->opt->dim;
  pd_status status = make(s, &s->a, 2);
  if (status == PD_OK) status = make(s, &s->b, 2);
  if (status == PD_OK && !is_bmm(s)) status = make(s, &s->product, 2);
  if (status == PD_OK) status = make(s, &s->dots, 1);
  if (status == PD_OK) status = d->ops->tensor->randn(d->device, d->stream, &s->a, 1, 0);
  if (status == PD_OK) status = d->ops->tensor->randn(d->device, d->stream, &s->b, 1, count);
  if (status != PD_OK) {
    teardown(s);
    return status;
  }
  *out = s;
  return PD_OK;
}

static pd_status multiply_and_sum(const state *s) {
  static pd_site mul = PD_SITE("aten::mul", PD_RANGE_OP), sum = PD_SITE("aten::sum", PD_RANGE_OP);
  const pd_device_access *d = s->device;
  bool begun = s->record && pd_range_begin(s->record, &mul, NULL);
  pd_status status = d->ops->tensor->elementwise(d->device, d->stream, PD_EW_MUL, &s->product, &s->a, &s->b, 0);
  pd_range_end(s->record, begun);
  begun = s->record && pd_range_begin(s->record, &sum, NULL);
  if (status == PD_OK) status = d->ops->tensor->sum_rows(d->device, d->stream, &s->dots, &s->product);
  pd_range_end(s->record, begun);
  return status;
}

static pd_status batched_product(const state *s) {
  static pd_site bmm = PD_SITE("aten::bmm", PD_RANGE_OP);
  const pd_device_access *d = s->device;
  const int64_t batch = s->opt->batch, dim = s->opt->dim;
  const pd_tensor a = {.data = s->a.data, .shape = {batch, 1, dim}, .rank = 3, .dtype = PD_F32};
  const pd_tensor b = {.data = s->b.data, .shape = {batch, dim, 1}, .rank = 3, .dtype = PD_F32};
  const pd_tensor c = {.data = s->dots.data, .shape = {batch, 1, 1}, .rank = 3, .dtype = PD_F32};
  const bool begun = s->record && pd_range_begin(s->record, &bmm, NULL);
  const pd_status status = d->ops->tensor->batched_matmul(d->device, d->stream, &c, &a, &b, false, false, false);
  pd_range_end(s->record, begun);
  return status;
}

static pd_status step(void *state_, const pd_step *at) {
  const state *s = state_;
  (void)at;
  return is_bmm(s) ? batched_product(s) : multiply_and_sum(s);
}

PD_SCENARIO("vec_dot", "1.0", "batched dot products by two implementations, to be timed", options, rows,
            .bottleneck = "none", .presets = presets, .init = init, .step = step, .teardown = teardown)
