#include "base/shell_word.h"
#include "pd_test.h"

#include <string.h>

static void expect(const char *word, const char *text) {
  char out[64];
  char *end = shell_word_put(out, word);
  cr_assert_str_eq(out, text);
  cr_assert_eq(end, out + strlen(text));
  cr_assert_leq(strlen(text) + 1, shell_word_room(word));
}

PD_TEST(shell_word, plain_words_stay) {
  expect("train.py", "train.py");
  expect("--out=a/b-c_d:1,2+3@4%", "--out=a/b-c_d:1,2+3@4%");
}

PD_TEST(shell_word, unusual_ones_are_quoted) {
  expect("", "''");
  expect("a b", "'a b'");
  expect("$HOME", "'$HOME'");
  expect("~", "'~'");
  expect("it's", "'it'\\''s'");
  expect("''", "''\\'''\\'''");
  expect("a\nb", "'a\nb'");
  expect("\xc3\xa4", "'\xc3\xa4'");
}

PD_TEST(shell_word, one_that_has_no_room_is_returned_as_it_is) {
  static char out[SHELL_WORD_BYTES], word[SHELL_WORD_BYTES];
  cr_assert_str_eq(shell_word_in(out, "a b"), "'a b'");
  memset(word, ' ', sizeof word - 3);
  cr_assert_eq(shell_word_in(out, word), out);
  memset(word, ' ', sizeof word - 2);
  cr_assert_eq(shell_word_in(out, word), word);
}
