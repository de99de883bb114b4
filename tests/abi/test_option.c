#include "abi/option.h"
#include "pd_test.h"

#include <string.h>

static option_value value;
static char why[1024];

static bool parse(const pd_option *row, const char *text) { return option_parse(row, text, &value, why, sizeof why); }

#define REFUSES(row, text, message)                                                                                    \
  do {                                                                                                                 \
    cr_assert_not(parse(row, text), "%s was taken", text);                                                             \
    cr_assert_str_eq(why, message, "%s: got: %s", text, why);                                                          \
  } while (0)
#define TAKES_INTEGER(row, text, expected)                                                                             \
  do {                                                                                                                 \
    cr_assert(parse(row, text), "%s: %s", text, why);                                                                  \
    cr_assert_eq(value.integer, (expected), "%s gave %lld", text, (long long)value.integer);                           \
  } while (0)
#define TAKES_REAL(row, text, expected)                                                                                \
  do {                                                                                                                 \
    cr_assert(parse(row, text), "%s: %s", text, why);                                                                  \
    cr_assert_float_eq(value.real, (expected), 1e-15, "%s gave %g", text, value.real);                                 \
  } while (0)

static const pd_option count = {.key = "count", .type = PD_INT, .min = "0", .max = "256", .unit = "samples"};
static const pd_option whole = {.key = "whole", .type = PD_INT};
static const pd_option period = {.key = "period", .type = PD_INT, .unit = "ms"};
static const pd_option real = {.key = "real", .type = PD_FLOAT};
static const pd_option stall = {.key = "stall", .type = PD_FLOAT, .unit = "ms"};
static const pd_option bytes = {.key = "bytes", .type = PD_BYTES, .unit = "bytes"};
static const pd_option mebibytes = {.key = "mebibytes", .type = PD_BYTES, .unit = "MiB"};
static const pd_option duration = {.key = "duration", .type = PD_DURATION, .unit = "ms", .max = "60s"};
static const pd_option truth = {.key = "truth", .type = PD_BOOL};
static const char *const levels[] = {"low", "medium", "high", NULL};
static const pd_option level = {.key = "level", .type = PD_CHOICE, .choices = levels};

PD_TEST(option, integers) {
  TAKES_INTEGER(&whole, "0", 0);
  TAKES_INTEGER(&whole, "-7", -7);
  TAKES_INTEGER(&whole, "1_000", 1000);
  TAKES_INTEGER(&whole, "007", 7);
  TAKES_INTEGER(&whole, "9223372036854775807", INT64_MAX);
  REFUSES(&whole, "5.0", "not a whole number");
}

PD_TEST(option, what_is_no_integer_is_refused_whole) {
  REFUSES(&whole, "", "no value; write a number");
  REFUSES(&whole, "x", "not a number");
  REFUSES(&whole, "+5", "not a number");
  REFUSES(&whole, " 5", "not a number");
  REFUSES(&whole, "nan", "not a number");
  REFUSES(&whole, "inf", "not a number");
  REFUSES(&whole, "--5", "not a number");
  REFUSES(&count, "abc", "not a number; allowed: 0 .. 256 samples");
  REFUSES(&count, "", "no value; write a number; allowed: 0 .. 256 samples");
  REFUSES(&whole, "0x10", "\"x10\" after the number 0; write plain digits, as in 1_000_000");
  REFUSES(&whole, "1e6", "\"e6\" after the number 1; write plain digits, as in 1_000_000");
  REFUSES(&whole, "1__0", "\"__0\" after the number 1");
  REFUSES(&whole, "5_", "\"_\" after the number 5");
  REFUSES(&whole, "5,5", "\",5\" after the number 5");
  REFUSES(&whole, "9223372036854775808", "too large; allowed: no limit .. no limit");
  REFUSES(&whole, "99999999999999999999999999999999999999999999", "too large; allowed: no limit .. no limit");
}

PD_TEST(option, a_count_has_no_unit) {
  REFUSES(&count, "64k", "\"k\" is not a unit of a count; write 64 or 64000");
  REFUSES(&count, "2M", "\"M\" is not a unit of a count; write 2 or 2000000");
  REFUSES(&count, "64ms", "\"ms\" is not a unit of a count; write 64");
}

PD_TEST(option, bounds_are_inclusive_and_told) {
  TAKES_INTEGER(&count, "0", 0);
  TAKES_INTEGER(&count, "256", 256);
  REFUSES(&count, "257", "out of range; allowed: 0 .. 256 samples");
  REFUSES(&count, "-1", "out of range; allowed: 0 .. 256 samples");
  REFUSES(&count, "999999999999999999999", "too large; allowed: 0 .. 256 samples");
  const pd_option open = {.key = "open", .type = PD_INT, .min = "1"};
  REFUSES(&open, "0", "out of range; allowed: 1 .. no limit");
}

