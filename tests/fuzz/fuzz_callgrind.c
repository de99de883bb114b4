/* The reader of Callgrind's files over any bytes: refused with one line, or read; every function once, in order, and
 * nothing left of a profile without itself. */
#include "fuzz.h"

#include "measure/callgrind_file.h"

#include <string.h>

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t bytes) {
  callgrind_profile first, second;
  char why[256] = "";
  const pd_status status = callgrind_profile_parse((const char *)data, bytes, "x", &first, why, sizeof why);
  check((status == PD_OK) == (first.tool != NULL));
  check((status == PD_OK) == !why[0]);
  check(!strchr(why, '\n'));
  for (uint64_t i = 1; i < first.function_count; i++) {
    const pd_function_count *a = &first.functions[i - 1], *b = &first.functions[i];
    check(a->count >= b->count && b->count > 0);
    check(strcmp(a->name, b->name) != 0 || strcmp(a->object, b->object) != 0);
  }
  if (status == PD_OK) {
    check(callgrind_profile_parse((const char *)data, bytes, "x", &second, why, sizeof why) == PD_OK);
    callgrind_profile_take_off(&first, &second);
    check(first.function_count == 0);
    callgrind_profile_clear(&second);
  }
  callgrind_profile_clear(&first);
  return 0;
}
