/* What many windows launched: the first ones apart, the others together, in a size that does not grow with them. */
#include "pd_test.h"

#include "fake_trace.h"
#include "run/manifest/launched_windows.h"

#include <string.h>

static void add(launched_windows *self, uint32_t window, const char *kernel) {
  fake_trace *fake = fake_trace_open();
  fake_step(fake, 0, 0, 1000);
  fake_range(fake, PD_RANGE_OP, "op", 0, 100, 200);
  fake_call(fake, PD_API_LAUNCH, "launch", 0, 110, 120, 1);
  fake_kernel(fake, kernel, fake_stream(fake, 0, 1, 7), 130, 190, 1);
  pd_trace *trace = fake_trace_finish(fake);
  cr_assert_not_null(trace);
  trace->window = window;
  cr_assert(launched_windows_add(self, trace));
  fake_trace_close(fake);
}

static json_t *json_of(uint32_t windows, uint32_t other) {
  launched_windows self = {0};
  for (uint32_t i = 0; i < windows; i++) add(&self, i, i == other ? "other" : "gemm");
  json_t *made = launched_windows_json(&self);
  cr_assert_not_null(made);
  launched_windows_free(&self);
  return made;
}

static json_int_t number(const json_t *of, const char *key) { return json_integer_value(json_object_get(of, key)); }

PD_TEST(launched_windows, the_first_ones_stand_apart) {
  json_t *made = json_of(LAUNCHED_WINDOWS_APART, PD_NONE);
  cr_assert_eq(json_array_size(made), LAUNCHED_WINDOWS_APART);
  const json_t *last = json_array_get(made, LAUNCHED_WINDOWS_APART - 1);
  cr_assert_eq(number(last, "window"), LAUNCHED_WINDOWS_APART - 1);
  cr_assert_null(json_object_get(last, "windows"));
  cr_assert_eq(number(json_object_get(last, "names"), "gemm"), 1);
  json_decref(made);
  made = json_of(0, PD_NONE);
  cr_assert_eq(json_array_size(made), 0);
  json_decref(made);
}

PD_TEST(launched_windows, the_others_stand_together) {
  enum { MORE = 40 };
  json_t *made = json_of(LAUNCHED_WINDOWS_APART + MORE, PD_NONE);
  cr_assert_eq(json_array_size(made), LAUNCHED_WINDOWS_APART + 1);
  const json_t *others = json_array_get(made, LAUNCHED_WINDOWS_APART);
  cr_assert_eq(number(others, "window"), LAUNCHED_WINDOWS_APART);
  cr_assert_eq(number(others, "windows"), MORE);
  cr_assert_eq(number(others, "steps"), MORE);
  cr_assert_eq(number(others, "launches"), MORE);
  cr_assert_eq(number(json_object_get(others, "names"), "gemm"), MORE);
  cr_assert_eq(strlen(json_string_value(json_object_get(others, "sha256"))), SHA256_TEXT_BYTES - 1);
  json_decref(made);
}

PD_TEST(launched_windows, one_of_the_others_that_differs_changes_their_hash) {
  const uint32_t count = LAUNCHED_WINDOWS_APART + 10, places[] = {PD_NONE, count - 2, count - 3, PD_NONE};
  char hashes[4][SHA256_TEXT_BYTES];
  for (int i = 0; i < 4; i++) {
    json_t *made = json_of(count, places[i]);
    (void)snprintf(hashes[i], sizeof hashes[i], "%s",
                   json_string_value(json_object_get(json_array_get(made, LAUNCHED_WINDOWS_APART), "sha256")));
    json_decref(made);
  }
  cr_assert_str_neq(hashes[0], hashes[1]);
  cr_assert_str_neq(hashes[1], hashes[2], "their order counts");
  cr_assert_str_eq(hashes[0], hashes[3]);
}
