/* Memory that runs out, and a scenario's own tensors. */
#include "modes_rig.h"

/* ---- memory that runs out ---- */

PD_TEST(train_modes, every_failed_allocation_is_a_status) {
  train_rig rig;
  train_rig_open(&rig);
  pd_batch batch = train_rig_batch(N, S, 1);
  const pd_step at = {.size = sizeof at, .batch = &batch};
  const pd_train_model model = {.size = sizeof model, .tiny_ops_block = 1};
  const train_config config = train_rig_config();
  pd_status status = PD_NO_MEMORY;
  int failures = 0;
  for (uint64_t n = 1; status != PD_OK; n += n < 70 ? 1 : 37) {
    train_rig_fail_allocation(n);
    status = train_rig_kit(&rig, &config);
    if (status == PD_OK) {
      status = rig.train->configure(rig.train, &model);
      if (status == PD_OK) status = rig.train->step(rig.train, &at);
      train_kit_close(rig.kit);
    }
    rig.kit = NULL;
    cr_assert(status == PD_OK || status == PD_NO_MEMORY, "allocation %lu: status %d", n, status);
    failures += status != PD_OK;
  }
  train_rig_fail_allocation(0);
  cr_assert_gt(failures, 70);
  uint64_t allocated = 1, reserved, peak;
  train_rig_ok(&rig, rig.ops.stream->device_synchronize(rig.access.device), "synchronize");
  train_rig_ok(&rig, rig.memory.usage(rig.access.device, &allocated, &reserved, &peak), "usage");
  cr_assert_eq(allocated, 0, "%lu bytes of device memory leaked", allocated);
  train_rig_batch_free(&batch);
  train_rig_close(&rig);
}

/* ---- a scenario's own tensors ---- */

static pd_status (*device_props)(pd_device *, pd_device_props *);
static pd_status props_of_the_fourth(pd_device *device, pd_device_props *props) {
  const pd_status status = device_props(device, props);
  props->index = 3;
  return status;
}

PD_TEST(train_modes, cached_memory_is_handed_out_again) {
  train_rig rig;
  const train_config config = train_rig_config();
  train_rig_open(&rig);
  device_props = rig.ops.props;
  rig.ops.props = props_of_the_fourth;
  train_rig_ok(&rig, train_rig_kit(&rig, &config), "kit");
  const pd_train *train = rig.train;
  const pd_tensor like = tensor_image(PD_F16, PD_NHWC, 2, 3, 9, 9), small = tensor_vector(PD_F32, 4);
  pd_tensor a, b, c;
  train_rig_ok(&rig, train->empty_like(train, &like, PD_ALLOCATOR_CACHED, &a), "empty_like");
  cr_assert(a.dtype == PD_F32 && a.layout == PD_NCHW && a.rank == 4 && a.shape[3] == 9);
  train_rig_ok(&rig, train->empty_like(train, &like, PD_ALLOCATOR_CACHED, &b), "empty_like");
  cr_assert_neq(a.data, b.data);
  const void *freed = a.data;
  train_rig_ok(&rig, train->tensor_free(train, PD_ALLOCATOR_CACHED, &a), "tensor_free");
  cr_assert_null(a.data);
  const uint64_t allocations = train_rig_allocations();
  train_rig_trace_begin(&rig);
  train_rig_step_begin(&rig);
  train_rig_ok(&rig, train->empty_like(train, &like, PD_ALLOCATOR_CACHED, &c), "empty_like");
  train_rig_ok(&rig, train->tensor_free(train, PD_ALLOCATOR_CACHED, &c), "tensor_free");
  train_rig_step_end(&rig);
  pd_trace *trace = train_rig_trace_end(&rig);
  cr_assert_eq(train_rig_allocations(), allocations);
  cr_assert_eq(trace->memory.count, 2);
  for (uint64_t i = 0; i < 2; i++) {
    const pd_memory_event *event = &PD_AT(pd_memory_row, &trace->memory, i)->event;
    cr_assert_eq(event->allocator, PD_ALLOCATOR_CACHED);
    cr_assert_eq(event->device_type, 1);
    cr_assert_eq(event->device, 3);
    cr_assert_eq(event->bytes, i ? -2048 : 2048); /* 2*3*9*9*4 = 1944, in blocks of 512 */
    cr_assert_eq(event->address, (uint64_t)(uintptr_t)freed);
  }
  trace_free(trace);
  /* a small tensor does not take a large block */
  train_rig_ok(&rig, train->empty_like(train, &small, PD_ALLOCATOR_CACHED, &a), "empty_like");
  cr_assert_neq(a.data, freed);
  cr_assert_eq(train_rig_allocations(), allocations + 1);
  pd_tensor wrong = b;
  wrong.data = &wrong;
  cr_assert_eq(train->tensor_free(train, PD_ALLOCATOR_CACHED, &wrong), PD_INVALID);
  cr_assert(strstr(rig.host.message, "is not a tensor of the caching allocator"), "%s", rig.host.message);
  cr_assert_eq(train->empty_like(train, &like, PD_ALLOCATOR_PINNED, &wrong), PD_INVALID);
  train_rig_close(&rig); /* b is given back with the kit */
}

static pd_status (*device_alloc)(pd_device *, pd_stream *, pd_allocator, uint64_t, void **);
static int alloc_calls;
static pd_status fails_at_first(pd_device *device, pd_stream *stream, pd_allocator allocator, uint64_t bytes,
                                void **out) {
  *out = NULL;
  return alloc_calls++ ? device_alloc(device, stream, allocator, bytes, out) : PD_NO_MEMORY;
}

