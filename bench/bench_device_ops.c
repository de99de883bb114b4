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
#include "device_step.h"

#include <pdhost/clocks.h>

#include <dlfcn.h>
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

static const rig_mode modes[] = {{"float32, NCHW, no TF32", PD_F32, PD_NCHW, false},
                                 {"float32, NCHW, TF32", PD_F32, PD_NCHW, true},
                                 {"float32, NHWC, TF32", PD_F32, PD_NHWC, true},
                                 {"float16, NCHW", PD_F16, PD_NCHW, true},
                                 {"float16, NHWC", PD_F16, PD_NHWC, true}};

static double now_ns(void) { return (double)pd_monotonic_ns(); }

/* Reads a float32 tensor in NCHW order. */
static float *read_back(op_rig *b, const pd_tensor *t) {
  pd_tensor plain = rig_tensor(b, PD_F32, PD_NCHW, t->rank, t->shape[0], t->shape[1], t->shape[2], t->shape[3]);
  float *host_copy = malloc(rig_bytes_of(&plain));
  if (!host_copy) rig_need(PD_NO_MEMORY, "malloc");
  rig_need(b->t->convert(b->device, b->stream, &plain, t), "convert");
  rig_need(
      b->ops->memory->copy(b->device, b->stream, host_copy, plain.data, rig_bytes_of(&plain), PD_COPY_DEVICE_TO_HOST),
      "copy");
  rig_need(b->ops->stream->synchronize(b->device, b->stream), "synchronize");
  rig_release(b, &plain);
  return host_copy;
}

