/* tiny_ops: TinyOpsBlock on the first 256 logits: some 800 tiny kernels a step, so that launching them takes longer
 * than running them. [train] fused = true or cuda_graph = true is the cure. */
#include <pdhost/scenario.h>
#include <pdhost/train.h>
#include <pdhost/truth.h>

#include <stdlib.h>

typedef struct {
  int64_t rounds;
} options;

static const pd_option rows[] = {
    PD_OPTION(options, rounds, .def = "30", .min = "0", .max = "30", .unit = "rounds",
              .help = "rounds of the block in each step, each of seven operations forward and more backward"),
};

static const pd_preset presets[] = {{"data.resident", "device"}, {"train.fused", "false"}, {NULL, NULL}};

typedef struct {
  const options *opt;
  const pd_train *train;
  const pd_truth *truth; /* or NULL */
} state;

static pd_status init(const pd_host *host, const void *opt, void **out) {
  const pd_train *train = host->extension(host, PD_EXT_TRAIN);
  const pd_train_model model = {.size = sizeof model, .tiny_ops_block = 1};
  if (!train || !PD_HAS(pd_train, train, tiny_ops_rounds))
    return host->fail(host, PD_UNSUPPORTED, "this host has no training kit (%s) whose TinyOpsBlock can be dialled",
                      PD_EXT_TRAIN);
  const pd_status status = train->configure(train, &model);
  if (status != PD_OK) return status;
  state *s = calloc(1, sizeof *s);
  if (!s) return host->fail(host, PD_NO_MEMORY, "no memory for the scenario's state");
  *s = (state){.opt = opt, .train = train, .truth = host->extension(host, PD_EXT_TRUTH)};
  *out = s;
  return PD_OK;
}

static pd_status step(void *state_, const pd_step *at) {
  const state *s = state_;
  const uint32_t rounds = pd_step_injects(at) ? (uint32_t)s->opt->rounds : 0;
  pd_truth_asked(s->truth, -1, (uint64_t)s->opt->rounds);
  pd_status status = s->train->tiny_ops_rounds(s->train, rounds);
  if (status == PD_OK) status = s->train->step(s->train, at);
  pd_truth_count(s->truth, rounds);
  return status;
}

static void teardown(void *state_) { free(state_); }

PD_SCENARIO("tiny_ops", "1.0", "many tiny kernels: launching them is the bottleneck", options, rows,
            .bottleneck = "launch_bound", .presets = presets, .init = init, .step = step, .teardown = teardown)