PD_TEST(train_modes, idle_cached_memory_goes_back_when_the_device_has_none_left) {
  train_rig rig;
  const train_config config = train_rig_config();
  open_kit(&rig, &config);
  const pd_train *train = rig.train;
  const pd_tensor small = tensor_vector(PD_F32, 1000), large = tensor_vector(PD_F32, 100000);
  pd_tensor a, b, used;
  train_rig_ok(&rig, train->empty_like(train, &small, PD_ALLOCATOR_CACHED, &used), "empty_like");
  train_rig_ok(&rig, train->empty_like(train, &small, PD_ALLOCATOR_CACHED, &a), "empty_like");
  train_rig_ok(&rig, train->tensor_free(train, PD_ALLOCATOR_CACHED, &a), "tensor_free");
  uint64_t before, after, reserved, peak;
  train_rig_ok(&rig, rig.memory.usage(rig.access.device, &before, &reserved, &peak), "usage");
  device_alloc = rig.memory.alloc;
  rig.memory.alloc = fails_at_first;
  train_rig_ok(&rig, train->empty_like(train, &large, PD_ALLOCATOR_CACHED, &b), "empty_like");
  cr_assert_eq(alloc_calls, 2);
  train_rig_ok(&rig, rig.ops.stream->device_synchronize(rig.access.device), "synchronize");
  train_rig_ok(&rig, rig.memory.usage(rig.access.device, &after, &reserved, &peak), "usage");
  cr_assert_eq(after, before + 400384 - 4096); /* the idle block is gone, the used one is not */
  alloc_calls = 0;
  train_rig_ok(&rig, train->tensor_free(train, PD_ALLOCATOR_CACHED, &used), "tensor_free");
  train_rig_ok(&rig, train->tensor_free(train, PD_ALLOCATOR_CACHED, &b), "tensor_free");
  train_rig_close(&rig);
}

PD_TEST(train_modes, pool_and_raw_memory_are_the_devices) {
  train_rig rig;
  const train_config config = train_rig_config();
  open_kit(&rig, &config);
  const pd_train *train = rig.train;
  const pd_tensor like = tensor_vector(PD_F32, 100);
  const pd_allocator allocators[] = {PD_ALLOCATOR_POOL, PD_ALLOCATOR_RAW};
  for (int i = 0; i < 2; i++) {
    pd_tensor tensor;
    const uint64_t allocations = train_rig_allocations();
    for (uint64_t k = 1; k <= 3; k++) {
      train_rig_ok(&rig, train->empty_like(train, &like, allocators[i], &tensor), "empty_like");
      train_rig_ok(&rig, train->tensor_free(train, allocators[i], &tensor), "tensor_free");
      cr_assert_eq(train_rig_allocations(), allocations + k);
    }
  }
  train_rig_close(&rig);
}

PD_TEST(train_modes, random_tensors_are_fresh_and_means_and_sums_are_right) {
  train_rig rig;
  const train_config config = train_rig_config();
  open_kit(&rig, &config);
  const pd_train *train = rig.train;
  enum { COUNT = 1000 };
  const pd_tensor like = tensor_vector(PD_F32, COUNT), scalar = tensor_vector(PD_F32, 1);
  pd_tensor x[2], mean;
  float values[2][COUNT], got, sum[COUNT];
  train_rig_ok(&rig, train->empty_like(train, &scalar, PD_ALLOCATOR_CACHED, &mean), "empty_like");
  for (int k = 0; k < 2; k++) {
    train_rig_ok(&rig, train->empty_like(train, &like, PD_ALLOCATOR_CACHED, &x[k]), "empty_like");
    train_rig_ok(&rig, train->randn(train, &x[k]), "randn");
    train_rig_ok(&rig,
                 rig.memory.copy(rig.access.device, rig.access.stream, values[k], x[k].data, sizeof values[k],
                                 PD_COPY_DEVICE_TO_HOST),
                 "copy");
  }
  for (int i = 0; i < COUNT; i++) cr_assert_neq(values[0][i], values[1][i]);
  double total = 0, square = 0;
  for (int i = 0; i < COUNT; i++) {
    total += (double)values[0][i];
    square += (double)values[0][i] * (double)values[0][i];
  }
  cr_assert_lt(fabs(total / COUNT), 0.16); /* five standard errors */
  cr_assert_lt(fabs(square / COUNT - 1), 0.23);
  train_rig_ok(&rig, train->mean(train, &mean, &x[0]), "mean");
  train_rig_ok(
      &rig, rig.memory.copy(rig.access.device, rig.access.stream, &got, mean.data, sizeof got, PD_COPY_DEVICE_TO_HOST),
      "copy");
  cr_assert_lt(fabs((double)got - total / COUNT), 1e-6);
  train_rig_ok(&rig, train->add(train, &x[1], &x[1], &mean, 0.5), "add");
  train_rig_ok(
      &rig, rig.memory.copy(rig.access.device, rig.access.stream, sum, x[1].data, sizeof sum, PD_COPY_DEVICE_TO_HOST),
      "copy");
  for (int i = 0; i < COUNT; i++) cr_assert_lt(fabs((double)sum[i] - ((double)values[1][i] + 0.5 * (double)got)), 1e-6);
  train_rig_close(&rig);
}
