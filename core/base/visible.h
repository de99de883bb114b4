/* Texts from elsewhere on a terminal: one that holds control characters would colour it, clear it or break a line. */
#ifndef CORE_BASE_VISIBLE_H
#define CORE_BASE_VISIBLE_H

#include <stdbool.h>
#include <stddef.h>

enum { VISIBLE_GROWTH = 4 }; /* bytes that one byte becomes at most */

/* Copies `from` so that it stays one line: control characters become \xNN, byte by byte. What has no room is cut
 * between two characters and ends in "...". Returns how many bytes are in `to`; `room` is at least 1. */
size_t visible_copy(char *to, size_t room, const char *from);
/* Whether there is nothing to change. */
bool visible_is(const char *text);

#endif
