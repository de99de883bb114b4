/*
 * The models besides the cnn, against the same models written down once more in double precision: losses of three
 * steps, and gradients against central differences of that loss. What AdamW makes of a gradient is test_adamw.c's.
 */
#include "pd_test.h"
#include "reference_models.h"
#include "train_rig.h"

#include <math.h>
#include <stdlib.h>

enum { SAMPLES = 3, SIZE = 8, STEPS = 3, PROBES = 4, VALUES_MOST = 48 };

typedef struct values {
  uint32_t count;
  double *of[VALUES_MOST];
  int64_t elements[VALUES_MOST];
} values;

/* The kit's parameters as they are now. */
static void read_values(train_rig *rig, values *out) {
  out->count = train_kit_parameter_count(rig->kit);
  cr_assert_leq(out->count, VALUES_MOST);
  for (uint32_t i = 0; i < out->count; i++) {
    train_parameter about;
    train_rig_ok(rig, train_kit_parameter(rig->kit, i, &about), "parameter");
    float *read = malloc((size_t)about.count * sizeof *read);
    train_rig_ok(rig, train_kit_read_value(rig->kit, i, read), "value");
    out->elements[i] = about.count;
    out->of[i] = malloc((size_t)about.count * sizeof *out->of[i]);
    for (int64_t k = 0; k < about.count; k++) out->of[i][k] = (double)read[k];
    free(read);
  }
}

static void free_values(values *in) {
  for (uint32_t i = 0; i < in->count; i++) free(in->of[i]);
}

static double loss_of(reference_model model, const values *at, const pd_batch *batch) {
  return model(at->of, batch->images, batch->labels, batch->count, batch->height);
}

/* Some elements of each gradient, from its first to its last. */
static void check_gradients(train_rig *rig, reference_model model, values *at, const pd_batch *batch) {
  for (uint32_t i = 0; i < at->count; i++) {
    const int64_t count = at->elements[i];
    float *got = malloc((size_t)count * sizeof *got);
    bool present = false;
    train_parameter about;
    train_rig_ok(rig, train_kit_parameter(rig->kit, i, &about), "parameter");
    train_rig_ok(rig, train_kit_read_grad(rig->kit, i, got, &present), "gradient");
    cr_assert(present, "%s has no gradient", about.name);
    double squares = 0;
    for (int64_t k = 0; k < count; k++) squares += (double)got[k] * (double)got[k];
    const double rms = sqrt(squares / (double)count), by = 1e-5;
    for (int64_t probe = 0; probe < PROBES; probe++) {
      double *value = &at->of[i][(count - 1) * probe / (PROBES - 1)], kept = *value;
      const double is = (double)got[(count - 1) * probe / (PROBES - 1)];
      *value = kept + by;
      const double above = loss_of(model, at, batch);
      *value = kept - by;
      const double below = loss_of(model, at, batch), want = (above - below) / (2 * by);
      *value = kept;
      cr_assert_leq(fabs(is - want), 1e-3 * (fabs(want) + rms) + 1e-8, "%s, probe %d: %.9g, want %.9g", about.name,
                    (int)probe, is, want);
    }
    free(got);
  }
}

/* Within `bound` of the reference; the gradients too where that is float32's. In a mode that the device does not have,
 * nothing is run. */
static void run_mode(train_config config, reference_model model, double bound) {
  train_rig rig;
  train_rig_open(&rig);
  config.batch_size = SAMPLES;
  config.image_size = SIZE;
  train_config plain = config;
  plain.amp = plain.cuda_graph = false;
  const train_offers offers = train_offers_of(&rig.access, &plain);
  if ((config.amp && !offers.amp) || (config.cuda_graph && !offers.cuda_graph)) {
    train_rig_close(&rig);
    return;
  }
  train_rig_ok(&rig, train_rig_kit(&rig, &config), "kit");
  for (uint64_t step = 0; step < STEPS; step++) {
    pd_batch batch = train_rig_batch(SAMPLES, SIZE, step + 1);
    const pd_step at = {.size = sizeof at, .index = step, .batch = &batch};
    values now;
    double loss = 0;
    read_values(&rig, &now);
    const double want = loss_of(model, &now, &batch);
    train_rig_ok(&rig, rig.train->step(rig.train, &at), "step");
    train_rig_ok(&rig, rig.train->item(rig.train, &loss), "item");
    cr_assert_leq(fabs(loss - want), bound * want, "step %lu: loss %.9g, want %.9g", step, loss, want);
    if (step == 0 && !config.amp) check_gradients(&rig, model, &now, &batch);
    free_values(&now);
    train_rig_batch_free(&batch);
  }
  train_rig_close(&rig);
}

