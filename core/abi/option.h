/* One option row and one text: parse, check, store, describe. A value is taken whole or refused with the reason. */
#ifndef CORE_ABI_OPTION_H
#define CORE_ABI_OPTION_H

#include <pdhost/plugin.h>

typedef union option_value {
  bool truth;       /* BOOL */
  int64_t integer;  /* INT, BYTES (bytes), DURATION (nanoseconds) */
  double real;      /* FLOAT, in the row's unit */
  const char *text; /* STRING, PATH: the text given; CHOICE: the row's own */
} option_value;

/* On failure `why` says what is wrong and what to write ("out of range; allowed: 0 .. 256"), without key and value. */
bool option_parse(const pd_option *row, const char *text, option_value *value, char *why, size_t room);

/* Writes the value into the field of the options struct at `options`. */
void option_store(const pd_option *row, const option_value *value, void *options);
bool option_equal(const pd_option *row, const option_value *a, const option_value *b);

/* Whether the row itself is sound for a struct of `options_size` bytes: key, type, offset, texts that parse. */
bool option_check_row(const pd_option *row, uint32_t options_size, char *why, size_t room);

const char *option_type_name(pd_type type); /* "duration"; "unknown" */
/* "0 .. 256", "1 .. no limit", "a, b, c" for choices; "" where the type has no bounds. */
const char *option_allowed(const pd_option *row, char *text, size_t room);

#endif
