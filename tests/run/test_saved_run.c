/* What a run that failed has said, by the log that it left. */
#include "run/saved_run.h"

#include "pd_test.h"

#include <stdio.h>
#include <stdlib.h>
#include <unistd.h>

static void check_said(const char *log, const char *wanted) {
  char folder[] = "/tmp/pdhost_saved_run_XXXXXX", path[64], line[64];
  cr_assert_not_null(mkdtemp(folder));
  snprintf(path, sizeof path, "%s/log", folder);
  if (log) {
    FILE *file = fopen(path, "w");
    cr_assert_not_null(file);
    cr_assert_geq(fputs(log, file), 0);
    cr_assert_eq(fclose(file), 0);
  }
  cr_assert_str_eq(saved_run_said(folder, line, sizeof line), wanted);
  unlink(path);
  rmdir(folder);
}

PD_TEST(saved_run, a_warning_after_the_error_does_not_hide_it) {
  check_said("pdhost: wrote a\npdhost: error: no room\npdhost: warn: other programs kept a core busy\n",
             "pdhost: error: no room");
  check_said("pdhost: error: first\nmore\npdhost: error: last\n", "pdhost: error: last");
}

PD_TEST(saved_run, without_an_error_the_last_line_says_it) {
  check_said("one\ntwo\n", "two");
  check_said("", "");
  check_said(NULL, "");
}