static void run_model(const char *name, reference_model model) {
  train_config config = train_rig_config();
  config.model = name;
  run_mode(config, model, 1e-5);
  config.cuda_graph = true;
  run_mode(config, model, 1e-5);
  config.scaler_sync = false;
  config.amp = true;
  run_mode(config, model, 5e-3);
  config.amp_dtype = "bfloat16";
  run_mode(config, model, 3e-2);
}

PD_TEST(models, mlp_equals_its_reference) { run_model("mlp", reference_mlp); }
PD_TEST(models, transformer_equals_its_reference) { run_model("transformer", reference_transformer); }

/* With the block behind it, whose parameters come after the model's. */
static void run_block(const char *name) {
  train_rig rig;
  train_rig_open(&rig);
  train_config config = train_rig_config();
  config.model = name;
  config.image_size = SIZE;
  train_rig_ok(&rig, train_rig_kit(&rig, &config), "kit");
  const uint32_t before = train_kit_parameter_count(rig.kit);
  const pd_train_model block = {.size = sizeof block, .tiny_ops_block = 1};
  train_rig_ok(&rig, rig.train->configure(rig.train, &block), "configure");
  cr_assert_eq(train_kit_parameter_count(rig.kit), before + 4);
  double losses[2] = {0};
  for (int rounds = 0; rounds < 2; rounds++) {
    pd_batch batch = train_rig_batch(4, SIZE, 1);
    const pd_step at = {.size = sizeof at, .batch = &batch};
    train_rig_ok(&rig, rig.train->tiny_ops_rounds(rig.train, (uint32_t)rounds), "rounds");
    train_rig_ok(&rig, rig.train->to_device(rig.train, &at, NULL), "to_device");
    train_rig_ok(&rig, rig.train->zero_grad(rig.train), "zero_grad");
    train_rig_ok(&rig, rig.train->forward(rig.train), "forward");
    train_rig_ok(&rig, rig.train->backward(rig.train), "backward");
    train_rig_ok(&rig, rig.train->item(rig.train, &losses[rounds]), "item");
    train_rig_batch_free(&batch);
  }
  cr_assert_neq(losses[0], losses[1]);
  cr_assert(isfinite(losses[1]));
  train_rig_close(&rig);
}

PD_TEST(models, mlp_takes_the_block) { run_block("mlp"); }
PD_TEST(models, transformer_takes_the_block) { run_block("transformer"); }

static void refused(train_config config, uint32_t width, const char *words) {
  train_rig rig;
  train_rig_open(&rig);
  pd_status status = train_rig_kit(&rig, &config);
  const pd_train_model wide = {.size = sizeof wide, .width = width};
  if (status == PD_OK) status = rig.train->configure(rig.train, &wide);
  cr_assert_eq(status, PD_UNSUPPORTED);
  cr_assert(strstr(rig.host.message, words), "%s", rig.host.message);
  train_rig_close(&rig);
}

PD_TEST(models, what_does_not_fit_is_refused) {
  train_config config = train_rig_config();
  config.model = "mlp";
  train_rig rig;
  train_rig_open(&rig);
  cr_assert_not(train_offers_of(&rig.access, &config).channels_last);
  train_rig_close(&rig);
  refused(config, 4, "[train] model = mlp");
  config.channels_last = true;
  refused(config, 1, "set channels_last = false or model = cnn");
}

PD_TEST(models, a_device_without_attention_is_named) {
  train_rig rig;
  train_rig_open(&rig);
  pd_tensor_ops without = *rig.ops.tensor;
  without.softmax_backward = NULL;
  rig.ops.tensor = &without;
  train_config config = train_rig_config();
  config.model = "transformer";
  cr_assert_eq(train_rig_kit(&rig, &config), PD_UNSUPPORTED);
  cr_assert(strstr(rig.host.message, "[train] model = transformer: "), "%s", rig.host.message);
  config.model = "mlp";
  train_rig_ok(&rig, train_rig_kit(&rig, &config), "the mlp needs none");
  train_rig_close(&rig);
}
