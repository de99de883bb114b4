#include "base/error.h"
#include "base/log.h"
#include "stderr_text.h"

#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

static error err;

PD_TEST(error, set_replaces_and_returns_the_status) {
  error_clear(&err);
  cr_assert_eq(error_set(&err, PD_IO, CODE_OUTPUT, "first"), PD_IO);
  cr_assert_eq(error_set(&err, PD_INVALID, CODE_CONFIG, "x.ini:%d: bad", 3), PD_INVALID);
  cr_assert_eq(err.count, 1);
  cr_assert_eq(err.exit_code, CODE_CONFIG);
  cr_assert_str_eq(err.text, "x.ini:3: bad\n");
}

PD_TEST(error, the_first_added_gives_status_and_code) {
  error_clear(&err);
  error_add(&err, PD_INVALID, CODE_CONFIG, "one");
  error_add(&err, PD_NO_MEMORY, CODE_INTERNAL, "two");
  cr_assert_eq(err.status, PD_INVALID);
  cr_assert_eq(err.exit_code, CODE_CONFIG);
  cr_assert_str_eq(err.text, "one\ntwo\n");
}

PD_TEST(error, a_line_stays_one_line) {
  error_clear(&err);
  error_set(&err, PD_INVALID, CODE_CONFIG, "a\nb\tc\x7f\x1b[31m f\xc3\xbcr");
  cr_assert_str_eq(err.text, "a\\x0ab\\x09c\\x7f\\x1b[31m f\xc3\xbcr\n");
  error_clear(&err);
  error_set(&err, PD_INVALID, CODE_CONFIG,
            "a\xc2\x9b"
            "31m\xc2\x80\xc2\xa0\xe2\x82\x9b");
  cr_assert_str_eq(err.text, "a\\xc2\\x9b31m\\xc2\\x80\xc2\xa0\xe2\x82\x9b\n", "C1 too, and no part of others");
}

PD_TEST(error, wrap_prefixes_every_line) {
  error_clear(&err);
  error_add(&err, PD_IO, CODE_OUTPUT, "one");
  error_add(&err, PD_IO, CODE_OUTPUT, "two");
  cr_assert_eq(error_wrap(&err, "sink csv"), PD_IO);
  cr_assert_str_eq(err.text, "sink csv: one\nsink csv: two\n");
}

PD_TEST(error, merge_appends_and_takes_the_first_code) {
  error from;
  error_clear(&err);
  error_clear(&from);
  error_add(&from, PD_DEVICE, CODE_DEVICE, "a");
  error_add(&from, PD_DEVICE, CODE_DEVICE, "b");
  error_merge(&err, &from);
  cr_assert_eq(err.exit_code, CODE_DEVICE);
  cr_assert_str_eq(err.text, "a\nb\n");
}

PD_TEST(error, long_lines_are_cut_and_never_overflow) {
  char line[5000];
  memset(line, 'x', sizeof line - 1);
  line[sizeof line - 1] = '\0';
  error_clear(&err);
  for (int i = 0; i < 3 * ERROR_LINES; i++) error_add(&err, PD_INVALID, CODE_CONFIG, "%s\n", line);
  cr_assert_eq(err.count, 3 * ERROR_LINES);
  cr_assert(err.used <= sizeof err.text);
  cr_assert_eq(strlen(err.text), err.used);
  error_wrap(&err, line);
  cr_assert_eq(strlen(err.text), err.used);
}

static void print_many(void) {
  error_clear(&err);
  for (int i = 0; i < ERROR_LINES + 3; i++) error_add(&err, PD_INVALID, CODE_CONFIG, "line %d", i);
  error_print(&err);
}
PD_TEST(error, print_shows_twenty_lines_and_counts_the_rest) {
  log_set_color(LOG_COLOR_NEVER);
  const char *text = captured(print_many);
  cr_assert(strstr(text, "pdhost: error: line 0 [PDH-0300]\n") == text);
  cr_assert_not_null(strstr(text, "pdhost: error: line 19 [PDH-0300]\npdhost: error: and 3 more\n"));
  cr_assert_null(strstr(text, "line 20"));
}

static void log_some(void) {
  log_set_level(PD_LOG_WARN);
  log_line(PD_LOG_INFO, NULL, "unseen");
  log_line(PD_LOG_WARN, "recorder", "%d lost", 7);
  log_line(PD_LOG_WARN, "recorder", "%d lost", 7);
  log_line(PD_LOG_WARN, "recorder", "%d lost", 7);
  log_line(PD_LOG_ERROR, NULL, "twice");
  log_line(PD_LOG_ERROR, NULL, "twice");
  log_flush_repeats();
  log_flush_repeats();
}
PD_TEST(log, levels_plugins_and_repeats) {
  log_set_color(LOG_COLOR_NEVER);
  cr_assert_str_eq(captured(log_some), "pdhost: warn: recorder: 7 lost\npdhost: error: twice\npdhost: error: twice\n"
                                       "pdhost: warn: recorder: 7 lost (2 more times)\n");
}

static void log_twice(void) {
  log_line(PD_LOG_WARN, NULL, "forgotten");
  log_line(PD_LOG_WARN, NULL, "forgotten");
  log_forget_repeats();
  log_line(PD_LOG_WARN, NULL, "left out");
  log_line(PD_LOG_WARN, NULL, "left out");
  log_flush_repeats();
}
PD_TEST(log, a_single_repeat_and_those_that_are_none) {
  log_set_color(LOG_COLOR_NEVER);
  cr_assert_str_eq(captured(log_twice),
                   "pdhost: warn: forgotten\npdhost: warn: left out\npdhost: warn: left out (1 more time)\n");
}

static void log_silent(void) {
  log_set_level(PD_LOG_ERROR);
  log_line(PD_LOG_WARN, NULL, "not shown");
  log_line(PD_LOG_WARN, NULL, "not shown");
  log_flush_repeats();
}
PD_TEST(log, what_is_not_shown_is_remembered_all_the_same) {
  const char *kept[LOG_WARNINGS_KEPT];
  log_set_color(LOG_COLOR_NEVER);
  cr_assert_str_eq(captured(log_silent), "");
  cr_assert_eq(log_warnings(kept, LOG_WARNINGS_KEPT), 1);
  cr_assert_str_eq(kept[0], "not shown");
}

static void log_escape(void) { log_line(PD_LOG_WARN, "a\033b", "red %s", "\033[31m\nline"); }
PD_TEST(log, control_characters_are_shown) {
  log_set_color(LOG_COLOR_NEVER);
  cr_assert_str_eq(captured(log_escape), "pdhost: warn: a\\x1bb: red \\x1b[31m\\x0aline\n");
}

static void log_color_one(void) { log_line(PD_LOG_ERROR, NULL, "x"); }
PD_TEST(log, colour_when_asked_and_never_in_a_pipe_by_itself) {
  log_set_color(LOG_COLOR_ALWAYS);
  cr_assert_str_eq(captured(log_color_one), "pdhost: \033[1;31merror:\033[0m x\n");
  log_set_color(LOG_COLOR_AUTO);
  cr_assert_str_eq(captured(log_color_one), "pdhost: error: x\n");
}

PD_TEST(log, no_color_is_heard) {
  setenv("NO_COLOR", "1", 1);
  log_set_color(LOG_COLOR_AUTO);
  cr_assert_not(log_color_on(STDERR_FILENO));
  log_set_color(LOG_COLOR_ALWAYS);
  cr_assert(log_color_on(STDERR_FILENO));
}
