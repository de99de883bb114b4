/*
 * SimpleCNN and TinyOpsBlock against PyTorch's float64 numbers (tests/train/goldens): losses, logits, gradient norms,
 * first gradients, updated parameters: all to 1e-4, and with TF32 to 2e-3.
 *
 * On the CPU device each number is relative to its own size, but for elements of the gradients and logits that float32
 * sums cannot keep the digits of where they cancel out: with the block, whose thirty rounds multiply rounding, and
 * after the first step, these are relative to the root mean square of their tensor where that is larger; of the block's
 * later steps values are too, and logits and gradients have ten times the room.
 *
 * AdamW's first updates are lr times the gradient's sign: an element whose gradient is rounding noise moves by lr
 * either way. In plain steps that stays far below 1e-4. The block's thirty rounds make up to 5e-3 of one such weight of
 * conv3's, in one run of six to three of five, by processor. So with the block a run that leaves the numbers behind its
 * first step is repeated with images moved by at most half a unit in the last place, until one keeps them all, which
 * nothing that computes something else would. First steps are not repeated.
 *
 * A GPU adds in another order: there an element is relative to its tensor's root mean square from the first step on, to
 * its norm in later ones, and an updated value is compared where its gradient is above the rounding noise.
 *
 * TF32 rounds products to eleven bits. An input of ReLU that is noise by that measure lets a whole gradient through or
 * not: gradients behind one have ten times the room, as norms and as elements beside their tensor's norm, and values
 * are compared where the gradient is above half its root mean square. Signs that turn in the first updates move later
 * gradients by several per cent: of later steps the loss, the logits and the parameters' norms are held, of the block's
 * none. A device without TF32 runs the same, so that the comparison is run everywhere.
 */
#include "pd_test.h"
#include "train_rig.h"

#include <math.h>
#include <stdlib.h>

/* ---- the golden files: keys in a fixed order, so that a cursor is enough ---- */

typedef struct reader {
  char *text;
  const char *at;
} reader;

static void reader_open(reader *in, const char *name) {
  char path[512];
  const char *folder = getenv("PDHOST_TEST_GOLDENS"); /* where the test runs elsewhere than it was built */
  snprintf(path, sizeof path, "%s/%s", folder ? folder : PDHOST_GOLDENS, name);
  FILE *file = fopen(path, "rb");
  cr_assert(file, "%s", path);
  cr_assert_eq(fseek(file, 0, SEEK_END), 0);
  const long length = ftell(file);
  rewind(file);
  in->text = calloc(1, (size_t)length + 1);
  cr_assert(in->text && fread(in->text, 1, (size_t)length, file) == (size_t)length);
  fclose(file);
  in->at = in->text;
}

/* Moves behind the next "key":, fails the test if there is none. */
static void seek_key(reader *in, const char *key) {
  char quoted[64];
  snprintf(quoted, sizeof quoted, "\"%s\":", key);
  const char *found = strstr(in->at, quoted);
  cr_assert(found, "no %s left in the golden file", key);
  in->at = found + strlen(quoted);
}

static double number(reader *in, const char *key) {
  seek_key(in, key);
  char *end;
  const double value = strtod(in->at, &end);
  cr_assert(end != in->at, "%s is not a number", key);
  in->at = end;
  return value;
}

/* Reads up to `count` numbers of an array; returns how many there are, 0 for null. */
static int numbers(reader *in, const char *key, double *out, int count) {
  seek_key(in, key);
  in->at += strspn(in->at, " \n");
  if (*in->at != '[') return 0;
  int got = 0;
  for (const char *at = in->at + 1; *at != ']'; at += strspn(at, ", \n")) {
    at += strspn(at, " \n");
    char *end;
    const double value = strtod(at, &end);
    cr_assert(end != at);
    at = end;
    if (got < count) out[got++] = value;
  }
  return got;
}

/* ---- inputs: make_goldens.py's generator ---- */

