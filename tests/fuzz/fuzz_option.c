/* Option values of every type over any text: taken whole and within bounds, or refused with a reason. The first byte
 * chooses the row. */
#include "fuzz.h"

#include "abi/option.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

static const char *const choices[] = {"one", "two", NULL};
static const pd_option rows[] = {
    {.key = "bool", .type = PD_BOOL},
    {.key = "int", .type = PD_INT},
    {.key = "bounded", .type = PD_INT, .min = "-5", .max = "1_000", .unit = "samples"},
    {.key = "int_ms", .type = PD_INT, .unit = "ms", .min = "0"},
    {.key = "float", .type = PD_FLOAT},
    {.key = "float_s", .type = PD_FLOAT, .unit = "s", .min = "0", .max = "10"},
    {.key = "string", .type = PD_STRING},
    {.key = "choice", .type = PD_CHOICE, .choices = choices},
    {.key = "path", .type = PD_PATH},
    {.key = "bytes", .type = PD_BYTES, .min = "0"},
    {.key = "mib", .type = PD_BYTES, .unit = "MiB", .min = "0", .max = "64GiB"},
    {.key = "duration", .type = PD_DURATION, .unit = "ms", .min = "0", .max = "60s"},
};

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t bytes) {
  if (bytes < 1) return 0;
  const pd_option *row = &rows[data[0] % (sizeof rows / sizeof rows[0])];
  char *text = fuzz_text(data + 1, bytes - 1);
  if (!text) return 0;
  char why[256];
  option_value value, again;
  if (option_parse(row, text, &value, why, sizeof why)) {
    check(option_parse(row, text, &again, why, sizeof why) && option_equal(row, &value, &again));
    check(row->type != PD_FLOAT || isfinite(value.real));
    check(strcmp(row->key, "bounded") != 0 || (value.integer >= -5 && value.integer <= 1000));
    check(strcmp(row->key, "float_s") != 0 || (value.real >= 0 && value.real <= 10));
    check(strcmp(row->key, "duration") != 0 || (value.integer >= 0 && value.integer <= INT64_C(60000000000)));
  } else {
    check(why[0] != '\0' && strlen(why) < sizeof why);
  }
  free(text);
  return 0;
}