PD_TEST(option, an_integer_in_a_unit_of_time_takes_the_others) {
  TAKES_INTEGER(&period, "5", 5);
  TAKES_INTEGER(&period, "2s", 2000);
  TAKES_INTEGER(&period, "3000us", 3);
  TAKES_INTEGER(&period, "0.5s", 500);
  REFUSES(&period, "2500us", "not a whole number of ms");
  REFUSES(&period, "2min", "\"min\" is not a unit of time; allowed: ns, us, ms, s");
}

PD_TEST(option, floats) {
  TAKES_REAL(&real, "1e-3", 1e-3);
  TAKES_REAL(&real, "-0.5", -0.5);
  TAKES_REAL(&real, "1_000.25", 1000.25);
  TAKES_REAL(&real, "2E+2", 200);
  REFUSES(&real, "nan", "not a number");
  REFUSES(&real, "inf", "not a number");
  REFUSES(&real, "1e999", "too large; allowed: no limit .. no limit");
  REFUSES(&real, "1e-3x", "\"x\" is not a unit of a number; write 1e-3");
  REFUSES(&real, ".5", "not a number");
  REFUSES(&real, "5.", "\".\" after the number 5");
  REFUSES(&real, "0x1p3", "\"x1p3\" after the number 0; write plain digits, as in 1_000_000");
}

PD_TEST(option, a_float_in_a_unit_of_time_takes_the_others) {
  TAKES_REAL(&stall, "8", 8);
  TAKES_REAL(&stall, "8ms", 8);
  TAKES_REAL(&stall, "5us", 0.005);
  TAKES_REAL(&stall, "2s", 2000);
}

PD_TEST(option, bytes) {
  TAKES_INTEGER(&bytes, "512", 512);
  TAKES_INTEGER(&bytes, "512B", 512);
  TAKES_INTEGER(&bytes, "64KiB", 65536);
  TAKES_INTEGER(&bytes, "64 KiB", 65536);
  TAKES_INTEGER(&bytes, "1.5GiB", INT64_C(1610612736));
  TAKES_INTEGER(&mebibytes, "2", 2 << 20);
  REFUSES(&bytes, "64kB", "\"kB\" is not a unit of bytes; allowed: B, KiB, MiB, GiB");
  REFUSES(&bytes, "0.3B", "not a whole number of its smallest unit");
  REFUSES(&bytes, "9999999999GiB", "too large; allowed: no limit .. no limit");
}

PD_TEST(option, durations) {
  TAKES_INTEGER(&duration, "2", 2000000);
  TAKES_INTEGER(&duration, "2ms", 2000000);
  TAKES_INTEGER(&duration, "1.5us", 1500);
  TAKES_INTEGER(&duration, "0.000000001s", 1);
  TAKES_INTEGER(&duration, "60s", INT64_C(60000000000));
  REFUSES(&duration, "61s", "out of range; allowed: no limit .. 60s");
  REFUSES(&duration, "0.0000000001s", "more digits after the point than its unit can hold");
}

PD_TEST(option, a_range_names_each_unit_once) {
  const pd_option from_zero = {.type = PD_DURATION, .min = "0", .max = "60s", .unit = "ms"};
  REFUSES(&from_zero, "61s", "out of range; allowed: 0 .. 60s");
  const pd_option mixed = {.type = PD_DURATION, .min = "1", .max = "60s", .unit = "ms"};
  REFUSES(&mixed, "0", "out of range; allowed: 1ms .. 60s");
  const pd_option both = {.type = PD_BYTES, .min = "1KiB", .max = "2GiB", .unit = "bytes"};
  REFUSES(&both, "1", "out of range; allowed: 1KiB .. 2GiB");
  const pd_option bare = {.type = PD_FLOAT, .min = "0", .max = "1e7", .unit = "us"};
  REFUSES(&bare, "11s", "out of range; allowed: 0 .. 1e7 us");
}

PD_TEST(option, truths) {
  static const char *const yes[] = {"true", "yes", "on", "1", "True"}, *const no[] = {"false", "no", "off", "0",
                                                                                      "FALSE"};
  for (int i = 0; i < 5; i++) {
    cr_assert(parse(&truth, yes[i]) && value.truth, "%s", yes[i]);
    cr_assert(parse(&truth, no[i]) && !value.truth, "%s", no[i]);
  }
  REFUSES(&truth, "maybe", "not a boolean; write true or false (also yes, no, on, off, 1, 0)");
  REFUSES(&truth, "", "not a boolean; write true or false (also yes, no, on, off, 1, 0)");
  REFUSES(&truth, "11", "not a boolean; write true or false (also yes, no, on, off, 1, 0)");
}

