/* See visible.h. */
#include "visible.h"

#include <stdio.h>
#include <string.h>

/* Bytes of the control character at `at`; 0: it is none. Those of two bytes are U+0080 to U+009F, of which U+009B
 * begins an escape sequence as ESC [ does. */
static size_t control_bytes(const unsigned char *at) {
  if (*at < 0x20 || *at == 0x7f) return 1;
  return at[0] == 0xc2 && at[1] >= 0x80 && at[1] <= 0x9f ? 2 : 0;
}

size_t visible_copy(char *to, size_t room, const char *from) {
  size_t used = 0;
  size_t control, need;
  for (const unsigned char *at = (const unsigned char *)from; *at; at += control ? control : 1) {
    control = control_bytes(at);
    need = control ? 4 * control : 1;
    if (used + need >= room) {
      if (room > 4) memcpy(to + room - 4, "...", 4);
      return room - 1;
    }
    for (size_t i = 0; i < control; i++) snprintf(to + used + 4 * i, 5, "\\x%02x", at[i]);
    if (!control) to[used] = (char)*at;
    used += need;
  }
  to[used] = '\0';
  return used;
}

bool visible_is(const char *text) {
  for (const unsigned char *at = (const unsigned char *)text; *at; at++)
    if (control_bytes(at)) return false;
  return true;
}
