/* Numbers, escaping, separators and sticky errors of the writer that the file sinks share. */
#include "pd_test.h"

#include "json_reader.h"
#include "json_writer.h"

#include <math.h>
#include <stdio.h>
#include <stdlib.h>

typedef struct text_memory {
  char *data;
  uint64_t bytes, fail_after;
  uint32_t writes;
} text_memory;

static pd_status to_memory(void *to, const void *data, uint64_t bytes) {
  text_memory *self = to;
  self->writes++;
  if (self->fail_after && self->bytes + bytes > self->fail_after) return PD_IO;
  self->data = realloc(self->data, self->bytes + bytes + 1);
  memcpy(self->data + self->bytes, data, bytes);
  self->bytes += bytes;
  self->data[self->bytes] = '\0';
  return PD_OK;
}

PD_TEST(json_writer, every_pair_of_digits_is_its_number) {
  for (int i = 0; i < 100; i++) {
    char expected[4];
    snprintf(expected, sizeof expected, "%02d", i);
    cr_assert_eq(memcmp(digits_pairs + 2 * i, expected, 2), 0, "pair %d is %.2s", i, digits_pairs + 2 * i);
  }
  cr_assert_eq(digits_pairs[200], '\0');
}

static void expect_u64(uint64_t value) {
  char text[DIGITS_ROOM], expected[DIGITS_ROOM];
  snprintf(expected, sizeof expected, "%llu", (unsigned long long)value);
  *digits_u64(text, value) = '\0';
  cr_assert_str_eq(text, expected);
}

PD_TEST(json_writer, integers_are_as_printf_writes_them) {
  for (uint64_t i = 0; i < 20000; i++) expect_u64(i);
  for (uint64_t power = 1;; power *= 10) {
    expect_u64(power - 1);
    expect_u64(power);
    expect_u64(power + 1);
    if (power > UINT64_MAX / 10) break;
  }
  expect_u64(UINT64_MAX);
  char text[DIGITS_ROOM];
  *digits_i64(text, INT64_MIN) = '\0';
  cr_assert_str_eq(text, "-9223372036854775808");
  *digits_i64(text, -1) = '\0';
  cr_assert_str_eq(text, "-1");
}

PD_TEST(json_writer, times_have_three_digits_and_no_sign) {
  static const struct {
    int64_t ns;
    const char *text;
  } cases[] = {{0, "0.000"},    {1, "0.001"},          {999, "0.999"},
               {1000, "1.000"}, {1234567, "1234.567"}, {4358527923858587, "4358527923858.587"},
               {-5, "0.000"},   {100010, "100.010"},   {INT64_MAX, "9223372036854775.807"}};
  for (size_t i = 0; i < sizeof cases / sizeof *cases; i++) {
    char text[DIGITS_ROOM];
    *digits_us(text, cases[i].ns) = '\0';
    cr_assert_str_eq(text, cases[i].text);
  }
}

PD_TEST(json_writer, fractions_have_six_digits) {
  static const struct {
    double value;
    const char *text;
  } cases[] = {{0, "0.000000"},
               {63.0 / 132.0, "0.477273"},
               {0.0000004, "0.000000"},
               {0.9999996, "1.000000"},
               {12345.5, "12345.500000"}};
  for (size_t i = 0; i < sizeof cases / sizeof *cases; i++) {
    char text[DIGITS_ROOM];
    *digits_fixed6(text, cases[i].value) = '\0';
    cr_assert_str_eq(text, cases[i].text);
  }
}

PD_TEST(digits, fixed_decimals_hold_every_float) {
  static const struct {
    double value;
    const char *text;
  } cases[] = {{0, "0"},
               {1, "1"},
               {0.25, "0.25"},
               {12.000000000001, "12.000000000001"},
               {1e-12, "0.000000000001"},
               {1e-13, "0"},
               {999999.5, "999999.5"},
               {1e6, "1000000"},
               {-0.5, "-0.5"},
               {NAN, "null"}};
  char text[DIGITS_ROOM];
  for (size_t i = 0; i < sizeof cases / sizeof *cases; i++) {
    *digits_fixed12(text, cases[i].value) = '\0';
    cr_assert_str_eq(text, cases[i].text);
  }
  for (uint32_t blocks = 1; blocks < 100000; blocks += 7) { /* as many per SM as a kernel may have */
    const float value = (float)blocks / 132.0f;
    *digits_fixed12(text, (double)value) = '\0';
    cr_assert_eq(strtof(text, NULL), value, "%s", text);
  }
}

