/* The grammar of --vary and of the sides of pdhost ab over any text: a key with its values, or a complaint. */
#include "fuzz.h"

#include "config/assignments.h"

#include <stdlib.h>
#include <string.h>

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t bytes) {
  static error err;
  char *text = fuzz_text(data, bytes);
  if (!text) return 0;
  axis found;
  error_clear(&err);
  const bool is_axis = axis_parse(text, &found, &err);
  check(is_axis == (err.count == 0));
  if (is_axis) {
    check(found.section[0] && found.key[0] && !strchr(found.key, '.') && found.count > 0);
    for (uint32_t i = 0; i < found.count; i++)
      for (uint32_t k = 0; k < i; k++) check(found.values[i][0] && strcmp(found.values[i], found.values[k]) != 0);
    axis_free(&found);
  }
  assignments side;
  error_clear(&err);
  const bool is_side = assignments_parse(text, "A:", &side, &err);
  check(is_side == (err.count == 0));
  for (uint32_t i = 0; is_side && i < side.count; i++) check(side.all[i].section[0] && side.all[i].key[0]);
  if (is_side) assignments_free(&side);
  free(text);
  return 0;
}
