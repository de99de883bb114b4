/* Memory of the CPU device: pool, plain allocator, page-locked memory, copies, figures and events. */
#include "op_suite.h"
#include "pd_test.h"

#include <stdlib.h>

static device_rig rig;
static void open_rig(void) { rig_open(&rig); }
#define MEMORY_TEST(name) PD_TEST_WITH(cpu_memory, name, .init = open_rig, .timeout = 60)

typedef struct figures {
  uint64_t allocated, reserved, peak;
} figures;
static figures usage(void) {
  figures f;
  rig_ok(&rig, rig.ops->memory->usage(rig.device, &f.allocated, &f.reserved, &f.peak), "usage");
  return f;
}
static void expect_usage(uint64_t allocated, uint64_t reserved, uint64_t peak) {
  const figures f = usage();
  cr_assert_eq(f.allocated, allocated, "allocated %llu", (unsigned long long)f.allocated);
  cr_assert_eq(f.reserved, reserved, "reserved %llu", (unsigned long long)f.reserved);
  cr_assert_eq(f.peak, peak, "peak %llu", (unsigned long long)f.peak);
}
static void *take(pd_allocator allocator, uint64_t bytes) {
  void *data = &rig;
  rig_ok(&rig, rig.ops->memory->alloc(rig.device, rig.stream, allocator, bytes, &data), "alloc");
  return data;
}
static void give(pd_allocator allocator, uint64_t bytes, void *data) {
  rig_ok(&rig, rig.ops->memory->free(rig.device, rig.stream, allocator, bytes, data), "free");
}

MEMORY_TEST(the_pool_keeps_what_is_freed_and_the_plain_allocator_does_not) {
  expect_usage(0, 0, 0);
  cr_assert_null(take(PD_ALLOCATOR_POOL, 0));
  give(PD_ALLOCATOR_POOL, 0, NULL);
  void *first = take(PD_ALLOCATOR_POOL, 1000), *second = take(PD_ALLOCATOR_POOL, 512);
  cr_assert_eq((uintptr_t)first % 256 + (uintptr_t)second % 256, 0);
  expect_usage(1536, 1536, 1536);
  give(PD_ALLOCATOR_POOL, 1000, first);
  rig_sync(&rig);
  expect_usage(512, 1536, 1536);
  cr_assert_eq(take(PD_ALLOCATOR_POOL, 1024), first, "the block is used again");
  expect_usage(1536, 1536, 1536);
  void *raw = take(PD_ALLOCATOR_RAW, 4096);
  cr_assert_eq((uintptr_t)raw % 256, 0);
  expect_usage(5632, 5632, 5632);
  give(PD_ALLOCATOR_RAW, 4096, raw);
  expect_usage(1536, 1536, 5632);
  give(PD_ALLOCATOR_POOL, 1024, first);
  give(PD_ALLOCATOR_POOL, 512, second);
  rig_sync(&rig);
  expect_usage(0, 1536, 5632);
  rig_ok(&rig, rig.ops->memory->trim(rig.device, 2048), "trim");
  expect_usage(0, 0, 2048);
  rig_close(&rig);
}

/* A block freed with work still queued is not handed out before that work is done. */
MEMORY_TEST(a_freed_block_waits_for_the_work_that_uses_it) {
  enum { COUNT = 1000000 };
  operand y = OUTPUT(&rig, OPERAND_F32, COUNT), copy = OUTPUT(&rig, OPERAND_F32, COUNT);
  rig_ok(&rig, rig.ops->tensor->randn(rig.device, rig.stream, &y.t, 3, 0), "randn");
  rig_ok(&rig,
         rig.ops->memory->copy(rig.device, rig.stream, copy.t.data, y.t.data, COUNT * 4, PD_COPY_DEVICE_TO_DEVICE),
         "copy");
  void *used = y.t.data;
  give(PD_ALLOCATOR_POOL, COUNT * 4, used);
  void *next = take(PD_ALLOCATOR_POOL, COUNT * 4);
  memset(next, 0xFF, COUNT * 4); /* from the host's side, as no user of a GPU could */
  y.t.data = take(PD_ALLOCATOR_POOL, COUNT * 4);
  rig_ok(&rig, rig.ops->tensor->randn(rig.device, rig.stream, &y.t, 3, 0), "randn");
  rig_download(&rig, &y.t, y.v);
  memcpy(copy.v, y.v, COUNT * sizeof *copy.v);
  operand_expect_exact(&rig, &copy, "copied before the block was used again");
  give(PD_ALLOCATOR_POOL, COUNT * 4, next);
  OPERANDS_FREE(&rig, &y, &copy);
  rig_close(&rig);
}

MEMORY_TEST(out_of_memory_says_how_much_and_leaves_the_device_usable) {
  static const pd_allocator allocators[] = {PD_ALLOCATOR_POOL, PD_ALLOCATOR_RAW};
  static const uint64_t sizes[] = {UINT64_C(1) << 50, UINT64_MAX - 10};
  for (int i = 0; i < 2; i++)
    for (int k = 0; k < 2; k++) {
      void *data = &rig;
      cr_assert_eq(rig.ops->memory->alloc(rig.device, rig.stream, allocators[i], sizes[k], &data), PD_NO_MEMORY);
      cr_assert_null(data);
      char asked[64];
      snprintf(asked, sizeof asked, "%llu bytes asked, ", (unsigned long long)sizes[k]);
      cr_assert(strstr(rig.host.message, asked), "%s", rig.host.message);
      cr_assert(strstr(rig.host.message, " free of "), "%s", rig.host.message);
    }
  void *data = &rig;
  cr_assert_eq(rig.ops->memory->host_alloc(rig.device, UINT64_C(1) << 50, &data), PD_NO_MEMORY);
  cr_assert_null(data);
  expect_usage(0, 0, 0);
  give(PD_ALLOCATOR_POOL, 256, take(PD_ALLOCATOR_POOL, 256));
  rig_sync(&rig);
  rig_close(&rig);
}

