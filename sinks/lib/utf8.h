/* UTF-8 checks for texts that come from outside. [any thread] */
#ifndef SINKS_LIB_UTF8_H
#define SINKS_LIB_UTF8_H

#include <stddef.h>

/* What stands for bytes that are no text. */
#define UTF8_REPLACEMENT "\xef\xbf\xbd"

/* Bytes of the character at `text`, 0 when it is none: overlong, a surrogate, beyond U+10FFFF, cut off after `left`. */
size_t utf8_length(const char *text, size_t left);

/* Copies `text` with a replacement for every byte that is no text; `to` has 3 * length bytes. Returns the length. */
size_t utf8_clean(char *to, const char *text, size_t length);

#endif
