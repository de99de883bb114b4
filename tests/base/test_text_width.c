#include "base/text_width.h"
#include "base/progress_text.h"
#include "pd_test.h"

PD_TEST(text_width, columns_are_counted_not_bytes) {
  cr_assert_eq(text_width("batch"), 5);
  cr_assert_eq(text_width("größe"), 5);
  cr_assert_eq(text_width("批大小"), 6, "East Asian characters are two columns wide");
  cr_assert_eq(text_width("e\xCC\x81"), 1, "a combining accent takes none");
  cr_assert_eq(text_width_of("批大小", 3), 2);
  cr_assert_eq(text_width("\xFF\xFE"), 2, "a stray byte takes one");
}

PD_TEST(text_width, a_line_is_cut_between_characters) {
  cr_assert_eq(progress_fitting("批大小", 5), 6);
  cr_assert_eq(progress_fitting("批大小", 1), 0);
  cr_assert_eq(progress_fitting("abc", 0), 0);
  cr_assert_eq(progress_fitting("abc", -1), 0);
}
