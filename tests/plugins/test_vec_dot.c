/* vec_dot: both implementations against dot products in double, on the CPU device or on PDHOST_TEST_DEVICE. */
#include "device_rig.h"
#include "pd_test.h"

#include "plugin_file.h"
#include <pdhost/scenario.h>

#include <math.h>
#include <stdlib.h>

/* What the scenario allocated, in order: a, b, the product where there is one, the dots. */
enum { MOST_BLOCKS = 8 };
static const pd_memory_ops *real_memory;
static struct {
  void *data;
  uint64_t bytes;
} blocks[MOST_BLOCKS];
static uint32_t block_count, freed_count, fail_at;

static pd_status watched_alloc(pd_device *device, pd_stream *stream, pd_allocator allocator, uint64_t bytes,
                               void **out) {
  if (fail_at && block_count + 1 == fail_at) return PD_NO_MEMORY;
  const pd_status status = real_memory->alloc(device, stream, allocator, bytes, out);
  blocks[block_count].data = *out;
  blocks[block_count++].bytes = bytes;
  return status;
}

static pd_status watched_free(pd_device *device, pd_stream *stream, pd_allocator allocator, uint64_t bytes,
                              void *data) {
  freed_count++;
  return real_memory->free(device, stream, allocator, bytes, data);
}

typedef struct vec_dot_rig {
  device_rig device;
  pd_memory_ops memory;
  pd_tensor_ops tensor;
  pd_device_ops ops;
  pd_device_access access;
  const pd_scenario_ops *scenario;
  const pd_plugin *plugin;
  void *options;
} vec_dot_rig;

static void open_rig(vec_dot_rig *rig, const char *implementation, const char *batch, const char *dim) {
  memset(rig, 0, sizeof *rig);
  rig_open(&rig->device);
  real_memory = rig->device.ops->memory;
  rig->memory = *real_memory;
  rig->memory.alloc = watched_alloc;
  rig->memory.free = watched_free;
  rig->tensor = *rig->device.ops->tensor;
  rig->ops = *rig->device.ops;
  rig->ops.memory = &rig->memory;
  rig->ops.tensor = &rig->tensor;
  rig->access = (pd_device_access){
      .size = sizeof rig->access, .device = rig->device.device, .ops = &rig->ops, .stream = rig->device.stream};
  block_count = freed_count = fail_at = 0;
  const char *folder = getenv("PDHOST_TEST_SCENARIOS"); /* elsewhere than where it was built */
  char path[512];
  snprintf(path, sizeof path, "%s/vec_dot.so", folder ? folder : PDHOST_SCENARIOS);
  rig->plugin = plugin_file_open(path);
  rig->scenario = rig->plugin->ops.scenario;
  rig->options = plugin_file_options(rig->plugin);
  plugin_file_set(rig->plugin, rig->options, "implementation", implementation);
  plugin_file_set(rig->plugin, rig->options, "batch", batch);
  plugin_file_set(rig->plugin, rig->options, "dim", dim);
}

static void close_rig(vec_dot_rig *rig) {
  free(rig->options);
  rig_close(&rig->device);
}

static float *download(vec_dot_rig *rig, uint32_t block) {
  float *values = malloc(blocks[block].bytes);
  rig_ok(&rig->device,
         real_memory->copy(rig->device.device, rig->device.stream, values, blocks[block].data, blocks[block].bytes,
                           PD_COPY_DEVICE_TO_HOST),
         "copy");
  rig_sync(&rig->device);
  return values;
}

