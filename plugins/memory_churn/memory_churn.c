/* memory_churn: temporaries as large as the batch, made, filled and freed in every step: allocator, bandwidth and extra
 * kernels. All of them live until the last one is filled. */
#include <pdhost/scenario_kit.h>

enum { MOST = 1000 }; /* temporaries; the row below says so too */

typedef struct {
  int64_t temporaries;
  const char *allocator;
  double inject_us, inject_share, scale;
} options;

static const pd_option rows[] = {
    PD_KIT_DIAL(options),
    PD_OPTION(options, temporaries, .def = "20", .min = "0", .max = "1000", .unit = "tensors",
              .help = "batch-sized temporaries in each step"),
    PD_OPTION_CHOICE(options, allocator, .def = "cached", .choices = pd_allocator_names,
                     .help = "where they come from: the kit's cache, the device's pool, or its plain allocator"),
    PD_OPTION(options, scale, .def = "0.001", .min = "-1", .max = "1",
              .help = "share of the sum of their means that is added to the batch"),
};

static const pd_preset presets[] = {{"data.resident", "device"}, {NULL, NULL}};
static const pd_cure cures[] = {{"allocator", "scenario.temporaries=0"}, {NULL, NULL}};

/* x = x + scale * sum of the temporaries' means. */
static pd_status churn(const pd_kit *kit, const options *opt, int64_t count, pd_tensor *x) {
  const pd_train *train = kit->train;
  const pd_allocator from = pd_allocator_named(opt->allocator);
  pd_tensor all[MOST] = {{0}}, scalars[2] = {{0}}, *mean = &scalars[0], *sum = &scalars[1];
  pd_status status = pd_kit_scalars(kit, scalars, 2);
  if (status == PD_OK) status = pd_kit_randn_like(kit, x, from, all, count);
  for (int64_t i = 0; status == PD_OK && i < count; i++) {
    status = train->mean(train, i ? mean : sum, &all[i]);
    if (status == PD_OK && i) status = train->add(train, sum, sum, mean, 1.0);
  }
  if (status == PD_OK && count) status = train->add(train, x, x, sum, opt->scale);
  status = pd_kit_free(kit, from, all, count, status);
  return pd_kit_free(kit, PD_ALLOCATOR_CACHED, scalars, 2, status);
}

static pd_status step(void *state, const pd_step *at) {
  const pd_kit *kit = state;
  const options *opt = kit->options;
  pd_tensor images;
  pd_status status = kit->train->to_device(kit->train, at, &images);
  pd_truth_asked(kit->truth, -1, (uint64_t)opt->temporaries);
  if (status == PD_OK && pd_step_injects(at)) {
    const int64_t count = pd_kit_count(at, opt->temporaries);
    pd_truth_begin(kit->truth);
    status = churn(kit, opt, count, &images);
    pd_truth_end(kit->truth, (uint64_t)count);
  }
  return status == PD_OK ? pd_kit_train(kit) : status;
}

PD_SCENARIO("memory_churn", "1.0", "batch-sized temporaries made and freed in every step", options, rows,
            .bottleneck = "allocator", .presets = presets, .init = pd_kit_init, .step = step,
            .teardown = pd_kit_teardown, .cures = cures, .dial = "temporaries")
