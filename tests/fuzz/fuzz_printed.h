/* What a command prints while it is fuzzed, on either stream: kept from the terminal, and looked at. */
#ifndef TESTS_FUZZ_FUZZ_PRINTED_H
#define TESTS_FUZZ_FUZZ_PRINTED_H

#include "fuzz.h"

#include "base/visible.h"

#include <jansson.h>

typedef struct fuzz_printed {
  FILE *out, *err; /* of before */
  char *text;
  size_t bytes;
} fuzz_printed;

static inline void fuzz_printed_begin(fuzz_printed *self) {
  *self = (fuzz_printed){.out = stdout, .err = stderr};
  FILE *caught = open_memstream(&self->text, &self->bytes);
  check(caught != NULL);
  stdout = stderr = caught;
}

static inline void fuzz_printed_end(fuzz_printed *self) {
  FILE *caught = stdout;
  stdout = self->out;
  stderr = self->err;
  check(fclose(caught) == 0);
}

static inline void fuzz_printed_free(fuzz_printed *self) { free(self->text); }

/* UTF-8 without control characters but for the ends of lines. Ends `text` at each. */
static inline void check_visible(char *text, size_t bytes) {
  check(strlen(text) == bytes);
  json_t *value = json_string(text); /* NULL: is not UTF-8 */
  check(value != NULL);
  json_decref(value);
  char *rest = NULL;
  for (const char *line = strtok_r(text, "\n", &rest); line; line = strtok_r(NULL, "\n", &rest))
    check(visible_is(line));
}

#endif
