/* Words of a command as one can type them in a shell: quoted where anything in them is unusual. [any thread] */
#ifndef CORE_BASE_SHELL_WORD_H
#define CORE_BASE_SHELL_WORD_H

#include <stddef.h>

/* What shell_word_put() needs at most, with the NUL. */
size_t shell_word_room(const char *word);

/* Writes the word and a NUL; returns where the NUL is, as stpcpy() does. */
char *shell_word_put(char *out, const char *word);

/* The word in `out`, of SHELL_WORD_BYTES; one that has no room there is returned as it is. */
enum { SHELL_WORD_BYTES = 8192 };
const char *shell_word_in(char *out, const char *word);

#endif
