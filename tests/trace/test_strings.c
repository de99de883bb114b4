/* The string table: ids by content, valid UTF-8, growth, threads. */
#include "pd_test.h"
#include "trace/strings.h"

#include <pthread.h>
#include <stdio.h>
#include <string.h>

PD_TEST(strings, the_same_bytes_give_the_same_id) {
  string_table *table;
  char copy[] = "aten::conv2d";
  cr_assert_eq(strings_open(&table), PD_OK);
  uint32_t first = strings_intern(table, "aten::conv2d");
  uint32_t other = strings_intern(table, "aten::conv2");
  cr_assert_eq(strings_intern(table, copy), first);
  copy[0] = 'b'; /* the table keeps its own copy */
  cr_assert_eq(strings_intern(table, "aten::conv2d"), first);
  cr_assert_neq(strings_intern(table, copy), first);
  cr_assert_neq(other, first);
  cr_assert_str_eq(strings_get(table, first).text, "aten::conv2d");
  cr_assert_eq(strings_get(table, first).length, 12);
  cr_assert_eq(strings_count(table), 5); /* "", "(no memory)" and three */
  strings_close(table);
}

PD_TEST(strings, id_zero_is_never_given_to_a_text) {
  string_table *table;
  cr_assert_eq(strings_open(&table), PD_OK);
  uint32_t empty = strings_intern(table, "");
  cr_assert_neq(empty, 0);
  cr_assert_eq(strings_intern(table, NULL), empty);
  cr_assert_str_eq(strings_get(table, empty).text, "");
  cr_assert_str_eq(strings_get(table, 0).text, "");
  cr_assert_str_eq(strings_get(table, 12345).text, "");
  cr_assert_str_eq(strings_get(table, STRINGS_NO_MEMORY).text, "(no memory)");
  cr_assert_eq(strings_intern(table, "(no memory)"), STRINGS_NO_MEMORY);
  strings_close(table);
}

PD_TEST(strings, find_does_not_add) {
  string_table *table;
  cr_assert_eq(strings_open(&table), PD_OK);
  cr_assert_eq(strings_find(table, "later"), 0);
  uint32_t id = strings_intern(table, "later");
  cr_assert_eq(strings_find(table, "later"), id);
  strings_close(table);
}

#define BAD "\xEF\xBF\xBD"

PD_TEST(strings, bad_bytes_become_replacement_characters) {
  static const struct {
    const char *given, *kept;
  } cases[] = {
      {"plain", "plain"},
      {"\xC3\xA9", "\xC3\xA9"},                                 /* U+00E9 */
      {"\xE2\x82\xAC", "\xE2\x82\xAC"},                         /* U+20AC */
      {"\xF0\x9F\x98\x80", "\xF0\x9F\x98\x80"},                 /* U+1F600 */
      {"\xF4\x8F\xBF\xBF", "\xF4\x8F\xBF\xBF"},                 /* U+10FFFF, the last */
      {"\xED\x9F\xBF\xEE\x80\x80", "\xED\x9F\xBF\xEE\x80\x80"}, /* either side of the surrogates */
      {"a\x80z", "a" BAD "z"},                                  /* a continuation byte alone */
      {"\xC0\xAF", BAD BAD},                                    /* overlong */
      {"\xC1\xBF", BAD BAD},
      {"\xE0\x80\x80", BAD BAD BAD}, /* overlong, three bytes */
      {"\xE0\x9F\xBF", BAD BAD BAD},
      {"\xF0\x8F\xBF\xBF", BAD BAD BAD BAD}, /* overlong, four bytes */
      {"\xED\xA0\x80", BAD BAD BAD},         /* a surrogate */
      {"\xF4\x90\x80\x80", BAD BAD BAD BAD}, /* beyond U+10FFFF */
      {"\xF5\x80\x80\x80", BAD BAD BAD BAD},
      {"\xFE\xFF", BAD BAD},
      {"\xE2\x82", BAD}, /* cut off: one for the maximal part */
      {"\xF0\x9F\x98", BAD},
      {"\xE2\x82x", BAD "x"},
      {"\xF0\x9F\x98\xC3\xA9", BAD "\xC3\xA9"},
      {"\xC3", BAD},
      {"\xC3\xC3\xA9", BAD "\xC3\xA9"},
  };
  string_table *table;
  cr_assert_eq(strings_open(&table), PD_OK);
  for (size_t i = 0; i < sizeof cases / sizeof cases[0]; i++) {
    uint32_t id = strings_intern(table, cases[i].given);
    pd_string kept = strings_get(table, id);
    cr_assert_str_eq(kept.text, cases[i].kept, "case %zu", i);
    cr_assert_eq(kept.length, strlen(cases[i].kept), "case %zu", i);
    cr_assert_eq(strings_intern(table, cases[i].given), id, "case %zu", i);
    cr_assert_eq(strings_intern(table, cases[i].kept), id, "case %zu", i);
  }
  strings_close(table);
}

