/* memory_churn: temporaries as large as the batch, made, filled and freed in every step: allocator, bandwidth and extra
 * kernels. All of them live until the last one is filled. */
#include <pdhost/scenario.h>
#include <pdhost/train.h>
#include <pdhost/truth.h>

#include <stdlib.h>
#include <string.h>

typedef struct {
  int64_t temporaries;
  const char *allocator;
  double scale;
} options;

static const char *const allocators[] = {"cached", "pool", "raw", NULL};
static const pd_option rows[] = {
    PD_OPTION(options, temporaries, .def = "20", .min = "0", .max = "1000", .unit = "tensors",
              .help = "batch-sized temporaries in each step"),
    PD_OPTION_CHOICE(options, allocator, .def = "cached", .choices = allocators,
                     .help = "where they come from: the kit's cache, the device's pool, or its plain allocator"),
    PD_OPTION(options, scale, .def = "0.001", .min = "-1", .max = "1",
              .help = "share of the sum of their means that is added to the batch"),
};

static const pd_preset presets[] = {{"data.resident", "device"}, {NULL, NULL}};

static const pd_cure cures[] = {{"allocator", "scenario.temporaries=0"}, {NULL, NULL}};

typedef struct {
  const options *opt;
  const pd_train *train;
  const pd_truth *truth; /* or NULL */
  pd_allocator allocator;
  pd_tensor *tensors; /* temporaries */
} state;

static void teardown(void *state_) {
  state *s = state_;
  free(s->tensors);
  free(s);
}

static pd_status init(const pd_host *host, const void *opt, void **out) {
  state *s = calloc(1, sizeof *s);
  if (!s) return host->fail(host, PD_NO_MEMORY, "no memory for the scenario's state");
  s->opt = opt;
  s->train = host->extension(host, PD_EXT_TRAIN);
  s->truth = host->extension(host, PD_EXT_TRUTH);
  s->allocator = strcmp(s->opt->allocator, "raw") == 0    ? PD_ALLOCATOR_RAW
                 : strcmp(s->opt->allocator, "pool") == 0 ? PD_ALLOCATOR_POOL
                                                          : PD_ALLOCATOR_CACHED;
  s->tensors = calloc((size_t)s->opt->temporaries + 1, sizeof *s->tensors);
  if (!s->train || !s->tensors) {
    const bool trains = s->train != NULL;
    teardown(s);
    return trains ? host->fail(host, PD_NO_MEMORY, "no memory for the scenario's state")
                  : host->fail(host, PD_UNSUPPORTED, "this host has no training kit (%s)", PD_EXT_TRAIN);
  }
  *out = s;
  return PD_OK;
}

/* x = x + scale * sum of the temporaries' means. */
static pd_status churn(state *s, pd_tensor *x) {
  const pd_train *train = s->train;
  const pd_tensor scalar = {.rank = 1, .shape = {1}, .dtype = PD_F32};
  pd_tensor mean = {0}, sum = {0};
  int64_t made = 0;
  pd_status status = train->empty_like(train, &scalar, PD_ALLOCATOR_CACHED, &mean);
  if (status == PD_OK) status = train->empty_like(train, &scalar, PD_ALLOCATOR_CACHED, &sum);
  for (; status == PD_OK && made < s->opt->temporaries; made++) {
    status = train->empty_like(train, x, s->allocator, &s->tensors[made]);
    if (status != PD_OK) break;
    status = train->randn(train, &s->tensors[made]);
  }
  for (int64_t i = 0; status == PD_OK && i < s->opt->temporaries; i++) {
    status = train->mean(train, i ? &mean : &sum, &s->tensors[i]);
    if (status == PD_OK && i) status = train->add(train, &sum, &sum, &mean, 1.0);
  }
  if (status == PD_OK && s->opt->temporaries) status = train->add(train, x, x, &sum, s->opt->scale);
  for (int64_t i = 0; i < made; i++) {
    const pd_status freed = train->tensor_free(train, s->allocator, &s->tensors[i]);
    if (status == PD_OK) status = freed;
  }
  if (sum.data) (void)train->tensor_free(train, PD_ALLOCATOR_CACHED, &sum);
  if (mean.data) (void)train->tensor_free(train, PD_ALLOCATOR_CACHED, &mean);
  return status;
}

static pd_status step(void *state_, const pd_step *at) {
  state *s = state_;
  const pd_train *train = s->train;
  pd_tensor images;
  pd_status status = train->to_device(train, at, &images);
  pd_truth_asked(s->truth, -1, (uint64_t)s->opt->temporaries);
  if (status == PD_OK && pd_step_injects(at)) {
    pd_truth_begin(s->truth);
    status = churn(s, &images);
    pd_truth_end(s->truth, (uint64_t)s->opt->temporaries);
  }
  if (status == PD_OK) status = train->zero_grad(train);
  if (status == PD_OK) status = train->forward(train);
  if (status == PD_OK) status = train->backward(train);
  if (status == PD_OK) status = train->optimizer_step(train);
  return status;
}

PD_SCENARIO("memory_churn", "1.0", "batch-sized temporaries made and freed in every step", options, rows,
            .bottleneck = "allocator", .presets = presets, .init = init, .step = step, .teardown = teardown,
            .cures = cures)