static double uniform(uint64_t stream, uint64_t i) {
  uint64_t z = (stream << 32) + i + 0x9E3779B97F4A7C15u;
  z = (z ^ (z >> 30)) * 0xBF58476D1CE4E5B9u;
  z = (z ^ (z >> 27)) * 0x94D049BB133111EBu;
  return (double)((z ^ (z >> 31)) >> 11) * 0x1p-53;
}

/* From the second `attempt` on each image element is moved by at most half a unit in its last place. */
static pd_batch golden_batch(uint64_t seed, uint64_t step, int64_t count, int64_t size, uint64_t attempt) {
  pd_batch batch = train_rig_batch(count, size, 0);
  float *images = train_rig_writable(batch.images);
  int64_t *labels = train_rig_writable(batch.labels);
  for (int64_t i = 0; i < count * 3 * size * size; i++)
    images[i] = (float)(sqrt(3.0) * (2.0 * uniform(seed * 1000 + 500 + step, (uint64_t)i) - 1.0) *
                        (1.0 + (attempt ? 0x1p-23 * (uniform(attempt * 1000 + step, (uint64_t)i) - 0.5) : 0.0)));
  for (int64_t i = 0; i < count; i++) labels[i] = (int64_t)(1000.0 * uniform(seed * 1000 + 700 + step, (uint64_t)i));
  return batch;
}

/* ---- comparison ---- */

static uint64_t compared;
static bool on_cuda, with_block, with_tf32;

static double bound(void) { return with_tf32 ? 2e-3 : 1e-4; }

/* How many times more a number may be off that depends on earlier updates. */
static double room(uint64_t step) { return with_tf32 && step ? 10 : 1; }

/* The same of a gradient. */
static double gradient_room(const char *name, uint64_t step) {
  const bool masked = with_block || strncmp(name, "head", 4) != 0;
  return with_tf32 && masked ? 10 : room(step);
}

/* What the error of one element is relative to. `rms` and `norm` are its tensor's. */
static double element_scale(double want, double rms, double norm, uint64_t step) {
  if (with_tf32) return fmax(fabs(want), norm);
  if (on_cuda) return fmax(fabs(want), step ? norm : rms);
  if (step == 0 && !with_block) return fabs(want);
  return fmax(fabs(want), rms) * (with_block && step ? 10 : 1);
}

/* The first number of a later step that was off in this run; empty where none was. */
static char missed[256];

static void expect(double got, double want, double scale, const char *what, const char *name, uint64_t step) {
  compared++;
  if (fabs(got - want) <= bound() * scale || missed[0]) return;
  snprintf(missed, sizeof missed, "step %lu %s %s: %.9g, want %.9g (off by %.3g of %.3g)", step, name, what, got, want,
           fabs(got - want), bound() * scale);
  cr_assert(step && with_block, "%s", missed);
}

static double norm(const float *values, int64_t count) {
  double sum = 0;
  for (int64_t i = 0; i < count; i++) sum += (double)values[i] * (double)values[i];
  return sqrt(sum);
}