MEMORY_TEST(copies_go_every_way_from_pageable_and_pinned_memory) {
  enum { BYTES = 100003 };
  void *pinned[2] = {NULL, NULL};
  unsigned char *plain = malloc(BYTES), *back = calloc(1, BYTES);
  void *device[2] = {take(PD_ALLOCATOR_POOL, BYTES), take(PD_ALLOCATOR_RAW, BYTES)};
  const pd_memory_ops *ops = rig.ops->memory;
  cr_assert(plain && back);
  for (int i = 0; i < 2; i++) rig_ok(&rig, ops->host_alloc(rig.device, BYTES, &pinned[i]), "host_alloc");
  for (int i = 0; i < BYTES; i++) plain[i] = (unsigned char)(i * 7 % 251);
  memcpy(pinned[0], plain, BYTES);
  rig_ok(&rig, ops->copy(rig.device, rig.stream, device[0], plain, BYTES, PD_COPY_HOST_TO_DEVICE), "copy");
  memset(plain, 0, BYTES); /* free to use at once */
  rig_ok(&rig, ops->copy(rig.device, rig.stream, device[1], device[0], BYTES, PD_COPY_DEVICE_TO_DEVICE), "copy");
  rig_ok(&rig, ops->copy(rig.device, rig.stream, back, device[1], BYTES, PD_COPY_DEVICE_TO_HOST), "copy");
  cr_assert_arr_eq(back, pinned[0], BYTES, "there when the call returns");
  ((unsigned char *)pinned[0])[BYTES - 1] ^= 1;
  rig_ok(&rig, ops->copy(rig.device, rig.stream, device[0], pinned[0], BYTES, PD_COPY_HOST_TO_DEVICE), "copy");
  rig_ok(&rig, ops->copy(rig.device, rig.stream, pinned[1], device[0], BYTES, PD_COPY_DEVICE_TO_HOST), "copy");
  rig_sync(&rig);
  cr_assert_arr_eq(pinned[1], pinned[0], BYTES);
  cr_assert_eq(ops->copy(rig.device, rig.stream, device[0], plain, 1, 9), PD_INVALID);
  rig_ok(&rig, ops->copy(rig.device, rig.stream, NULL, NULL, 0, PD_COPY_HOST_TO_DEVICE), "copy of nothing");
  for (int i = 0; i < 2; i++) rig_ok(&rig, ops->host_free(rig.device, BYTES, pinned[i]), "host_free");
  cr_assert_eq(ops->host_free(rig.device, BYTES, plain), PD_INVALID);
  give(PD_ALLOCATOR_POOL, BYTES, device[0]);
  give(PD_ALLOCATOR_RAW, BYTES, device[1]);
  free(plain);
  free(back);
  rig_close(&rig);
}

MEMORY_TEST(every_allocation_is_an_event_with_totals) {
  static const struct {
    int64_t bytes;
    uint64_t allocated, reserved;
    uint32_t device_type;
    pd_allocator allocator;
  } expected[] = {{512, 512, 512, 1, PD_ALLOCATOR_POOL},   {1024, 1536, 1536, 1, PD_ALLOCATOR_RAW},
                  {256, 256, 256, 0, PD_ALLOCATOR_PINNED}, {-512, 1024, 1536, 1, PD_ALLOCATOR_POOL},
                  {-1024, 0, 512, 1, PD_ALLOCATOR_RAW},    {-256, 0, 0, 0, PD_ALLOCATOR_PINNED}};
  const pd_profile_options options = {.size = sizeof options, .profile_memory = 1};
  rig_ok(&rig, rig.ops->profile->attach(rig.device, &options), "attach");
  void *pinned, *unseen = take(PD_ALLOCATOR_POOL, 256); /* recorded nowhere: nobody listens yet */
  give(PD_ALLOCATOR_RAW, 256, unseen);
  cr_assert_eq(rig.memory_count, 0);
  rig.enabled = 1;
  void *pool = take(PD_ALLOCATOR_POOL, 500), *raw = take(PD_ALLOCATOR_RAW, 1024);
  rig_ok(&rig, rig.ops->memory->host_alloc(rig.device, 100, &pinned), "host_alloc");
  give(PD_ALLOCATOR_POOL, 500, pool);
  rig_sync(&rig);
  give(PD_ALLOCATOR_RAW, 1024, raw);
  rig_ok(&rig, rig.ops->memory->host_free(rig.device, 100, pinned), "host_free");
  cr_assert_eq(rig.memory_count, 6);
  const void *const addresses[] = {pool, raw, pinned, pool, raw, pinned};
  for (int i = 0; i < 6; i++) {
    const pd_memory_event *e = &rig.memory[i];
    cr_assert_eq(e->address, (uint64_t)(uintptr_t)addresses[i], "event %d", i);
    cr_assert_eq(e->bytes, expected[i].bytes, "event %d: %lld", i, (long long)e->bytes);
    cr_assert_eq(e->total_allocated, expected[i].allocated, "event %d", i);
    cr_assert_eq(e->total_reserved, expected[i].reserved, "event %d", i);
    cr_assert_eq(e->device_type, expected[i].device_type, "event %d", i);
    cr_assert_eq(e->allocator, expected[i].allocator, "event %d", i);
  }
  rig_close(&rig);
}
