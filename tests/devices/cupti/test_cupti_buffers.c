/* The buffer pool: sizes, limits, ownership, order, zeroes. */
#include "devices/cuda/cupti/cupti_buffers.h"
#include "pd_test.h"

#include <pthread.h>
#include <string.h>
#include <sys/mman.h>
#include <unistd.h>

static cupti_buffers pool;

/* Whatever else the machine does, a thread here is fast. */
static void open_pool(uint64_t max_bytes, uint32_t small, uint32_t large) {
  cr_assert_eq(cupti_buffers_open(&pool, max_bytes, small, large), PD_OK);
  pool.fast_ns = INT64_MAX;
}

PD_TEST(cupti_buffers, give_a_thread_a_small_one_first) {
  size_t bytes;
  open_pool(64 << 20, 1, 1);
  cr_assert_not_null(cupti_buffers_take(&pool, &bytes));
  cr_assert_eq(bytes, CUPTI_SMALL_BYTES);
  for (int i = 0; i < 3; i++) {
    cr_assert_not_null(cupti_buffers_take(&pool, &bytes));
    cr_assert_eq(bytes, CUPTI_LARGE_BYTES);
  }
  cr_assert_not(cupti_buffers_close(&pool)); /* four are still out */
}

PD_TEST(cupti_buffers, give_a_slow_thread_small_ones) {
  size_t bytes;
  cr_assert_eq(cupti_buffers_open(&pool, 64 << 20, 1, 1), PD_OK);
  for (int i = 0; i < 3; i++) {
    cr_assert_not_null(cupti_buffers_take(&pool, &bytes));
    cr_assert_eq(bytes, CUPTI_SMALL_BYTES);
    usleep(40000);
  }
  (void)cupti_buffers_close(&pool);
}

PD_TEST(cupti_buffers, stop_at_their_limit_and_count) {
  enum { SMALL = 1, LARGE = 3, REQUESTS = 10000 };
  size_t bytes;
  uint32_t given = 0;
  open_pool(CUPTI_SMALL_BYTES * SMALL + CUPTI_LARGE_BYTES * LARGE, 1, 1);
  for (int i = 0; i < REQUESTS; i++) given += cupti_buffers_take(&pool, &bytes) != NULL;
  cr_assert_eq(given, SMALL + LARGE);
  cr_assert_eq(atomic_load(&pool.refused), REQUESTS - SMALL - LARGE);
  cr_assert_eq(atomic_load(&pool.bytes), CUPTI_SMALL_BYTES * SMALL + CUPTI_LARGE_BYTES * LARGE);
  cr_assert_eq(bytes, 0);
  (void)cupti_buffers_close(&pool);
}

PD_TEST(cupti_buffers, take_only_what_is_cuptis_back) {
  size_t bytes;
  uint8_t foreign[64];
  open_pool(64 << 20, 2, 0);
  uint8_t *data = cupti_buffers_take(&pool, &bytes);
  cr_assert(cupti_buffers_complete(&pool, data, 100));
  cr_assert_not(cupti_buffers_complete(&pool, data, 100)); /* twice */
  cr_assert_not(cupti_buffers_complete(&pool, foreign, 64));
  cr_assert_not(cupti_buffers_complete(&pool, NULL, 0));
  cupti_buffer *buffer = cupti_buffers_pull(&pool);
  cr_assert_eq(buffer->valid_bytes, 100);
  cr_assert_null(cupti_buffers_following(&pool, buffer));
  cr_assert_null(cupti_buffers_pull(&pool));
  cr_assert_not(cupti_buffers_complete(&pool, data, 100)); /* while it is decoded */
  cupti_buffers_release(&pool, buffer);
  cr_assert_not(cupti_buffers_complete(&pool, data, 100)); /* when it is free */
  cr_assert(cupti_buffers_close(&pool));
}

/* Whether every page of a buffer is in memory, so that nobody who writes to it first has to wait for one. */
static bool is_resident(uint8_t *data, size_t bytes) {
  static unsigned char pages[CUPTI_LARGE_BYTES / 4096];
  const size_t page = (size_t)sysconf(_SC_PAGESIZE);
  cr_assert_eq(mincore(data, bytes, pages), 0);
  for (size_t i = 0; i < (bytes + page - 1) / page; i++)
    if (!(pages[i] & 1)) return false;
  return true;
}

PD_TEST(cupti_buffers, are_in_memory_before_they_are_handed_out) {
  size_t bytes;
  open_pool(64 << 20, 1, 1);
  for (int i = 0; i < 3; i++) { /* the last one is mapped as it is asked for */
    uint8_t *data = cupti_buffers_take(&pool, &bytes);
    cr_assert(is_resident(data, bytes));
  }
  (void)cupti_buffers_close(&pool);
}

/* A thread that looked at the head of the list, and lost its core until that buffer is back at the head with another
 * behind it, must see that it is not the head it looked at. */
PD_TEST(cupti_buffers, leave_a_mark_as_they_come_and_go) {
  size_t bytes;
  open_pool(2 * CUPTI_SMALL_BYTES, 2, 0);
  const uint64_t before = atomic_load(&pool.free_small);
  uint8_t *data = cupti_buffers_take(&pool, &bytes);
  cr_assert(cupti_buffers_complete(&pool, data, 8));
  cupti_buffers_release(&pool, cupti_buffers_pull(&pool));
  const uint64_t after = atomic_load(&pool.free_small);
  cr_assert_eq((uint32_t)after, (uint32_t)before); /* the same buffer, */
  cr_assert_neq(after, before);                    /* another head */
  cr_assert(cupti_buffers_close(&pool));
}