PD_TEST(strings, every_sequence_of_three_bytes_comes_out_valid_and_stays) {
  char out[16], again[16];
  for (unsigned a = 1; a < 256; a++)
    for (unsigned b = 0x7E; b < 0xC3; b++)
      for (unsigned c = 0x7E; c < 0xC3; c++) {
        char given[3] = {(char)a, (char)b, (char)c};
        size_t length = strings_make_valid(given, 3, NULL);
        cr_assert_leq(length, 9);
        cr_assert_eq(strings_make_valid(given, 3, out), length);
        cr_assert_eq(strings_make_valid(out, length, again), length);
        cr_assert_eq(memcmp(out, again, length), 0);
      }
}

PD_TEST(strings, ids_stay_while_the_table_grows) {
  enum { COUNT = 50000 };
  string_table *table;
  char text[64];
  static uint32_t ids[COUNT];
  cr_assert_eq(strings_open(&table), PD_OK);
  for (int i = 0; i < COUNT; i++) {
    snprintf(text, sizeof text, "void kernel_%d<float, %d>(float*)", i, i % 7);
    ids[i] = strings_intern(table, text);
    cr_assert_eq(ids[i], (uint32_t)i + 2);
  }
  for (int i = 0; i < COUNT; i++) {
    snprintf(text, sizeof text, "void kernel_%d<float, %d>(float*)", i, i % 7);
    cr_assert_eq(strings_find(table, text), ids[i]);
    cr_assert_str_eq(strings_get(table, ids[i]).text, text);
  }
  strings_close(table);
}

enum { THREADS = 4, TEXTS = 3000 };
typedef struct interner {
  string_table *table;
  pthread_t thread;
  uint32_t ids[TEXTS];
  int shift;
} interner;

static void *intern_all(void *given) {
  interner *self = given;
  for (int i = 0; i < TEXTS; i++) {
    char text[32];
    int which = (i + self->shift) % TEXTS;
    snprintf(text, sizeof text, "name %d", which);
    self->ids[which] = strings_intern(self->table, text);
  }
  return NULL;
}

PD_TEST(strings, threads_agree_on_the_ids) {
  static interner interners[THREADS];
  string_table *table;
  cr_assert_eq(strings_open(&table), PD_OK);
  for (int i = 0; i < THREADS; i++) {
    interners[i].table = table;
    interners[i].shift = i * 701;
    cr_assert_eq(pthread_create(&interners[i].thread, NULL, intern_all, &interners[i]), 0);
  }
  for (int i = 0; i < THREADS; i++) pthread_join(interners[i].thread, NULL);
  for (int i = 1; i < THREADS; i++)
    cr_assert_eq(memcmp(interners[i].ids, interners[0].ids, sizeof interners[0].ids), 0);
  cr_assert_eq(strings_count(table), TEXTS + 2);
  strings_close(table);
}
