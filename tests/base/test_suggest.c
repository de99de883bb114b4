#include "base/suggest.h"
#include "pd_test.h"

static const char *best_of(const char *wanted, const char *const *names) {
  suggest near = {.wanted = wanted};
  for (; *names; names++) suggest_offer(&near, *names);
  return suggest_best(&near);
}

static const char *const keys[] = {"batch_size", "num_workers", "pin_memory", "lr", NULL};

PD_TEST(suggest, edits_are_counted) {
  cr_assert_eq(suggest_distance("", ""), 0);
  cr_assert_eq(suggest_distance("", "abc"), 3);
  cr_assert_eq(suggest_distance("kitten", "sitting"), 3);
  cr_assert_eq(suggest_distance("num_workers", "num_workers"), 0);
}

PD_TEST(suggest, swapped_neighbours_are_one_edit) {
  cr_assert_eq(suggest_distance("iodpeth", "iodepth"), 1);
  cr_assert_eq(suggest_distance("ab", "ba"), 1);
}

PD_TEST(suggest, the_nearest_is_found) {
  cr_assert_str_eq(best_of("num_worker", keys), "num_workers");
  cr_assert_str_eq(best_of("bacth_size", keys), "batch_size");
  cr_assert_str_eq(best_of("rl", keys), "lr");
}

PD_TEST(suggest, a_typed_beginning_is_enough) { cr_assert_str_eq(best_of("pin", keys), "pin_memory"); }

PD_TEST(suggest, what_is_far_is_not_offered) {
  cr_assert_null(best_of("colour", keys));
  cr_assert_null(best_of("xx", keys));
  cr_assert_null(best_of("", keys));
}

PD_TEST(suggest, very_long_names_are_far_and_harmless) {
  char wanted[500];
  for (size_t i = 0; i < sizeof wanted - 1; i++) wanted[i] = 'a';
  wanted[sizeof wanted - 1] = '\0';
  cr_assert_null(best_of(wanted, keys));
}

PD_TEST(suggest, text_is_a_hint_or_empty) {
  char text[64];
  suggest near = {.wanted = "num_worker"};
  suggest_offer(&near, "num_workers");
  cr_assert_str_eq(suggest_text(&near, text, sizeof text), "; did you mean num_workers?");
  suggest far = {.wanted = "zzz"};
  suggest_offer(&far, "num_workers");
  cr_assert_str_eq(suggest_text(&far, text, sizeof text), "");
}
