/* Chunk lists: order, partial drops, the pool's bound and what comes back to it. */
#include "pd_test.h"
#include "trace/chunks.h"
#include "trace/kept/room.h"

#include <string.h>

enum { PER_CHUNK = (CHUNK_BYTES - CHUNK_HEAD) / sizeof(uint64_t) };

static uint64_t push(chunk_list *list, uint64_t from, uint64_t count) {
  for (uint64_t i = 0; i < count; i++) {
    uint64_t *record = chunk_list_reserve(list, sizeof *record);
    if (!record) return i;
    *record = from + i;
    chunk_list_publish(list);
  }
  return count;
}

static void check(const chunk_list *list, uint64_t first, uint64_t count) {
  static uint64_t copy[8 * PER_CHUNK];
  cr_assert_eq(chunk_list_count(list), count);
  memset(copy, 0, sizeof copy);
  chunk_list_copy(list, copy, count);
  for (uint64_t i = 0; i < count; i++) cr_assert_eq(copy[i], first + i, "record %llu", (unsigned long long)i);
  cr_assert_eq(copy[count], 0, "no more than asked for is copied");
}

static _Alignas(64) unsigned char memory[9 * CHUNK_BYTES];

PD_TEST(chunks, records_come_out_in_order_across_chunks) {
  chunk_pool pool;
  chunk_list list;
  cr_assert_eq(chunk_pool_open(&pool, memory, 8 * CHUNK_BYTES), PD_OK);
  chunk_list_init(&list, &pool, sizeof(uint64_t));
  check(&list, 1, 0);
  cr_assert_eq(push(&list, 1, 3 * PER_CHUNK + 5), 3 * PER_CHUNK + 5);
  check(&list, 1, 3 * PER_CHUNK + 5);
  chunk_list_drop(&list, 10);
  check(&list, 11, 3 * PER_CHUNK - 5);
  chunk_list_drop(&list, PER_CHUNK); /* ends inside the second chunk */
  check(&list, 11 + PER_CHUNK, 2 * PER_CHUNK - 5);
  cr_assert_eq(list.taken, 10 + PER_CHUNK);
  chunk_list_drop(&list, PER_CHUNK - 10); /* ends with it */
  check(&list, 1 + 2 * PER_CHUNK, PER_CHUNK + 5);
  cr_assert_eq(push(&list, 3 * PER_CHUNK + 6, 100), 100);
  chunk_list_drop(&list, PER_CHUNK + 105);
  check(&list, 0, 0);
  cr_assert_eq(push(&list, 7, 1), 1);
  check(&list, 7, 1);
  chunk_list_release(&list);
  chunk_pool_close(&pool);
}

PD_TEST(chunks, the_pool_is_a_bound_and_chunks_return_to_it) {
  chunk_pool pool;
  chunk_list one, two;
  cr_assert_eq(chunk_pool_open(&pool, memory, 3 * CHUNK_BYTES + 17), PD_OK);
  chunk_list_init(&one, &pool, sizeof(uint64_t));
  chunk_list_init(&two, &pool, sizeof(uint64_t));
  cr_assert_eq(push(&one, 1, 10 * PER_CHUNK), 3 * PER_CHUNK);
  cr_assert_eq(push(&two, 1, 1), 0);
  chunk_list_drop(&one, PER_CHUNK - 1);
  cr_assert_eq(push(&two, 1, 1), 0, "a chunk with a record left stays");
  chunk_list_drop(&one, 1);
  cr_assert_eq(push(&two, 1, 10 * PER_CHUNK), PER_CHUNK);
  check(&one, PER_CHUNK + 1, 2 * PER_CHUNK);
  check(&two, 1, PER_CHUNK);
  chunk_list_release(&one);
  cr_assert_eq(push(&two, PER_CHUNK + 1, 10 * PER_CHUNK), 2 * PER_CHUNK);
  check(&two, 1, 3 * PER_CHUNK);
  chunk_list_release(&two);
  cr_assert_eq(push(&one, 1, 10 * PER_CHUNK), 3 * PER_CHUNK, "none is lost");
  chunk_list_release(&one);
  chunk_pool_close(&pool);
}

PD_TEST(chunks, the_smallest_room_has_one_chunk_and_hands_memory_out_till_it_ends) {
  trace_room *room;
  cr_assert_eq(room_open(0, false, &room), PD_OK);
  cr_assert_eq(room->place.chunk_bytes, CHUNK_BYTES);
  unsigned char *first = room_take(room, 100), *second = room_take(room, 1);
  cr_assert_not_null(first);
  cr_assert_eq((uintptr_t)first % 64, 0);
  cr_assert_eq(second - first, 128);
  uint64_t taken = 0;
  while (room_take(room, 1 << 20)) taken++;
  cr_assert_eq(taken, 63, "64 MiB less what lies at its begin");
  cr_assert_null(room_take(room, UINT64_MAX));
  cr_assert_not_null(room_take(room, 1), "a smaller piece still fits");
  room_close(room);
}
