/* What a test writes to stderr. */
#ifndef TESTS_SUPPORT_STDERR_TEXT_H
#define TESTS_SUPPORT_STDERR_TEXT_H

#include "pd_test.h"

#include <stdio.h>
#include <unistd.h>

/* What `body` writes to stderr, into a static text. */
static inline const char *captured(void (*body)(void)) {
  static char text[65536];
  FILE *file = tmpfile();
  cr_assert_not_null(file);
  const int kept = dup(STDERR_FILENO);
  dup2(fileno(file), STDERR_FILENO);
  body();
  dup2(kept, STDERR_FILENO);
  close(kept);
  rewind(file);
  text[fread(text, 1, sizeof text - 1, file)] = '\0';
  fclose(file);
  return text;
}

#endif
