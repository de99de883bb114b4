/* Keys and values on the command line of pdhost ab and pdhost sweep. */
#include "config/assignments.h"

#include "pd_test.h"

#include <string.h>

static error err;

static void expect_axis_fails(const char *text, const char *message) {
  axis got;
  error_clear(&err);
  cr_assert_not(axis_parse(text, &got, &err), "%s", text);
  cr_assert_eq(err.exit_code, CODE_USAGE);
  cr_assert(strstr(err.text, message), "%s: %s", text, err.text);
}

PD_TEST(assignments, an_axis_is_a_key_and_its_values) {
  axis got;
  error_clear(&err);
  cr_assert(axis_parse("sink.json.output_json=a=b,c\\,d,e\\f,,", &got, &err) == false, "an empty value");
  error_clear(&err);
  cr_assert(axis_parse("sink.json.output_json=a=b,c\\,d,e\\f", &got, &err));
  cr_assert_str_eq(got.section, "sink.json");
  cr_assert_str_eq(got.key, "output_json");
  cr_assert_eq(got.count, 3);
  cr_assert_str_eq(got.values[0], "a=b");
  cr_assert_str_eq(got.values[1], "c,d");
  cr_assert_str_eq(got.values[2], "e\\f");
  axis_free(&got);
  cr_assert(axis_parse(" a . b = 1, 2 3", &got, &err));
  cr_assert_str_eq(got.section, "a");
  cr_assert_str_eq(got.key, "b");
  cr_assert_str_eq(got.values[0], "1");
  cr_assert_str_eq(got.values[1], "2 3", "blanks are none of a value's ends");
  axis_free(&got);
}

PD_TEST(assignments, mistakes_of_an_axis) {
  expect_axis_fails("", "write section.key=");
  expect_axis_fails("data.num_workers", "write section.key=");
  expect_axis_fails(".key=1", "write section.key=");
  expect_axis_fails("data.=1", "write section.key=");
  expect_axis_fails("key=1.5", "write section.key=");
  expect_axis_fails("a.b=", "a value is empty");
  expect_axis_fails("a.b=,1", "a value is empty");
  expect_axis_fails("a.b=1,2,1", "1 is given twice");
  expect_axis_fails(" .b=1", "write section.key=");
  expect_axis_fails("a. =1", "write section.key=");
  expect_axis_fails("a.b=1, ", "a value is empty");
}

PD_TEST(assignments, a_side_is_some_keys_with_a_value_each) {
  assignments got;
  error_clear(&err);
  cr_assert(assignments_parse("  train.fused=true   sink.table.views=a,b ", "B:", &got, &err));
  cr_assert_eq(got.count, 2);
  cr_assert_str_eq(got.all[0].section, "train");
  cr_assert_str_eq(got.all[0].value, "true");
  cr_assert_str_eq(got.all[1].section, "sink.table");
  cr_assert_str_eq(got.all[1].key, "views");
  cr_assert_str_eq(got.all[1].value, "a,b");
  assignments_free(&got);
  cr_assert(assignments_parse("", "A:", &got, &err));
  cr_assert_eq(got.count, 0);
  assignments_free(&got);
  cr_assert_not(assignments_parse("train.fused=true fused", "A:", &got, &err));
  cr_assert(strstr(err.text, "A: fused: write section.key=value"), "%s", err.text);
}