static void check_parameter(train_rig *rig, reader *in, uint32_t index, uint64_t step) {
  train_parameter about;
  double want[4], grad[4];
  bool present = false;
  train_rig_ok(rig, train_kit_parameter(rig->kit, index, &about), "parameter");
  const double root = sqrt((double)about.count);
  float *values = malloc((size_t)about.count * sizeof *values);
  seek_key(in, about.name);
  train_rig_ok(rig, train_kit_read_grad(rig->kit, index, values, &present), "gradient");
  cr_assert(present, "%s has no gradient", about.name);
  const double grad_norm = number(in, "grad_l2"), grad_rms = grad_norm / root;
  cr_assert_eq(numbers(in, "grad_first4", grad, 4), 4);
  const bool whole = !with_tf32 || step == 0;
  if (whole)
    expect(norm(values, about.count), grad_norm, grad_norm * gradient_room(about.name, step), "gradient's norm",
           about.name, step);
  for (int i = 0; i < 4 && whole; i++)
    expect((double)values[i], grad[i],
           element_scale(grad[i], grad_rms, grad_norm, step) * (with_tf32 ? gradient_room(about.name, step) : 1),
           "gradient", about.name, step);
  train_rig_ok(rig, train_kit_read_value(rig->kit, index, values), "value");
  const double value_norm = number(in, "value_l2_after");
  expect(norm(values, about.count), value_norm, value_norm * (with_tf32 ? 1 : room(step)), "norm", about.name, step);
  cr_assert_eq(numbers(in, "value_first4_after", want, 4), 4);
  const bool rounded = on_cuda || with_tf32, by_rms = rounded || (with_block && step);
  for (int i = 0; i < 4 && whole; i++) {
    if (rounded && fabs(grad[i]) < (with_tf32 ? 0.5 : 1e-3) * grad_rms) continue;
    expect((double)values[i], want[i], by_rms ? fmax(fabs(want[i]), value_norm / root) : fabs(want[i]), "value",
           about.name, step);
  }
  free(values);
}

static void check_logits(train_rig *rig, reader *in, int64_t count, uint64_t step) {
  double want[8];
  float *logits = malloc((size_t)count * 1000 * sizeof *logits);
  train_rig_ok(rig, train_kit_read_logits(rig->kit, logits), "logits");
  const double logits_norm = number(in, "logits_l2");
  expect(norm(logits, count * 1000), logits_norm, logits_norm * room(step), "norm", "logits", step);
  cr_assert_eq(numbers(in, "logits_first8", want, 8), 8);
  for (int i = 0; i < 8; i++)
    expect((double)logits[i], want[i],
           element_scale(want[i], logits_norm / sqrt((double)count * 1000), logits_norm, step), "first", "logits",
           step);
  free(logits);
}

/* A golden file, and how it is run. `parts`: through the parts of the step instead of step(). `graph`: the first step
 * is captured, the others are replays, where the device has graphs. */
typedef struct golden {
  const char *file;
  int64_t count, size;
  uint64_t steps;
  bool tiny, unfused, nhwc, parts, tf32, graph;
} golden;

/* One run. False: the device has no graphs. */
static bool run_once(const golden *run, uint64_t attempt) {
  train_rig rig;
  reader in;
  train_rig_open(&rig);
  if (run->graph && !rig.ops.stream->capture_begin) {
    train_rig_close(&rig);
    return false;
  }
  on_cuda = rig.props.is_cuda;
  with_block = run->tiny;
  with_tf32 = run->tf32;
  compared = 0;
  missed[0] = 0;
  reader_open(&in, run->file);
  train_config config = train_rig_config();
  config.batch_size = run->count;
  config.image_size = run->size;
  config.fused = !run->unfused;
  config.channels_last = run->nhwc;
  config.tf32 = run->tf32;
  config.cuda_graph = run->graph;
  train_rig_ok(&rig, train_rig_kit(&rig, &config), "kit");
  const pd_train *train = rig.train;
  const pd_train_model model = {.size = sizeof model, .tiny_ops_block = run->tiny};
  train_rig_ok(&rig, train->configure(train, &model), "configure");
  const uint32_t parameters = run->tiny ? 12 : 8;
  cr_assert_eq(train_kit_parameter_count(rig.kit), parameters);
  for (uint64_t step = 0; step < run->steps; step++) {
    pd_batch batch = golden_batch(1, step, run->count, run->size, attempt);
    const pd_step at = {.size = sizeof at, .index = step, .batch = &batch};
    double loss = 0, history = 0;
    uint64_t got = 0;
    if (run->parts) {
      train_rig_ok(&rig, train->to_device(train, &at, NULL), "to_device");
      train_rig_ok(&rig, train->zero_grad(train), "zero_grad");
      train_rig_ok(&rig, train->forward(train), "forward");
      train_rig_ok(&rig, train->item(train, &loss), "item");
      train_rig_ok(&rig, train->backward(train), "backward");
      train_rig_ok(&rig, train->optimizer_step(train), "optimizer_step");
    } else {
      train_rig_ok(&rig, train->step(train, &at), "step");
      train_rig_ok(&rig, train->item(train, &loss), "item");
    }
    train_rig_ok(&rig, train_kit_losses(rig.kit, &history, 1, &got), "losses");
    cr_assert(got == 1 && history == loss);
    const double want = number(&in, "loss");
    expect(loss, want, want, "loss", "", step);
    check_logits(&rig, &in, run->count, step);
    for (uint32_t i = 0; i < parameters; i++) check_parameter(&rig, &in, i, step);
    train_rig_batch_free(&batch);
  }
  const uint64_t least =
      run->tf32 ? run->steps * (10 + parameters) + parameters * 5 : run->steps * (10 + parameters * (on_cuda ? 6 : 10));
  cr_assert_geq(compared, least, "only %lu numbers compared", compared);
  free(in.text);
  train_rig_close(&rig);
  return true;
}