PD_TEST(json_writer, doubles_read_back_as_themselves) {
  const double values[] = {0, 1, 0.1, 1.0 / 3, 6.02e23, 5e-324, 1.7976931348623157e308, -2.5, 0.0058};
  char text[DIGITS_ROOM];
  for (size_t i = 0; i < sizeof values / sizeof *values; i++) {
    *digits_double(text, values[i]) = '\0';
    cr_assert_eq(strtod(text, NULL), values[i], "%s", text);
  }
  *digits_double(text, 0.1) = '\0';
  cr_assert_str_eq(text, "0.1");
  *digits_double(text, (double)NAN) = '\0';
  cr_assert_str_eq(text, "null");
  *digits_double(text, -(double)INFINITY) = '\0';
  cr_assert_str_eq(text, "null");
}

static void expect_quoted(const char *text, size_t length, const char *expected) {
  char quoted[256];
  const size_t bytes = json_quote(quoted, text, length);
  cr_assert_eq(bytes, strlen(expected), "%.*s", (int)bytes, quoted);
  cr_assert_eq(memcmp(quoted, expected, bytes), 0, "%.*s", (int)bytes, quoted);
}

PD_TEST(json_writer, quotes_escape_what_json_forbids) {
  expect_quoted("", 0, "\"\"");
  expect_quoted("a\"b\\c/", 6, "\"a\\\"b\\\\c/\"");
  expect_quoted("\b\t\n\f\r", 5, "\"\\b\\t\\n\\f\\r\"");
  expect_quoted("\0\x01\x1f\x7f", 4, "\"\\u0000\\u0001\\u001f\x7f\"");
  expect_quoted("\xc3\xa4\xe2\x82\xac\xf0\x9f\x98\x80", 9, "\"\xc3\xa4\xe2\x82\xac\xf0\x9f\x98\x80\"");
}

PD_TEST(json_writer, bytes_that_are_no_text_become_the_replacement_character) {
#define BAD "\xef\xbf\xbd"
  expect_quoted("\xff", 1, "\"" BAD "\"");
  expect_quoted("a\xc3", 2, "\"a" BAD "\"");                       /* cut off */
  expect_quoted("\xc0\xaf", 2, "\"" BAD BAD "\"");                 /* overlong */
  expect_quoted("\xed\xa0\x80", 3, "\"" BAD BAD BAD "\"");         /* surrogate */
  expect_quoted("\xf4\x90\x80\x80", 4, "\"" BAD BAD BAD BAD "\""); /* beyond the last character */
  expect_quoted("\xe2\x28\xa1", 3, "\"" BAD "(" BAD "\"");
}

static json_node *finish(text_out *out, text_memory *memory) {
  cr_assert_eq(text_out_flush(out), PD_OK);
  json_node *node = json_reader_parse(memory->data, memory->bytes);
  text_out_close(out);
  return node;
}

PD_TEST(json_writer, a_document_reads_back) {
  text_memory memory = {0};
  text_out out;
  json_writer json;
  cr_assert_eq(text_out_open(&out, to_memory, &memory), PD_OK);
  json_open(&json, &out, 2);
  json_begin_object(&json);
  json_key(&json, "a \"key\"");
  json_begin_array(&json);
  json_u64(&json, 18446744073709551615u);
  json_i64(&json, -1);
  json_double(&json, (double)NAN);
  json_bool(&json, true);
  json_null(&json);
  json_begin_array(&json);
  json_u64(&json, 1);
  json_end_array(&json);
  json_end_array(&json);
  json_key(&json, "empty");
  json_begin_object(&json);
  json_end_object(&json);
  json_key(&json, "none");
  json_string(&json, NULL);
  json_end_object(&json);
  json_node *root = finish(&out, &memory);
  cr_assert_not_null(root, "%s", memory.data);
  const json_node *array = json_reader_get(root, "a \"key\"");
  cr_assert_eq(array->count, 6);
  cr_assert_str_eq(json_reader_at(array, 0)->text, "18446744073709551615");
  cr_assert_str_eq(json_reader_at(array, 1)->text, "-1");
  cr_assert_eq(json_reader_at(array, 2)->kind, JSON_NULL);
  cr_assert_eq(json_reader_at(array, 3)->kind, JSON_TRUE);
  cr_assert_eq(json_reader_at(array, 5)->count, 1);
  cr_assert_eq(json_reader_get(root, "empty")->count, 0);
  cr_assert_eq(json_reader_get(root, "none")->kind, JSON_NULL);
  json_reader_free(root);
  free(memory.data);
}

