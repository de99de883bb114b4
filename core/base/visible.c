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

/* What is in `to` up to `used`, or less, and "..."; no part of a character, which goes on with `next`. */
static size_t end_cut(char *to, size_t room, size_t used, char next) {
  const bool is_marked = room > 4;
  size_t at = is_marked && used > room - 4 ? room - 4 : used;
  to[used] = next;
  while (at && ((unsigned char)to[at] & 0xc0) == 0x80) at--;
  to[at] = '\0';
  if (is_marked) memcpy(to + at, "...", 4);
  return at + (is_marked ? 3 : 0);
}

size_t visible_copy(char *to, size_t room, const char *from) {
  size_t used = 0;
  size_t control, need;
  for (const unsigned char *at = (const unsigned char *)from; *at; at += control ? control : 1) {
    control = control_bytes(at);
    need = control ? 4 * control : 1;
    if (used + need >= room) return end_cut(to, room, used, (char)*at);
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
