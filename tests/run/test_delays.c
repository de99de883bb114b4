/* Delays between a device and its callers: what is called, how often it is delayed, and by how much. The device is made
 * up, so that no figure depends on a clock. */
#include "run/delays/delays.h"

#include "pd_test.h"

#include <pthread.h>

static struct {
  int fills, spins, copies, syncs, allocs, frees;
  int64_t spin_ns;
} did;

static pd_status fill(pd_device *device, pd_stream *stream, const pd_tensor *y, double value) {
  (void)device;
  (void)stream;
  cr_assert(!y && value == 3);
  did.fills++;
  return PD_OK;
}
static pd_status spin(pd_device *device, pd_stream *stream, int64_t ns) {
  (void)device;
  (void)stream;
  did.spins++;
  did.spin_ns += ns;
  return PD_OK;
}
static pd_status copy(pd_device *device, pd_stream *stream, void *to, const void *from, uint64_t bytes,
                      pd_copy_kind kind) {
  (void)device;
  (void)stream;
  cr_assert(!to && !from && bytes == 8 && kind);
  did.copies++;
  return PD_OK;
}
static pd_status synchronize(pd_device *device, pd_stream *stream) {
  (void)device;
  (void)stream;
  did.syncs++;
  return PD_OK;
}
static pd_status alloc(pd_device *device, pd_stream *stream, pd_allocator from, uint64_t bytes, void **out) {
  (void)device;
  (void)stream;
  cr_assert(from == PD_ALLOCATOR_RAW && bytes == 8 && out);
  did.allocs++;
  return PD_OK;
}
static pd_status release(pd_device *device, pd_stream *stream, pd_allocator from, uint64_t bytes, void *data) {
  (void)device;
  (void)stream;
  cr_assert(from == PD_ALLOCATOR_RAW && bytes == 8);
  (void)data;
  did.frees++;
  return PD_OK;
}

static const pd_memory_ops memory = {.size = sizeof memory, .alloc = alloc, .free = release, .copy = copy};
static const pd_stream_ops streams = {.size = sizeof streams, .synchronize = synchronize};
static const pd_tensor_ops tensors = {.size = sizeof tensors, .fill = fill, .spin = spin};
static const pd_device_ops device = {.size = sizeof device, .memory = &memory, .stream = &streams, .tensor = &tensors};

static delays *install(pd_device_access *access) {
  delays *self = delays_open();
  cr_assert(self);
  cr_assert_null(delays_open(), "one at a time");
  *access = (pd_device_access){.size = sizeof *access, .ops = &device};
  delays_install(self, access);
  return self;
}

static void kernels(const pd_device_access *access, int count) {
  for (int i = 0; i < count; i++) cr_assert_eq(access->ops->tensor->fill(NULL, NULL, NULL, 3), PD_OK);
}

PD_TEST(delays, without_a_delay_all_calls_go_through_and_are_counted) {
  pd_device_access access;
  delays *self = install(&access);
  void *data = self;
  kernels(&access, 5);
  cr_assert_eq(access.ops->memory->copy(NULL, NULL, NULL, NULL, 8, PD_COPY_HOST_TO_DEVICE), PD_OK);
  cr_assert_eq(access.ops->memory->copy(NULL, NULL, NULL, NULL, 8, PD_COPY_DEVICE_TO_HOST), PD_OK);
  cr_assert_eq(access.ops->stream->synchronize(NULL, NULL), PD_OK);
  cr_assert_eq(access.ops->memory->alloc(NULL, NULL, PD_ALLOCATOR_RAW, 8, &data), PD_OK);
  cr_assert_eq(access.ops->memory->free(NULL, NULL, PD_ALLOCATOR_RAW, 8, data), PD_OK);
  cr_assert_eq(access.ops->memory->free(NULL, NULL, PD_ALLOCATOR_RAW, 8, NULL), PD_OK);
  cr_assert(did.fills == 5 && did.spins == 0 && did.copies == 2 && did.syncs == 1 && did.allocs == 1 && did.frees == 2);
  cr_assert(delays_calls(self, DELAYS_host) == 5 && delays_calls(self, DELAYS_kernels) == 5);
  cr_assert(delays_calls(self, DELAYS_copies) == 1 && delays_calls(self, DELAYS_reads) == 1);
  cr_assert(delays_calls(self, DELAYS_syncs) == 1 && delays_calls(self, DELAYS_allocations) == 2);
  cr_assert_null(access.ops->tensor->randn, "what the device does not have stays away");
  delays_close(self);
}

PD_TEST(delays, a_device_part_is_delayed_on_its_stream) {
  pd_device_access access;
  delays *self = install(&access);
  delays_set(self, DELAYS_kernels, 10, 3);
  kernels(&access, 9);
  cr_assert(did.fills == 9 && did.spins == 3 && did.spin_ns == 90);
  cr_assert_float_eq(delays_put_ns(self), 90, 1e-9);
  delays_set(self, DELAYS_kernels, 0, 3);
  kernels(&access, 9);
  cr_assert(did.spins == 6 && did.spin_ns == 90, "without a delay what makes it is launched all the same");
  delays_set(self, DELAYS_reads, 7, 1);
  cr_assert_eq(access.ops->memory->copy(NULL, NULL, NULL, NULL, 8, PD_COPY_HOST_TO_DEVICE), PD_OK);
  cr_assert_eq(did.spins, 6, "a copy to the device is no read");
  cr_assert_eq(access.ops->memory->copy(NULL, NULL, NULL, NULL, 8, PD_COPY_DEVICE_TO_HOST), PD_OK);
  cr_assert(did.spins == 7 && did.spin_ns == 97 && did.copies == 2);
  delays_close(self);
}

PD_TEST(delays, the_host_sleeps_when_enough_is_due) {
  pd_device_access access;
  delays *self = install(&access);
  delays_set(self, DELAYS_host, 40e3, 1);
  kernels(&access, 2);
  cr_assert_eq(delays_put_ns(self), 0, "80 us are too short to sleep");
  kernels(&access, 1);
  cr_assert_geq(delays_put_ns(self), 120e3);
  delays_clear(self);
  kernels(&access, 9);
  cr_assert_eq(delays_put_ns(self), 0);
  delays_close(self);
}

static void *one_of_the_loader(void *access) {
  kernels(access, 4);
  return NULL;
}

PD_TEST(delays, other_threads_are_left_alone) {
  pd_device_access access;
  delays *self = install(&access);
  pthread_t thread;
  delays_set(self, DELAYS_kernels, 10, 1);
  cr_assert_eq(pthread_create(&thread, NULL, one_of_the_loader, &access), 0);
  pthread_join(thread, NULL);
  cr_assert(did.fills == 4 && did.spins == 0 && delays_calls(self, DELAYS_kernels) == 0);
  delays_close(self);
}