PD_TEST(json_writer, long_texts_pass_whole) {
  enum { LENGTH = 200000 };
  text_memory memory = {0};
  text_out out;
  json_writer json;
  char *text = malloc(LENGTH);
  cr_assert_not_null(text);
  for (int i = 0; i < LENGTH; i += 4) memcpy(text + i, "\xe2\x82\xac\x01", 4);
  cr_assert_eq(text_out_open(&out, to_memory, &memory), PD_OK);
  json_open(&json, &out, 0);
  json_begin_array(&json);
  for (int i = 0; i < 9; i++) json_string_of(&json, text + 4 * i, LENGTH - (size_t)(4 * i));
  json_end_array(&json);
  json_node *root = finish(&out, &memory);
  cr_assert_not_null(root);
  for (size_t i = 0; i < 9; i++) {
    const json_node *read = json_reader_at(root, i);
    cr_assert_eq(read->length, LENGTH - 4 * i);
    cr_assert_eq(memcmp(read->text, text + 4 * i, read->length), 0);
  }
  json_reader_free(root);
  free(memory.data);
  free(text);
}

static uint32_t next_random(uint32_t *state) { return (*state = *state * 1664525u + 1013904223u) >> 8; }

/* Any value: what it is follows from the random numbers alone. */
static void write_any(json_writer *json, uint32_t *random, int depth) {
  const uint32_t choice = next_random(random) % (depth > 6 ? 5 : 7);
  char text[8];
  for (size_t i = 0; i < sizeof text; i++) text[i] = (char)next_random(random);
  switch (choice) {
  case 0: json_u64(json, next_random(random)); break;
  case 1: json_double(json, next_random(random) / 7.0); break;
  case 2: json_string_of(json, text, sizeof text); break;
  case 3: json_bool(json, next_random(random) & 1); break;
  case 4: json_null(json); break;
  case 5:
    json_begin_array(json);
    for (uint32_t n = next_random(random) % 4; n; n--) write_any(json, random, depth + 1);
    json_end_array(json);
    break;
  default:
    json_begin_object(json);
    for (uint32_t n = next_random(random) % 4; n; n--) {
      snprintf(text, sizeof text, "k%u", n);
      json_key(json, text);
      write_any(json, random, depth + 1);
    }
    json_end_object(json);
  }
}

PD_TEST(json_writer, any_legal_sequence_parses) {
  for (uint32_t seed = 1; seed <= 3000; seed++) {
    text_memory memory = {0};
    text_out out;
    json_writer json;
    uint32_t random = seed;
    cr_assert_eq(text_out_open(&out, to_memory, &memory), PD_OK);
    json_open(&json, &out, seed % 4);
    write_any(&json, &random, 0);
    json_node *root = finish(&out, &memory);
    cr_assert_not_null(root, "seed %u: %s", seed, memory.data);
    json_reader_free(root);
    free(memory.data);
  }
}

PD_TEST(json_writer, a_failed_write_sticks) {
  text_memory memory = {.fail_after = 10};
  text_out out;
  cr_assert_eq(text_out_open(&out, to_memory, &memory), PD_OK);
  for (int i = 0; i < 5; i++) text_out_literal(&out, "0123456789abcdef");
  cr_assert_eq(text_out_flush(&out), PD_IO);
  cr_assert_eq(memory.writes, 1);
  memory.fail_after = 0;
  text_out_literal(&out, "more");
  cr_assert_eq(text_out_flush(&out), PD_IO);
  cr_assert_eq(memory.writes, 1, "nothing may be written after a failure");
  text_out_close(&out);
  free(memory.data);
}
