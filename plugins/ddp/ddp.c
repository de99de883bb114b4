/*
 * ddp: data-parallel training. Each rank takes its part of every batch; gradients are averaged over all ranks in
 * buckets, while the backward pass goes on, so that all ranks update the same parameters alike. What may be injected
 * makes one rank late, gives it more work, makes the messages larger, or takes the overlap away.
 */
#include "ddp_buckets.h"
#include "ddp_same.h"

#include <pdhost/clocks.h>

#include <stdio.h>

static const char *const verify_names[] = {"end", "step", "none", NULL};

typedef struct {
  double bucket_mb, straggler_us, straggler_kernel_us;
  bool overlap;
  int64_t straggler_rank, straggler_kernels, uneven_batch, model_width;
  const char *verify;
} options;

static const pd_option rows[] = {
    PD_OPTION(options, bucket_mb, .def = "25", .min = "0.001", .max = "100000", .unit = "MB",
              .help = "gradients that are reduced in one message; a single larger one is a bucket of its own"),
    PD_OPTION(options, overlap, .def = "true",
              .help = "reduce a bucket while the backward pass goes on; false: all of them after it"),
    PD_OPTION(options, straggler_rank, .def = "-1", .min = "-1", .max = "1000000",
              .help = "the rank that is late or has more work; -1: the last one"),
    PD_OPTION(options, straggler_us, .def = "0", .min = "0", .max = "1e7", .unit = "us",
              .help = "that rank's host computes for this time before each forward pass"),
    PD_OPTION(options, straggler_kernels, .def = "0", .min = "0", .max = "1000", .unit = "kernels",
              .help = "that rank's device runs as many kernels more before each forward pass"),
    PD_OPTION(options, straggler_kernel_us, .def = "500", .min = "1", .max = "1e6", .unit = "us",
              .help = "how long each of them takes"),
    PD_OPTION(options, uneven_batch, .def = "1", .min = "1", .max = "1000", .unit = "times",
              .help = "that rank takes the whole batch_size, the others this part of it"),
    PD_OPTION(options, model_width, .def = "1", .min = "1", .max = "32", .unit = "times",
              .help = "channels of the model, which makes the gradients larger: 1 is 2.5 MB, 8 is 107 MB"),
    PD_OPTION_CHOICE(options, verify, .def = "end", .choices = verify_names,
                     .help =
                         "when all ranks must have the same parameters, bit for bit: step reads them back each time"),
};

static const pd_preset presets[] = {
    {"data.cpu_work", "200"}, {"data.io_sleep_ms", "0"}, {"data.resident", "device"}, {NULL, NULL}};
/* Several buckets of a small model, and enough to compute beside them. */
static const pd_device_preset device_presets[] = {
    {"cpu", "scenario.bucket_mb", "0.5"}, {"cpu", "data.image_size", "32"}, {NULL, NULL, NULL}};

static const pd_cure cures[] = {{"host_compute", "scenario.straggler_us=0"},
                                {"uneven_work", "scenario.straggler_kernels=0 scenario.uneven_batch=1"},
                                {"comm_not_overlapped", "scenario.overlap=true"},
                                {"comm_bound", "scenario.model_width=1"},
                                {NULL, NULL}};

typedef struct {
  pd_kit kit;
  const options *opt;
  const pd_device_access *access;
  ddp_buckets buckets; /* of several ranks */
  bool is_late;        /* this is the rank that is */
} state;

static void teardown(void *state_) {
  state *s = state_;
  ddp_buckets_close(&s->buckets);
  free(s);
}

static pd_status check(const state *s) {
  const pd_host *host = s->kit.host;
  const pd_ranks *ranks = s->kit.ranks;
  const options *opt = s->opt;
  if (opt->straggler_rank >= (ranks ? (int64_t)ranks->count : 1))
    return host->fail(host, PD_INVALID, "[scenario] straggler_rank = %lld: there are %u ranks",
                      (long long)opt->straggler_rank, ranks ? ranks->count : 1);
  if (opt->straggler_kernels && (!PD_HAS(pd_tensor_ops, s->access->ops->tensor, spin) || !s->access->ops->tensor->spin))
    return host->fail(host, PD_UNSUPPORTED,
                      "[scenario] straggler_kernels = %lld: this device has no operation that only takes time (spin)",
                      (long long)opt->straggler_kernels);
  return PD_OK;
}