/* |v - reference| / |reference|; the first mode's values become the reference. */
static double difference(op_rig *b, const pd_tensor *t, float **reference) {
  float *v = read_back(b, t);
  const uint64_t count = rig_bytes_of(t) / (t->dtype == PD_F16 ? 2 : 4);
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
static bool run_mode(op_rig *b, rig_mode m, float **references) {
  static double wall[RIG_MOST_ROUNDS];
  device_step_open(b, m);
  for (int i = 0; i < 5 && i < b->rounds; i++) device_step(b, -1);
  const pd_tensor *results[] = {&b->loss,  &b->dw[0], &b->db[0], &b->dw[1],     &b->db[1],
                                &b->dw[2], &b->db[2], &b->dhead, &b->dhead_bias};
  static const char *const names[] = {"loss", "dw1", "db1", "dw2", "db2", "dw3", "db3", "dhead", "dhead bias"};
  printf("\n%s: relative difference from the first mode:", m.name);
  bool held = true;
  for (size_t i = 0; i < sizeof results / sizeof results[0]; i++) {
    const double off = difference(b, results[i], &references[i]);
    printf(" %s %.1e", names[i], off);
    held &= rig_own_kernels_only || off <= MOST_DIFFERENCE; /* NaN is not */
  }
  printf("%s\n", held ? "" : ": FAILED, 2.0e-02 is wanted");
  for (int i = 0; i < b->rounds; i++) {
    rig_need(b->ops->stream->synchronize(b->device, b->stream), "synchronize");
    const double start = now_ns();
    device_step(b, -1);
    rig_need(b->ops->stream->synchronize(b->device, b->stream), "synchronize");
    wall[i] = now_ns() - start;
  }
  for (int i = 0; i < b->rounds; i++) device_step(b, i);
  double sum = 0;
  for (int i = 0; i < b->op_count; i++) {
    const double ns = rig_median(b->op_ns[i], b->rounds);
    sum += ns;
    printf("  %-30s %9.1f us\n", b->op_names[i], ns / 1e3);
  }
  printf("  %-30s %9.1f us\n  %-30s %9.1f us\n", "sum", sum / 1e3, "step", rig_median(wall, b->rounds) / 1e3);
  device_step_close(b);
  return held;
}

/* Host time per call of a tiny operation, and what large fills of random numbers and their mean take. */
static void small_things(op_rig *b) {
  enum { CALLS = 20000 };
  pd_tensor tiny = rig_tensor(b, PD_F32, PD_NCHW, 2, 64, 256, 0, 0);
  pd_tensor large = rig_tensor(b, PD_F32, PD_NCHW, 4, b->batch, 3, b->size, b->size);
  pd_tensor one = rig_tensor(b, PD_F32, PD_NCHW, 1, 1, 0, 0, 0);
  pd_tensor weight = rig_tensor(b, PD_F32, PD_NCHW, 2, 256, 256, 0, 0),
            out = rig_tensor(b, PD_F32, PD_NCHW, 2, 64, 256, 0, 0);
  const int calls = b->rounds * 50 < CALLS ? b->rounds * 50 : CALLS;
  double at[3];
  for (int warm = 0; warm < 2; warm++) {
    rig_need(b->ops->stream->synchronize(b->device, b->stream), "synchronize");
    at[0] = now_ns();
    for (int i = 0; i < calls; i++)
      rig_need(b->t->elementwise(b->device, b->stream, PD_EW_TANH, &tiny, &tiny, NULL, 0), "tanh");
    rig_need(b->ops->stream->synchronize(b->device, b->stream), "synchronize");
    at[1] = now_ns();
    for (int i = 0; i < calls; i++)
      rig_need(b->t->matmul(b->device, b->stream, &out, &tiny, &weight, NULL, false, true, false, true), "matmul");
    rig_need(b->ops->stream->synchronize(b->device, b->stream), "synchronize");
    at[2] = now_ns();
  }
  printf("\nper call, back to back: tanh (64,256) %.0f ns, matmul (64,256)x(256,256) %.0f ns\n",
         (at[1] - at[0]) / calls, (at[2] - at[1]) / calls);
  b->op_count = 0;
  for (int i = 0; i < b->rounds; i++) {
    const int round = i;
    b->op_count = 0;
    RIG_OP("randn of a batch", b->t->randn(b->device, b->stream, &large, 1, 0));
    RIG_OP("mean of a batch", b->t->mean(b->device, b->stream, &one, &large));
    RIG_OP("x + 0.001 * one", b->t->elementwise(b->device, b->stream, PD_EW_ADD, &large, &large, &one, 0.001));
    RIG_OP("tanh (64,256)", b->t->elementwise(b->device, b->stream, PD_EW_TANH, &tiny, &tiny, NULL, 0));
    RIG_OP("matmul (64,256)x(256,256)",
           b->t->matmul(b->device, b->stream, &out, &tiny, &weight, NULL, false, true, false, true));
  }
  for (int i = 0; i < b->op_count; i++)
    printf("  %-30s %9.1f us\n", b->op_names[i], rig_median(b->op_ns[i], b->rounds) / 1e3);
  rig_release(b, &tiny);
  rig_release(b, &large);
  rig_release(b, &one);
  rig_release(b, &weight);
  rig_release(b, &out);
}

/* Bytes per nanosecond of one copy from pinned memory, by events, the median of the rounds. */
static double copy_rate(op_rig *b, void *device, const void *pinned, uint64_t bytes, double *ns) {
  for (int i = -2; i < b->rounds; i++) {
    double elapsed;
    rig_need(b->ops->stream->event_record(b->device, b->stream, b->start), "event");
    rig_need(b->ops->memory->copy(b->device, b->stream, device, pinned, bytes, PD_COPY_HOST_TO_DEVICE), "copy");
    rig_need(b->ops->stream->event_record(b->device, b->stream, b->end), "event");
    rig_need(b->ops->stream->event_synchronize(b->device, b->end), "event");
    rig_need(b->ops->stream->event_elapsed_ns(b->device, b->start, b->end, &elapsed), "event");
    if (i >= 0) ns[i] = elapsed;
  }
  return (double)bytes / rig_median(ns, b->rounds);
}

/* Whether a batch goes to the device at `least` times the rate of a copy of 256 MiB. */
static bool copies(op_rig *b, double least) {
  static double ns[RIG_MOST_ROUNDS];
  const uint64_t large = (uint64_t)256 << 20, batch = (uint64_t)(b->batch * 3 * b->size * b->size) * sizeof(float);
  const uint64_t room = batch > large ? batch : large;
  void *pinned, *device;
  rig_need(b->ops->memory->host_alloc(b->device, room, &pinned), "pinned memory");
  memset(pinned, 1, room);
  rig_need(b->ops->memory->alloc(b->device, b->stream, PD_ALLOCATOR_POOL, room, &device), "alloc");
  const double plain = copy_rate(b, device, pinned, large, ns), own = copy_rate(b, device, pinned, batch, ns);
  printf("copies from pinned memory: a batch of %.1f MB %.2f GB/s, 256 MiB %.2f GB/s, ratio %.3f, wanted %.3f\n",
         (double)batch / 1e6, own, plain, own / plain, least);
  rig_need(b->ops->memory->free(b->device, b->stream, PD_ALLOCATOR_POOL, room, device), "free");
  rig_need(b->ops->memory->host_free(b->device, room, pinned), "free");
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
  static op_rig b = {.rounds = 50, .batch = 64, .size = 224};
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
  rig_need(symbol ? PD_OK : PD_INVALID, "pd_plugin_entry");
  memcpy(&entry, &symbol, sizeof entry);
  const pd_plugin *plugin = entry();
  rig_need(plugin->kind == PD_KIND_DEVICE ? PD_OK : PD_INVALID, "a device plugin");
  unsigned char *options = calloc(1, plugin->options_size + 1);
  rig_need(options ? PD_OK : PD_NO_MEMORY, "options");
  set_option(plugin, options, NULL, NULL);
  for (int i = 2; i < argc; i++) {
    char *value = i + 1 < argc ? argv[i + 1] : NULL;
    if (strcmp(argv[i], "-v") == 0 || strcmp(argv[i], "-k") == 0) {
      *(argv[i][1] == 'v' ? &rig_verbose : &rig_own_kernels_only) = true;
      continue;
    }
    rig_need(value ? PD_OK : PD_INVALID, argv[i]);
    i++;
    if (strcmp(argv[i - 1], "-b") == 0) b.batch = strtoll(value, NULL, 10);
    if (strcmp(argv[i - 1], "-s") == 0) b.size = strtoll(value, NULL, 10);
    if (strcmp(argv[i - 1], "-c") == 0) copies_least = strtod(value, NULL);
    if (strcmp(argv[i - 1], "-m") == 0) only = (int)strtol(value, NULL, 10);
    if (strcmp(argv[i - 1], "-n") == 0) {
      const long rounds = strtol(value, NULL, 10);
      b.rounds = rounds < RIG_MOST_ROUNDS ? (int)rounds : RIG_MOST_ROUNDS;
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
  rig_need(b.ops->open(&rig_host, options, 0, &b.device), "open");
  pd_device_props props = {.size = sizeof props};
  rig_need(b.ops->props(b.device, &props), "props");
  b.is_cuda = props.is_cuda != 0;
  printf("%s, %s\nbatch %lld, image %lld, %d rounds; medians; opened in %.0f ms\n", props.name, props.versions,
         (long long)b.batch, (long long)b.size, b.rounds, (now_ns() - at) / 1e6);
  rig_need(b.ops->stream->create(b.device, &b.stream), "stream");
  rig_need(b.ops->stream->event_create(b.device, &b.start), "event");
  rig_need(b.ops->stream->event_create(b.device, &b.end), "event");
  if (copies_least >= 0) {
    held = copies(&b, copies_least);
    goto out;
  }
  const uint64_t image_bytes = (uint64_t)(b.batch * 3 * b.size * b.size) * sizeof(float);
  void *pinned;
  rig_need(b.ops->memory->host_alloc(b.device, image_bytes, &pinned), "pinned memory");
  b.pinned_images = pinned;
  rig_need(b.ops->memory->host_alloc(b.device, (uint64_t)b.batch * sizeof(int64_t), &pinned), "pinned memory");
  b.pinned_labels = pinned;
  for (uint64_t i = 0; i < image_bytes / sizeof(float); i++)
    b.pinned_images[i] = (float)((double)(i * 2654435761u % 65536) / 32768.0 - 1.0) * 1.7f;
  for (int64_t i = 0; i < b.batch; i++) b.pinned_labels[i] = i * 37 % RIG_CLASSES;
  float *references[9] = {NULL};
  for (size_t i = 0; i < sizeof modes / sizeof modes[0]; i++) {
    if (only >= 0 && only != (int)i) continue;
    if (b.t->supports(b.device, modes[i].dtype, modes[i].layout)) held &= run_mode(&b, modes[i], references);
  }
  if (only < 0) small_things(&b);
  for (int i = 0; i < 9; i++) free(references[i]);
  rig_need(b.ops->memory->host_free(b.device, image_bytes, b.pinned_images), "free");
  rig_need(b.ops->memory->host_free(b.device, (uint64_t)b.batch * sizeof(int64_t), b.pinned_labels), "free");
out:
  b.ops->stream->event_destroy(b.device, b.start);
  b.ops->stream->event_destroy(b.device, b.end);
  b.ops->stream->destroy(b.device, b.stream);
  b.ops->close(b.device);
  free(options);
  dlclose(handle);
  return held ? 0 : 1;
}
