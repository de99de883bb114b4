/* Threads that take, fill, complete and release the few buffers of one pool, each as CUPTI and the decoder would: no
 * buffer may ever have two owners, and none is lost. For ThreadSanitizer too. Exit 0: all held. */
#include "devices/cuda/cupti/cupti_buffers.h"

#include <pthread.h>
#include <sched.h>
#include <stdio.h>

enum { THREADS = 6, BUFFERS = 4, ROUNDS = 400000, SHORT_BYTES = 64 };

static cupti_buffers pool;
static _Atomic int owners[BUFFERS];
static _Atomic uint64_t taken, shared;

static uint32_t slot_of(const uint8_t *data) {
  uint32_t slot = 0;
  while (atomic_load(&pool.slots[slot].data) != data) slot++;
  return slot;
}

/* One to three at a time, so that the free list changes its order. */
static void *take_and_give(void *unused) {
  (void)unused;
  for (uint32_t i = 0; i < ROUNDS && !atomic_load(&shared); i++) {
    uint8_t *data[3];
    uint32_t count = 0;
    for (size_t bytes; count < 1 + i % 3 && (data[count] = cupti_buffers_take(&pool, &bytes)) != NULL; count++) {
      const bool free_before = atomic_fetch_add(&owners[slot_of(data[count])], 1) == 0;
      atomic_fetch_add(&shared, !free_before || data[count][0] != 0);
      data[count][0] = 1;
    }
    if (!count) sched_yield(); /* who has them all has lost its core */
    atomic_fetch_add(&taken, count);
    for (uint32_t c = 0; c < count; c++) {
      atomic_fetch_sub(&owners[slot_of(data[c])], 1);
      (void)cupti_buffers_complete(&pool, data[c], 1);
    }
    for (cupti_buffer *buffer = cupti_buffers_pull(&pool), *next; buffer; buffer = next) {
      next = cupti_buffers_following(&pool, buffer);
      cupti_buffers_release(&pool, buffer);
    }
  }
  return NULL;
}

int main(void) {
  pthread_t threads[THREADS];
  uint32_t left = 0;
  if (cupti_buffers_open(&pool, BUFFERS * CUPTI_SMALL_BYTES, BUFFERS, 0) != PD_OK) return printf("no memory\n"), 1;
  /* With a few bytes to clear they come back so fast that a thread that loses its core as it takes one meets it again.
   */
  for (uint32_t i = 0; i < BUFFERS; i++) pool.slots[i].bytes = SHORT_BYTES;
  for (int i = 0; i < THREADS; i++)
    if (pthread_create(&threads[i], NULL, take_and_give, NULL)) return printf("no thread\n"), 1;
  for (int i = 0; i < THREADS; i++) pthread_join(threads[i], NULL);
  for (size_t bytes; left <= BUFFERS && cupti_buffers_take(&pool, &bytes);) left++;
  printf("%llu buffers taken, %llu with two owners, %u of %d left\n", (unsigned long long)atomic_load(&taken),
         (unsigned long long)atomic_load(&shared), left, BUFFERS);
  return atomic_load(&shared) || left != BUFFERS;
}