PD_TEST(cupti_buffers, come_in_the_order_of_completion_and_never_longer_than_they_are) {
  uint8_t *data[5];
  size_t bytes;
  open_pool(64 << 20, 1, 4);
  for (int i = 0; i < 5; i++) data[i] = cupti_buffers_take(&pool, &bytes);
  static const int order[] = {3, 0, 4, 1, 2};
  for (int i = 0; i < 5; i++) cr_assert(cupti_buffers_complete(&pool, data[order[i]], SIZE_MAX));
  cupti_buffer *buffer = cupti_buffers_pull(&pool);
  for (int i = 0; i < 5; i++) {
    cr_assert_eq(atomic_load(&buffer->data), data[order[i]]);
    cr_assert_eq(buffer->valid_bytes, order[i] ? CUPTI_LARGE_BYTES : CUPTI_SMALL_BYTES);
    cupti_buffer *next = cupti_buffers_following(&pool, buffer);
    cupti_buffers_release(&pool, buffer);
    buffer = next;
  }
  cr_assert_null(buffer);
  cr_assert(cupti_buffers_close(&pool));
}

PD_TEST(cupti_buffers, are_zero_again_also_behind_the_valid_part) {
  size_t bytes;
  open_pool(CUPTI_SMALL_BYTES, 1, 0);
  uint8_t *data = cupti_buffers_take(&pool, &bytes);
  memset(data, 0xa5, bytes);
  cr_assert(cupti_buffers_complete(&pool, data, 16));
  cupti_buffers_release(&pool, cupti_buffers_pull(&pool));
  cr_assert_eq(cupti_buffers_take(&pool, &bytes), data);
  for (size_t i = 0; i < bytes; i++) cr_assert_eq(data[i], 0);
  (void)cupti_buffers_close(&pool);
}

static void expect_held(uint32_t epoch, uint32_t thread, uint32_t own, uint32_t others) {
  const cupti_held held = cupti_buffers_held(&pool, epoch, thread);
  cr_assert_eq(held.own, own, "%u", held.own);
  cr_assert_eq(held.others, others, "%u", held.others);
}

PD_TEST(cupti_buffers, know_what_is_out_by_epoch_and_thread) {
  size_t bytes;
  open_pool(64 << 20, 1, 2);
  uint8_t *first = cupti_buffers_take(&pool, &bytes);
  atomic_fetch_add(&pool.epoch, 1);
  (void)cupti_buffers_take(&pool, &bytes);
  const uint32_t self = (uint32_t)gettid();
  expect_held(0, self, 1, 0);
  expect_held(1, self, 2, 0);
  expect_held(1, self + 1, 0, 2);
  cr_assert(cupti_buffers_complete(&pool, first, 8));
  expect_held(0, self, 0, 0);
  expect_held(1, self, 1, 0);
  (void)cupti_buffers_close(&pool);
}

PD_TEST(cupti_buffers, are_refilled_before_the_last_large_one_is_gone) {
  size_t bytes;
  open_pool(64 << 20, 3, 2);
  cr_assert_not(cupti_buffers_low(&pool));
  (void)cupti_buffers_take(&pool, &bytes);
  (void)cupti_buffers_take(&pool, &bytes);
  cr_assert(cupti_buffers_low(&pool));
  cupti_buffers_refill(&pool);
  cr_assert_not(cupti_buffers_low(&pool));
  cr_assert_eq(atomic_load(&pool.used), 6);
  (void)cupti_buffers_close(&pool);
}

/* A thread that launches for the first time maps nothing itself. */
PD_TEST(cupti_buffers, are_refilled_before_the_last_small_one_is_gone) {
  size_t bytes;
  open_pool(64 << 20, 2, 2);
  cr_assert_not(cupti_buffers_low(&pool));
  (void)cupti_buffers_take(&pool, &bytes);
  cr_assert(cupti_buffers_low(&pool));
  cupti_buffers_refill(&pool);
  cr_assert_not(cupti_buffers_low(&pool));
  cr_assert_eq(atomic_load(&pool.used), 5);
  (void)cupti_buffers_close(&pool);
}

enum { THREADS = 8 };
static uint8_t *held[THREADS];
static void *hold(void *slot) {
  size_t bytes;
  *(uint8_t **)slot = cupti_buffers_take(&pool, &bytes);
  return NULL;
}

PD_TEST(cupti_buffers, have_one_owner_each) {
  pthread_t threads[THREADS];
  open_pool(64 << 20, 2, 0);
  for (int i = 0; i < THREADS; i++) cr_assert_eq(pthread_create(&threads[i], NULL, hold, &held[i]), 0);
  for (int i = 0; i < THREADS; i++) pthread_join(threads[i], NULL);
  for (int i = 0; i < THREADS; i++) {
    cr_assert_not_null(held[i]);
    for (int j = 0; j < i; j++) cr_assert_neq(held[i], held[j]);
  }
  (void)cupti_buffers_close(&pool);
}