PD_TEST(option, choices_give_the_rows_own_text) {
  cr_assert(parse(&level, "medium"));
  cr_assert_eq(value.text, levels[1]);
  REFUSES(&level, "hihg", "no such choice; allowed: low, medium, high; did you mean high?");
  REFUSES(&level, "", "no such choice; allowed: low, medium, high");
  REFUSES(&level, "LOW", "no such choice; allowed: low, medium, high");
}

PD_TEST(option, words_of_a_core_integer) {
  static const char *const words[] = {"all", NULL};
  const pd_option active = {.key = "active", .type = PD_INT, .min = "1", .max = "9", .choices = words};
  TAKES_INTEGER(&active, "all", -1);
  TAKES_INTEGER(&active, "9", 9);
  REFUSES(&active, "0", "out of range; allowed: 1 .. 9 or all");
  REFUSES(&active, "alll", "no such choice; allowed: 1 .. 9 or all");
  const pd_option steps = {.key = "steps", .type = PD_INT, .min = "1", .max = "9", .unit = "steps", .choices = words};
  REFUSES(&steps, "0", "out of range; allowed: 1 .. 9 steps or all");
}

typedef struct all_types {
  bool flag;
  int64_t whole;
  double real;
  const char *text;
} all_types;

PD_TEST(option, store_fills_the_field_and_nothing_else) {
  static const pd_option rows[] = {PD_OPTION(all_types, flag, .def = "true"), PD_OPTION(all_types, whole, .def = "-3"),
                                   PD_OPTION(all_types, real, .def = "0.25"), PD_OPTION(all_types, text, .def = "abc")};
  all_types got;
  memset(&got, 0, sizeof got);
  for (int i = 0; i < 4; i++) {
    cr_assert(parse(&rows[i], rows[i].def));
    option_store(&rows[i], &value, &got);
  }
  cr_assert(got.flag);
  cr_assert_eq(got.whole, -3);
  cr_assert_float_eq(got.real, 0.25, 0);
  cr_assert_str_eq(got.text, "abc");
}

#define ROW_REFUSED(message, ...)                                                                                      \
  do {                                                                                                                 \
    const pd_option row_ = {__VA_ARGS__};                                                                              \
    cr_assert_not(option_check_row(&row_, 64, why, sizeof why), "%s was taken", message);                              \
    cr_assert_str_eq(why, message, "got: %s", why);                                                                    \
  } while (0)

PD_TEST(option, rows_that_are_not_sound) {
  const pd_option good = {.key = "k", .help = "h", .type = PD_INT, .def = "1", .min = "0", .max = "2", .offset = 8};
  cr_assert(option_check_row(&good, 64, why, sizeof why), "%s", why);
  ROW_REFUSED("its key is not of the form [a-z][a-z0-9_]*", .key = "Key", .help = "h", .type = PD_INT);
  ROW_REFUSED("its key is not of the form [a-z][a-z0-9_]*", .key = NULL, .help = "h", .type = PD_INT);
  ROW_REFUSED("type 9 is none of 1 .. 8", .key = "k", .help = "h", .type = 9);
  ROW_REFUSED("it has no help text", .key = "k", .help = "", .type = PD_INT);
  ROW_REFUSED("offset 64 does not fit a int in a struct of 64 bytes", .key = "k", .help = "h", .type = PD_INT,
              .offset = 64);
  ROW_REFUSED("offset 4 does not fit a float in a struct of 64 bytes", .key = "k", .help = "h", .type = PD_FLOAT,
              .offset = 4);
  ROW_REFUSED("it has no choices", .key = "k", .help = "h", .type = PD_CHOICE);
  ROW_REFUSED("bounds belong to a number", .key = "k", .help = "h", .type = PD_BOOL, .min = "0");
  ROW_REFUSED("unit \"min\" is none of a duration", .key = "k", .help = "h", .type = PD_DURATION, .unit = "min");
  ROW_REFUSED("def = \"5\": out of range; allowed: 0 .. 2", .key = "k", .help = "h", .type = PD_INT, .def = "5",
              .min = "0", .max = "2");
  ROW_REFUSED("min = \"x\": not a number", .key = "k", .help = "h", .type = PD_INT, .def = "5", .min = "x");
  ROW_REFUSED("min = \"3\" is above max = \"2\"", .key = "k", .help = "h", .type = PD_INT, .min = "3", .max = "2");
  ROW_REFUSED("def = \"purple\": no such choice; allowed: low, medium, high", .key = "k", .help = "h",
              .type = PD_CHOICE, .choices = levels, .def = "purple");
}
