#include "base/json_text.h"
#include "pd_test.h"

#include <math.h>
#include <stdlib.h>

/* Frees `value`, and the text before. */
static const char *written(json_t *value, int depth, int digits) {
  static char *text;
  size_t bytes = 0;
  free(text);
  text = NULL;
  FILE *out = open_memstream(&text, &bytes);
  cr_assert_not_null(out);
  cr_assert(json_text_write(value, depth, digits, out));
  cr_assert_eq(fclose(out), 0);
  return text;
}

PD_TEST(json_text, lines_down_to_a_depth) {
  json_t *value = json_pack("{s:[{s:i, s:[i, i]}, {}], s:s}", "rows", "a", 1, "b", 2, 3, "text", "x\"\n");
  cr_assert_str_eq(written(json_incref(value), 0, JSON_TEXT_ROUNDED),
                   "{\"rows\": [{\"a\": 1, \"b\": [2, 3]}, {}], \"text\": \"x\\\"\\n\"}\n");
  cr_assert_str_eq(written(value, 2, JSON_TEXT_ROUNDED),
                   "{\n \"rows\": [\n  {\"a\": 1, \"b\": [2, 3]},\n  {}\n ],\n \"text\": \"x\\\"\\n\"\n}\n");
}

PD_TEST(json_text, numbers_have_the_digits_that_they_were_given) {
  cr_assert_str_eq(written(json_text_number(0.12345, 3), 0, JSON_TEXT_ROUNDED), "0.123\n");
  cr_assert_str_eq(written(json_text_number(1e300, 3), 0, JSON_TEXT_ROUNDED), "1e300\n");
  cr_assert_str_eq(written(json_text_number(NAN, 3), 0, JSON_TEXT_ROUNDED), "null\n");
  cr_assert_str_eq(written(json_text_number(INFINITY, 3), 0, JSON_TEXT_ROUNDED), "null\n");
  cr_assert_str_eq(written(json_real(0.1), 0, JSON_TEXT_EXACT), "0.10000000000000001\n");
}

PD_TEST(json_text, texts_may_be_any_bytes) {
  cr_assert_str_eq(written(json_text_of(NULL), 0, JSON_TEXT_ROUNDED), "null\n");
  cr_assert_str_eq(written(json_text_of("größe"), 0, JSON_TEXT_ROUNDED), "\"größe\"\n");
  cr_assert_str_eq(written(json_text_of("a\xFFz"), 0, JSON_TEXT_ROUNDED), "\"a?z\"\n");
}

PD_TEST(json_text, no_memory_is_a_failure) {
  cr_assert_not(json_text_write(NULL, 0, JSON_TEXT_ROUNDED, stdout));
  cr_assert_not(json_text_add(NULL, "key", NULL));
  cr_assert_not(json_text_append(NULL, NULL));
}
