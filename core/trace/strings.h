/*
 * The string table: one id per distinct text, for the whole run. [any thread]
 *
 * Looking up a known text takes no lock. What is stored is always valid UTF-8: each maximal bad sequence of bytes
 * becomes one U+FFFD, so two texts that differ in bad bytes only may share an id. Id 0 is the empty text of "no name"
 * and is never handed out.
 */
#ifndef CORE_TRACE_STRINGS_H
#define CORE_TRACE_STRINGS_H

#include <pdhost/trace.h>

enum { STRINGS_NO_MEMORY = 1 }; /* the id of "(no memory)" */

typedef struct string_table string_table;

pd_status strings_open(string_table **out);
/* Its texts lie in `room`, as long as that has room; NULL: none is. The room is to outlive the table. */
struct trace_room;
pd_status strings_open_in(struct trace_room *room, string_table **out);
/* A table with the texts of the one that was opened in `room`, under the same ids. A text that did not fit is
 * "(unknown)" and its id. PD_INVALID: what the room holds cannot be. */
pd_status strings_open_again(const struct trace_room *room, string_table **out);
void strings_close(string_table *self);

/* STRINGS_NO_MEMORY where there is none. NULL is the empty text. */
uint32_t strings_intern(string_table *self, const char *text);
/* The same of `length` bytes, which need no NUL after them and hold none. */
uint32_t strings_intern_bytes(string_table *self, const char *text, size_t length);
/* The id if the text is known already, else 0. Never locks. */
uint32_t strings_find(string_table *self, const char *text);

uint32_t strings_count(string_table *self);
/* Valid until strings_close. */
pd_string strings_get(string_table *self, uint32_t id);

/* Bytes of `text` made valid, without the final NUL; writes at most that many into `out` unless NULL. */
size_t strings_make_valid(const char *text, size_t length, char *out);

#endif
