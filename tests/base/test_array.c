#include "pd_test.h"

#include <pdhost/array.h>

PD_TEST(array, grows_and_keeps_its_rows) {
  uint64_t *rows = NULL;
  uint32_t room = 0;
  for (uint64_t i = 0; i < 1000; i++) {
    cr_assert(PD_ARRAY_FIT(rows, room, i + 1));
    rows[i] = i;
  }
  for (uint64_t i = 0; i < 1000; i++) cr_assert_eq(rows[i], i);
  cr_assert_eq(room, 1024);
  free(rows);
}

PD_TEST(array, has_room_for_many_at_once) {
  char *text = NULL;
  size_t room = 0;
  cr_assert(PD_ARRAY_FIT(text, room, 5000));
  cr_assert_eq(room, 5000);
  cr_assert(PD_ARRAY_FIT(text, room, 5001));
  cr_assert_eq(room, 10000);
  free(text);
}

PD_TEST(array, new_rows_are_zero_where_asked) {
  uint32_t *rows = NULL;
  uint64_t room = 0;
  cr_assert(PD_ARRAY_FIT_ZERO(rows, room, 1));
  const uint64_t before = room;
  for (uint64_t i = 0; i < before; i++) cr_assert_eq(rows[i], 0);
  memset(rows, 0xFF, before * sizeof *rows);
  cr_assert(PD_ARRAY_FIT_ZERO(rows, room, before + 1));
  cr_assert_eq(rows[before - 1], UINT32_MAX);
  for (uint64_t i = before; i < room; i++) cr_assert_eq(rows[i], 0);
  free(rows);
}

PD_TEST(array, refuses_what_cannot_be_and_changes_nothing) {
  uint64_t *rows = NULL;
  uint32_t room = 0;
  uint64_t wide = 0;
  cr_assert(PD_ARRAY_FIT(rows, room, 3));
  const uint64_t *const before = rows;
  const uint32_t held = room;
  uint64_t many = UINT32_MAX;
  many++;
  cr_assert_not(PD_ARRAY_FIT(rows, room, many), "more rows than `room` can say");
  cr_assert_not(PD_ARRAY_FIT(rows, wide, SIZE_MAX / sizeof *rows + 1), "more bytes than memory can have");
  cr_assert_eq(rows, before);
  cr_assert_eq(room, held);
  cr_assert_eq(wide, 0);
  free(rows);
}
