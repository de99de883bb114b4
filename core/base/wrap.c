/* See wrap.h. */
#include "wrap.h"

#include "text_width.h"

#include <stdio.h>
#include <string.h>
#include <sys/ioctl.h>
#include <unistd.h>

enum { USUAL_COLUMNS = 80, LEAST_TEXT = 20 };

static int columns(void) {
  struct winsize size;
  return ioctl(STDOUT_FILENO, TIOCGWINSZ, &size) == 0 && size.ws_col ? size.ws_col : USUAL_COLUMNS;
}

int wrap_pad(const char *text, int width) {
  const int taken = text_width(text), blanks = width > taken ? width - taken : 0;
  printf("%s%*s", text, blanks, "");
  return taken + blanks;
}

void wrap_print(const char *text, int used, int indent) {
  const int wide = columns(), end = wide > indent + LEAST_TEXT ? wide : indent + LEAST_TEXT;
  int at = used, words = 0; /* words: of the line */
  if (used > indent) {
    printf("\n%*s", indent, "");
    at = indent;
  } else {
    at += printf("%*s", indent - used, "");
  }
  for (const char *word = text + strspn(text, " "); *word; word += strspn(word, " ")) {
    const size_t bytes = strcspn(word, " ");
    const int width = text_width_of(word, bytes);
    if (words && at + 1 + width > end) {
      printf("\n%*s", indent, "");
      at = indent;
      words = 0;
    }
    printf("%s%.*s", words ? " " : "", (int)bytes, word);
    at += width + (words++ ? 1 : 0);
    word += bytes;
  }
  putchar('\n');
}
