/* The command line over any words, one per line: parsed, or refused with a line for the user. Assignments are split
 * where their text says. */
#include "fuzz.h"

#include "config/cli_args.h"

#include <stdlib.h>
#include <string.h>

enum { WORDS = 64 };

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t bytes) {
  static error err;
  char *text = fuzz_text(data, bytes), *words[WORDS + 1] = {"pdhost"};
  int count = 1;
  if (!text) return 0;
  for (char *at = text; at && count < WORDS;) {
    words[count++] = at;
    at = strchr(at, '\n');
    if (at) *at++ = '\0';
  }
  cli_args args;
  error_clear(&err);
  const pd_status status = cli_args_parse(&args, NULL, count, words, &err);
  check((status == PD_OK) == (err.count == 0));
  for (uint32_t i = 0; status == PD_OK && i < args.input.assignment_count; i++) {
    const config_assignment *at = &args.input.assignments[i];
    check(at->section[0] && at->key[0] && at->value);
  }
  cli_args_free(&args);
  free(text);
  return 0;
}
