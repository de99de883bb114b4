/* See utf8.h. */
#include "utf8.h"

#include <string.h>

size_t utf8_length(const char *text, size_t left) {
  const unsigned char *at = (const unsigned char *)text;
  const unsigned char first = at[0];
  const size_t length = first < 0x80                    ? 1
                        : first >= 0xc2 && first < 0xe0 ? 2
                        : (first & 0xf0) == 0xe0        ? 3
                        : first >= 0xf0 && first < 0xf5 ? 4
                                                        : 0;
  if (length > left) return 0;
  for (size_t i = 1; i < length; i++)
    if ((at[i] & 0xc0) != 0x80) return 0;
  if (length == 3 && ((first == 0xe0 && at[1] < 0xa0) || (first == 0xed && at[1] >= 0xa0))) return 0;
  if (length == 4 && ((first == 0xf0 && at[1] < 0x90) || (first == 0xf4 && at[1] >= 0x90))) return 0;
  return length;
}

size_t utf8_clean(char *to, const char *text, size_t length) {
  char *at = to;
  for (size_t i = 0; i < length;) {
    const size_t bytes = utf8_length(text + i, length - i);
    memcpy(at, bytes ? text + i : UTF8_REPLACEMENT, bytes ? bytes : 3);
    at += bytes ? bytes : 3;
    i += bytes ? bytes : 1;
  }
  return (size_t)(at - to);
}
