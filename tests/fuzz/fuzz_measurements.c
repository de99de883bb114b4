/* The reader of measurements over any bytes: refused with one line, or read, and then what is written of it reads back
 * as the same bytes. */
#include "fuzz.h"

#include "measure/measurement_json.h"

#include <stdlib.h>
#include <string.h>

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t bytes) {
  pd_measurements first = {.rows = NULL}, second = {.rows = NULL};
  char why[256] = "";
  const pd_status status = measurements_from_json((const char *)data, bytes, "x.json", &first, why, sizeof why);
  check((status == PD_OK) == (first.count > 0));
  check(status == PD_OK || why[0]);
  if (status == PD_OK) {
    char *text = measurements_to_json(first.rows, first.count);
    check(text != NULL);
    check(measurements_from_json(text, strlen(text), "x.json", &second, why, sizeof why) == PD_OK);
    char *again = measurements_to_json(second.rows, second.count);
    check(again && strcmp(text, again) == 0);
    free(text);
    free(again);
  }
  measurements_clear(&first);
  measurements_clear(&second);
  return 0;
}