static pd_status init(const pd_host *host, const void *opt, void **out) {
  void *made = NULL;
  pd_status status = pd_kit_open(host, opt, sizeof(state), &made);
  if (status != PD_OK || !made) return status;
  state *s = made;
  s->opt = opt;
  s->access = host->extension(host, PD_EXT_DEVICE);
  const pd_ranks *ranks = s->kit.ranks;
  const pd_train_model model = {.size = sizeof model, .width = (uint32_t)s->opt->model_width};
  status = s->access ? check(s) : host->fail(host, PD_UNSUPPORTED, "this host has no device (%s)", PD_EXT_DEVICE);
  if (status == PD_OK) status = s->kit.train->configure(s->kit.train, &model);
  if (status == PD_OK && ranks) {
    const int64_t late = s->opt->straggler_rank < 0 ? (int64_t)ranks->count - 1 : s->opt->straggler_rank;
    s->is_late = ranks->rank == (uint32_t)late;
    status = ddp_buckets_open(&s->buckets, &s->kit, (uint64_t)(s->opt->bucket_mb * 1e6));
  }
  if (status != PD_OK) {
    teardown(s);
    return status;
  }
  *out = s;
  return PD_OK;
}

/* Spins: a sleep would give the core away. */
static void be_late(const state *s) {
  static pd_site site = PD_SITE("straggler", PD_RANGE_USER);
  const bool begun = pd_kit_range_begin(&s->kit, &site);
  pd_truth_begin(s->kit.truth);
  const int64_t until = pd_monotonic_ns() + (int64_t)(s->opt->straggler_us * 1000);
  while (pd_monotonic_ns() < until) {}
  pd_truth_end(s->kit.truth, 1);
  pd_kit_range_end(&s->kit, begun);
}

static pd_status be_busy(const state *s) {
  const uint64_t count = (uint64_t)s->opt->straggler_kernels;
  pd_status status = pd_truth_device_begin(s->kit.truth, s->access->stream);
  for (uint64_t i = 0; i < count && status == PD_OK; i++)
    status = s->access->ops->tensor->spin(s->access->device, s->access->stream,
                                          (int64_t)(s->opt->straggler_kernel_us * 1000));
  return status == PD_OK ? pd_truth_device_end(s->kit.truth, s->access->stream, count) : status;
}

static pd_status inject(const state *s, bool injects) {
  const options *opt = s->opt;
  const double device_us = (double)opt->straggler_kernels * opt->straggler_kernel_us;
  pd_truth_asked(s->kit.truth, s->is_late ? opt->straggler_us + device_us : 0, 0);
  if (!s->is_late || !injects) return PD_OK;
  if (opt->straggler_us > 0) be_late(s);
  return opt->straggler_kernels ? be_busy(s) : PD_OK;
}

/* The samples of this rank: all of them, or the part that every rank takes where one has more to do. */
static pd_status share_out(const state *s, const pd_step *at) {
  const int64_t times = s->opt->uneven_batch, samples = at->batch->count;
  if (times == 1 || !s->kit.ranks || (s->is_late && pd_step_injects(at))) return PD_OK;
  return s->kit.train->narrow(s->kit.train, 0, (samples + times - 1) / times);
}

static pd_status verify(const state *s, const pd_step *at) {
  char when[64];
  if (!s->kit.ranks || strcmp(s->opt->verify, "step") != 0) return PD_OK;
  (void)snprintf(when, sizeof when, "after step %llu", (unsigned long long)at->index);
  return ddp_same(&s->kit, when);
}

static pd_status step(void *state_, const pd_step *at) {
  state *s = state_;
  const pd_train *train = s->kit.train;
  const bool injects = pd_step_injects(at), several = s->kit.ranks != NULL;
  pd_tensor images;
  pd_status status = train->to_device(train, at, &images);
  if (status == PD_OK) status = share_out(s, at);
  if (status == PD_OK) status = train->zero_grad(train);
  if (status == PD_OK) status = inject(s, injects);
  if (status == PD_OK) status = train->forward(train);
  if (several) ddp_buckets_begin(&s->buckets, s->opt->overlap || !injects);
  if (status == PD_OK) status = train->backward(train);
  if (status == PD_OK && several) status = ddp_buckets_end(&s->buckets);
  if (status == PD_OK) status = train->optimizer_step(train);
  return status == PD_OK ? verify(s, at) : status;
}

static pd_status finish(void *state_) {
  const state *s = state_;
  if (!s->kit.ranks || strcmp(s->opt->verify, "none") == 0) return PD_OK;
  return ddp_same(&s->kit, "at the end");
}

PD_SCENARIO("ddp", "1.0", "data-parallel training: gradients are averaged over all ranks", options, rows,
            .bottleneck = "none", .presets = presets, .cures = cures, .init = init, .step = step, .teardown = teardown,
            .device_presets = device_presets, .finish = finish)