static void expect_dots(const char *implementation, const char *batch_text, const char *dim_text) {
  vec_dot_rig rig;
  void *state = NULL;
  const int64_t batch = strtol(batch_text, NULL, 10), dim = strtol(dim_text, NULL, 10);
  open_rig(&rig, implementation, batch_text, dim_text);
  test_host_add(&rig.device.host, PD_EXT_DEVICE, &rig.access);
  rig_ok(&rig.device, rig.scenario->init(&rig.device.host.host, rig.options, &state), "init");
  const uint32_t made = block_count;
  cr_assert_eq(made, strcmp(implementation, "bmm") == 0 ? 3 : 4);
  const pd_step step = {.size = sizeof step, .phase = PD_PHASE_ACTIVE};
  for (int i = 0; i < 3; i++) rig_ok(&rig.device, rig.scenario->step(state, &step), "step");
  float *a = download(&rig, 0), *b = download(&rig, 1), *dots = download(&rig, made - 1);
  double same = 0;
  for (int64_t r = 0; r < batch; r++) {
    double want = 0, size = 0;
    for (int64_t i = r * dim; i < (r + 1) * dim; i++) {
      want += (double)a[i] * (double)b[i];
      size += pow((double)a[i] * (double)b[i], 2);
      same += a[i] == b[i];
    }
    /* Every element by itself: rounding of a float32 sum, against the norm of its terms. */
    const double error = fabs((double)dots[r] - want);
    cr_assert(error <= 4 * rig_bound(PD_F32, dim) * sqrt(size * (double)dim), "%s %s x %s: dot %ld is %g, not %g",
              implementation, batch_text, dim_text, (long)r, (double)dots[r], want);
  }
  cr_assert(same < 2, "a and b are two different sets of numbers");
  free(a);
  free(b);
  free(dots);
  cr_assert_eq(block_count, made, "a step allocates nothing");
  rig.scenario->teardown(state);
  cr_assert_eq(freed_count, made);
  close_rig(&rig);
}

PD_TEST(vec_dot, multiplies_and_sums) {
  expect_dots("mul_sum", "1", "1");
  expect_dots("mul_sum", "10000", "64");
  expect_dots("mul_sum", "77", "1000");
}

PD_TEST(vec_dot, multiplies_matrices) {
  expect_dots("bmm", "1", "1");
  expect_dots("bmm", "10000", "64");
  expect_dots("bmm", "77", "1000");
}

PD_TEST(vec_dot, says_what_the_device_cannot) {
  static const char *const names[] = {"mul_sum", "bmm"};
  for (int i = 0; i < 2; i++) {
    vec_dot_rig rig;
    void *state = NULL;
    open_rig(&rig, names[i], "4", "4");
    cr_assert_eq(rig.scenario->init(&rig.device.host.host, rig.options, &state), PD_UNSUPPORTED);
    cr_assert(strstr(rig.device.host.message, PD_EXT_DEVICE), "%s", rig.device.host.message);
    test_host_add(&rig.device.host, PD_EXT_DEVICE, &rig.access);
    /* A device of before these operations, and one that leaves them out. */
    rig.tensor.size = offsetof(pd_tensor_ops, sum_rows);
    cr_assert_eq(rig.scenario->init(&rig.device.host.host, rig.options, &state), PD_UNSUPPORTED);
    rig.tensor.size = sizeof rig.tensor;
    rig.tensor.sum_rows = NULL;
    rig.tensor.batched_matmul = NULL;
    cr_assert_eq(rig.scenario->init(&rig.device.host.host, rig.options, &state), PD_UNSUPPORTED);
    cr_assert(strstr(rig.device.host.message, "batched_matmul for bmm"), "%s", rig.device.host.message);
    cr_assert_null(state);
    close_rig(&rig);
  }
}

PD_TEST(vec_dot, gives_back_what_it_has_when_memory_ends) {
  for (uint32_t at = 1; at <= 4; at++) {
    vec_dot_rig rig;
    void *state = NULL;
    open_rig(&rig, "mul_sum", "4", "4");
    test_host_add(&rig.device.host, PD_EXT_DEVICE, &rig.access);
    fail_at = at;
    cr_assert_eq(rig.scenario->init(&rig.device.host.host, rig.options, &state), PD_NO_MEMORY);
    cr_assert_str_eq(rig.device.host.message, at < 4 ? "no memory for 64 bytes of vectors: lower scenario.batch or "
                                                       "scenario.dim"
                                                     : "no memory for 16 bytes of vectors: lower scenario.batch or "
                                                       "scenario.dim");
    cr_assert_null(state);
    cr_assert_eq(freed_count, at - 1);
    close_rig(&rig);
  }
}
