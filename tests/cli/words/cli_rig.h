/* What the tests of the command line share: a run of it, and its output. */
#ifndef TESTS_CLI_CLI_RIG_H
#define TESTS_CLI_CLI_RIG_H

#include "cli/commands.h"
#include "config/core_options.h"
#include "base/wrap.h"
#include "pd_test.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

static char out_text[1 << 16], err_text[1 << 16];

static inline void read_back(FILE *file, char *text, size_t room) {
  rewind(file);
  text[fread(text, 1, room - 1, file)] = '\0';
  fclose(file);
}

/* Runs the command line; its exit code, with what it printed in out_text and err_text. */
static inline int run_words(char **words) {
  int count = 0;
  while (words[count]) count++;
  setenv("PDHOST_PLUGIN_PATH", FIXTURES, 1);
  FILE *out = tmpfile(), *err = tmpfile();
  cr_assert(out && err);
  fflush(NULL);
  const int kept[2] = {dup(STDOUT_FILENO), dup(STDERR_FILENO)};
  dup2(fileno(out), STDOUT_FILENO);
  dup2(fileno(err), STDERR_FILENO);
  const int code = commands_main(count, words);
  fflush(stdout);
  dup2(kept[0], STDOUT_FILENO);
  dup2(kept[1], STDERR_FILENO);
  close(kept[0]);
  close(kept[1]);
  read_back(out, out_text, sizeof out_text);
  read_back(err, err_text, sizeof err_text);
  return code;
}

#define RUN(...) run_words((char *[]){"pdhost", __VA_ARGS__, NULL})
#define FAILS(code, line, ...)                                                                                         \
  do {                                                                                                                 \
    cr_assert_eq(RUN(__VA_ARGS__), (code));                                                                            \
    cr_assert(strncmp(err_text, "pdhost: error: " line " [PDH-0", strlen("pdhost: error: " line " [PDH-0")) == 0,      \
              "%s", err_text);                                                                                         \
    cr_assert_str_eq(out_text, "");                                                                                    \
  } while (0)

#endif
