/* See visible.h. */
#include "visible.h"

#include <stdio.h>
#include <string.h>

size_t visible_copy(char *to, size_t room, const char *from) {
  size_t used = 0;
  for (const unsigned char *at = (const unsigned char *)from; *at; at++) {
    const bool control = *at < 0x20 || *at == 0x7f;
    const size_t need = control ? 4 : 1;
    if (used + need >= room) {
      if (room > 4) memcpy(to + room - 4, "...", 4);
      return room - 1;
    }
    if (control)
      snprintf(to + used, 5, "\\x%02x", *at);
    else
      to[used] = (char)*at;
    used += need;
  }
  to[used] = '\0';
  return used;
}

bool visible_is(const char *text) {
  for (const unsigned char *at = (const unsigned char *)text; *at; at++)
    if (*at < 0x20 || *at == 0x7f) return false;
  return true;
}