static void run_golden(const golden *run) {
  const uint64_t attempts = 24; /* two of five keep the numbers where rounding is coarsest (AVX2 on a CPU) */
  uint64_t attempt = 0;
  do {
    if (!run_once(run, attempt)) cr_skip_test("this device has no graphs");
  } while (missed[0] && ++attempt < attempts);
  cr_assert(!missed[0], "none of %lu runs: %s", attempts, missed);
}

#define RUN(name, samples, pixels, to) .file = name, .count = samples, .size = pixels, .steps = to
#define PLAIN_32 RUN("plain_seed1_b4_s32.json", 4, 32, 5)
#define PLAIN_224 RUN("plain_seed1_b2_s224.json", 2, 224, 2)
#define TINY_32_OF(steps) RUN("tiny_ops_seed1_b4_s32.json", 4, 32, steps), .tiny = true
#define TINY_224_OF(steps) RUN("tiny_ops_seed1_b2_s224.json", 2, 224, steps), .tiny = true
#define GOLDEN(name, ...)                                                                                              \
  PD_TEST(goldens, name) { run_golden(&(golden){__VA_ARGS__}); }

GOLDEN(plain_32_fused, PLAIN_32)
GOLDEN(plain_32_unfused, PLAIN_32, .unfused = true, .parts = true)
GOLDEN(plain_32_channels_last, PLAIN_32, .nhwc = true)
GOLDEN(plain_32_graph, PLAIN_32, .graph = true)
GOLDEN(plain_224_fused, PLAIN_224)
GOLDEN(plain_224_unfused, PLAIN_224, .unfused = true)
GOLDEN(tiny_32_fused, TINY_32_OF(5), .parts = true)
GOLDEN(tiny_32_unfused, TINY_32_OF(5), .unfused = true)
GOLDEN(tiny_32_channels_last, TINY_32_OF(5), .unfused = true, .nhwc = true)
GOLDEN(tiny_32_graph, TINY_32_OF(5), .unfused = true, .graph = true)
GOLDEN(tiny_224_fused, TINY_224_OF(2))
GOLDEN(tiny_224_unfused, TINY_224_OF(2), .unfused = true)
GOLDEN(plain_32_tf32, PLAIN_32, .tf32 = true)
GOLDEN(plain_32_tf32_unfused, PLAIN_32, .tf32 = true, .unfused = true)
GOLDEN(plain_32_tf32_channels_last, PLAIN_32, .tf32 = true, .nhwc = true)
GOLDEN(plain_224_tf32, PLAIN_224, .tf32 = true)
/* TF32 keeps nothing in the block's later steps: see above. */
GOLDEN(tiny_32_tf32, TINY_32_OF(1), .tf32 = true)
GOLDEN(tiny_32_tf32_unfused, TINY_32_OF(1), .tf32 = true, .unfused = true)
GOLDEN(tiny_224_tf32, TINY_224_OF(1), .tf32 = true)
