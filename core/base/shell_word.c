/* See shell_word.h. */
#include "shell_word.h"

#include <string.h>

#define QUOTE_WITHIN "'\\''"

size_t shell_word_room(const char *word) {
  size_t bytes = sizeof "''";
  for (; *word; word++) bytes += *word == '\'' ? sizeof QUOTE_WITHIN - 1 : 1;
  return bytes;
}

char *shell_word_put(char *out, const char *word) {
  static const char plain[] = "abcdefghijklmnopqrstuvwxyzABCDEFGHIJKLMNOPQRSTUVWXYZ0123456789-_./=:,+@%";
  if (word[0] && word[strspn(word, plain)] == '\0') return stpcpy(out, word);
  *out++ = '\'';
  for (; *word; word++) {
    if (*word == '\'')
      out = stpcpy(out, QUOTE_WITHIN);
    else
      *out++ = *word;
  }
  return stpcpy(out, "'");
}

const char *shell_word_in(char *out, const char *word) {
  if (shell_word_room(word) > SHELL_WORD_BYTES) return word;
  (void)shell_word_put(out, word);
  return out;
}
