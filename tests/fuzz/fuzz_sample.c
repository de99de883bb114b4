/* The grammars of --sample and --require over any text: values within their bounds, or one complaint. */
#include "fuzz.h"

#include "sweep/draws.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

static void draw_from(const distribution *from) {
  uint64_t state = 1;
  for (int i = 0; i < 8; i++) {
    char number[DISTRIBUTION_NUMBER_BYTES];
    double value;
    const char *text = distribution_draw(from, &state, number);
    if (from->kind == DISTRIBUTION_CHOICE) {
      uint32_t at = 0;
      while (at < from->count && from->values[at] != text) at++;
      check(at < from->count && text[0]);
      continue;
    }
    check(distribution_number(text, &value) && value >= from->low && value <= from->high);
    check(!from->whole || (!(value < rint(value)) && !(value > rint(value))));
  }
}

static void check_distribution(const distribution *found) {
  double sum = 0;
  check(found->section[0] && found->key[0] && !strchr(found->key, '.') && found->text[0]);
  for (uint32_t i = 0; i < found->count; i++) {
    sum += found->weights[i];
    for (uint32_t k = 0; k < i; k++) check(strcmp(found->values[i], found->values[k]) != 0);
  }
  check(found->kind == DISTRIBUTION_CHOICE ? sum > 0.999 && sum < 1.001 : found->low < found->high);
  draw_from(found);
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t bytes) {
  static error err;
  char *text = fuzz_text(data, bytes);
  if (!text) return 0;
  distribution found;
  error_clear(&err);
  const bool is_one = distribution_parse(text, &found, &err);
  check(is_one == (err.count == 0) && err.count <= 1);
  if (is_one) {
    check_distribution(&found);
    if (distribution_set_whole(&found, false, &err)) draw_from(&found);
    distribution_free(&found);
  }
  requirement need;
  error_clear(&err);
  const bool is_need = requirement_parse(text, &need, &err);
  check(is_need == (err.count == 0) && err.count <= 1);
  if (is_need) {
    const double values[REQUIREMENT_FACTORS] = {1, 2, 3, 4, 5, 6, 7, 8};
    check(need.left_count && need.left_count < need.count);
    (void)requirement_met(&need, values);
    requirement_free(&need);
  }
  free(text);
  return 0;
}
