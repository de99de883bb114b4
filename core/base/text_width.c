/* See text_width.h. */
#include "text_width.h"

#include <string.h>

int text_width_of(const char *text, size_t bytes) {
  int width = 0;
  for (size_t i = 0; i < bytes; i++) width += ((unsigned char)text[i] & 0xC0) != 0x80;
  return width;
}

int text_width(const char *text) { return text_width_of(text, strlen(text)); }
