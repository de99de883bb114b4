#include "base/visible.h"
#include "pd_test.h"

#include <string.h>

static void expect(const char *from, size_t room, const char *shown) {
  char to[64];
  memset(to, 'X', sizeof to);
  cr_assert_eq(visible_copy(to, room, from), strlen(shown), "%s", shown);
  cr_assert_str_eq(to, shown);
  cr_assert_lt(strlen(to), room);
}

PD_TEST(visible, control_characters_become_digits) {
  expect("a\033[2J\n", 64, "a\\x1b[2J\\x0a");
  expect("\xc2\x9b"
         "31m",
         64, "\\xc2\\x9b31m");
  expect("größe", 64, "größe");
  cr_assert(visible_is("größe") && !visible_is("\t") && !visible_is("\xc2\x9b"));
}

PD_TEST(visible, what_has_no_room_is_cut_between_characters) {
  expect("abcdefgh", 9, "abcdefgh");
  expect("abcdefghi", 9, "abcde...");
  expect("ééééé", 9, "éé...");
  expect("批大小", 9, "批...");
  expect("abc\xc2\x9b", 9, "abc...");
  expect("é", 2, "");
  expect("abc", 1, "");
}
