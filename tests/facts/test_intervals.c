/* Interval algebra against a bitmap of 64 nanoseconds. */
#include "facts/intervals.h"
#include "pd_test.h"

static uint64_t state = 0x243F6A8885A308D3u;
static uint64_t draw(void) {
  state ^= state << 13;
  state ^= state >> 7;
  return state ^= state << 17;
}

static uint64_t bits_between(int64_t start, int64_t end) {
  uint64_t bits = 0;
  for (int64_t i = start; i < end; i++) bits |= UINT64_C(1) << i;
  return bits;
}

/* Up to 12 intervals, some empty or upside down, in any order; their bits. */
static uint64_t draw_list(intervals *list) {
  uint64_t bits = 0, count = draw() % 13;
  list->count = 0;
  for (uint64_t i = 0; i < count; i++) {
    int64_t start = (int64_t)(draw() % 60), end = start + (int64_t)(draw() % 9) - 1;
    if (end > 64) end = 64;
    cr_assert(intervals_add(list, start, end));
    bits |= bits_between(start, end);
  }
  cr_assert(intervals_merge(list));
  return bits;
}

static void check(const intervals *list, uint64_t want) {
  uint64_t bits = 0;
  for (size_t i = 0; i < list->count; i++) {
    cr_assert_lt(list->rows[i].start, list->rows[i].end, "an empty interval");
    if (i) cr_assert_lt(list->rows[i - 1].end, list->rows[i].start, "intervals that touch or are out of order");
    bits |= bits_between(list->rows[i].start, list->rows[i].end);
  }
  cr_assert_eq(bits, want);
  cr_assert_eq(intervals_length(list), __builtin_popcountll(want));
}

PD_TEST(intervals, equal_a_bitmap_on_200000_random_lists) {
  intervals a = {0}, b = {0}, out = {0};
  for (int i = 0; i < 200000; i++) {
    uint64_t p = draw_list(&a), q = draw_list(&b);
    check(&a, p);
    cr_assert(intervals_union(&a, &b, &out));
    check(&out, p | q);
    cr_assert(intervals_intersect(&a, &b, &out));
    check(&out, p & q);
    cr_assert(intervals_subtract(&a, &b, &out));
    check(&out, p & ~q);
    const int64_t from = (int64_t)(draw() % 60), to = from + (int64_t)(draw() % 4);
    cr_assert_eq(intervals_within(&a, from, to), __builtin_popcountll(p & bits_between(from, to)));
  }
  intervals_free(&a);
  intervals_free(&b);
  intervals_free(&out);
}

PD_TEST(intervals, merge_long_lists_of_many_sorted_runs) {
  for (int runs = 1; runs < 40; runs += 3) {
    intervals list = {0};
    for (int r = 0; r < runs; r++)
      for (int i = 0; i < 500; i++) cr_assert(intervals_add(&list, i * 1000 + r * 7, i * 1000 + r * 7 + 5));
    cr_assert(intervals_merge(&list));
    cr_assert_eq(intervals_length(&list), 500 * runs * 5);
    cr_assert_eq(list.count, (size_t)(500 * runs));
    intervals_free(&list);
  }
}

PD_TEST(intervals, touching_ones_become_one_and_empty_ones_vanish) {
  intervals list = {0};
  cr_assert(intervals_add(&list, 10, 20));
  cr_assert(intervals_add(&list, 5, 5));
  cr_assert(intervals_add(&list, 20, 30));
  cr_assert(intervals_add(&list, 9, 3));
  cr_assert(intervals_merge(&list));
  cr_assert_eq(list.count, 1);
  cr_assert_eq(list.rows[0].start, 10);
  cr_assert_eq(list.rows[0].end, 30);
  intervals_free(&list);
}

PD_TEST(intervals, the_length_within_a_window) {
  intervals list = {0};
  cr_assert(intervals_add(&list, 10, 20));
  cr_assert(intervals_add(&list, 30, 40));
  cr_assert_eq(intervals_within(&list, 0, 100), 20);
  cr_assert_eq(intervals_within(&list, 15, 33), 5 + 3);
  cr_assert_eq(intervals_within(&list, 20, 30), 0);
  cr_assert_eq(intervals_within(&list, 35, 12), 0);
  intervals_free(&list);
}
