#include "abi/plugins.h"
#include "base/self_path.h"
#include "pd_test.h"

#include <limits.h>
#include <link.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

static error err;

/* two/scenario/probe.so is another file of the same name as FIXTURES/scenario/probe.so. */
static void second_folder(void) {
  static char folder[] = "/tmp/pdhost-test-XXXXXX";
  cr_assert_not_null(mkdtemp(folder));
  cr_assert_eq(chdir(folder), 0);
  cr_assert_eq(mkdir("two", 0700), 0);
  cr_assert_eq(mkdir("two/scenario", 0700), 0);
  cr_assert_eq(symlink(FIXTURES "/scenario/fault.so", "two/scenario/probe.so"), 0);
  cr_assert_eq(symlink("/nowhere", "two/scenario/gone.so"), 0);
}

PD_TEST(plugins, the_order_of_the_folders) {
  setenv("PDHOST_PLUGIN_PATH", "/env/a:/env/b", 1);
  plugins *all = plugins_open("/first:/second:");
  cr_assert_eq(plugins_folder_count(all), 5);
  cr_assert_str_eq(plugins_folder(all, 0), "/first");
  cr_assert_str_eq(plugins_folder(all, 1), "/second");
  cr_assert_str_eq(plugins_folder(all, 2), "/env/a");
  cr_assert_str_eq(plugins_folder(all, 3), "/env/b");
  cr_assert_str_eq(plugins_folder(all, 4), TEST_LIB);
  plugins_close(all);
}

PD_TEST(plugins, the_first_folder_wins_and_a_second_load_is_the_same) {
  second_folder();
  plugins *all = plugins_open("two:" FIXTURES);
  const plugin *a = NULL, *b = NULL;
  error_clear(&err);
  cr_assert_eq(plugins_load(all, PD_KIND_SCENARIO, "probe", &a, &err), PD_OK, "%s", err.text);
  cr_assert_str_eq(a->table->name, "fault");
  cr_assert_str_eq(a->path, "two/scenario/probe.so");
  cr_assert_eq(plugins_load(all, PD_KIND_SCENARIO, "probe", &b, &err), PD_OK);
  cr_assert_eq(a, b);
  plugins_close(all);
}

PD_TEST(plugins, scan_sorts_and_shows_what_is_shadowed) {
  second_folder();
  plugins *all = plugins_open("two:" FIXTURES);
  plugin_file *files;
  uint32_t count, shadowed = 0;
  cr_assert_eq(plugins_scan(all, PD_KIND_SCENARIO, &files, &count), PD_OK);
  cr_assert_str_eq(files[0].name, "gone");
  cr_assert_str_eq(files[1].name, "probe");
  cr_assert_null(files[1].shadowed_by);
  for (uint32_t i = 2; i < count; i++) {
    if (strcmp(files[i].name, "probe") == 0) cr_assert_str_eq(files[i].shadowed_by, "two/scenario/probe.so");
    shadowed += files[i].shadowed_by != NULL;
  }
  cr_assert_eq(shadowed, 1);
  plugins_scan_free(files, count);
  plugins_close(all);
}

PD_TEST(plugins, a_value_with_a_slash_is_a_file) {
  plugins *all = plugins_open(NULL);
  const plugin *at = NULL;
  error_clear(&err);
  cr_assert_eq(plugins_load(all, PD_KIND_SCENARIO, FIXTURES "/scenario/probe.so", &at, &err), PD_OK);
  cr_assert_str_eq(at->table->name, "probe");
  cr_assert_eq(at->option_count, 11);
  cr_assert_neq(plugins_load(all, PD_KIND_SCENARIO, FIXTURES "/sink/probe.so", &at, &err), PD_OK);
  cr_assert_str_eq(err.text, FIXTURES "/sink/probe.so: is a sink, not a scenario\n");
  plugins_close(all);
}

/* As help and --check load them, which have nothing else to lose their process for. */
PD_TEST(plugins, one_that_does_not_survive_its_loading_is_named) {
  static const struct {
    const char *name, *said;
  } all[] = {{"bad_loads", "crashes when it is loaded (signal 6): build or copy it again"},
             {"bad_load_ends", "ends the process when it is loaded (exit code 3): build it without a call of exit"}};
  for (size_t i = 0; i < sizeof all / sizeof all[0]; i++) {
    char want[4096];
    plugins *from = plugins_open(FIXTURES);
    const plugin *at = NULL;
    plugins_try_first(from);
    error_clear(&err);
    cr_assert_neq(plugins_load(from, PD_KIND_SCENARIO, all[i].name, &at, &err), PD_OK);
    snprintf(want, sizeof want, FIXTURES "/scenario/%s.so: %s\n", all[i].name, all[i].said);
    cr_assert_str_eq(err.text, want);
    cr_assert_eq(err.exit_code, CODE_PLUGIN);
    cr_assert_eq(plugins_load(from, PD_KIND_SCENARIO, "probe", &at, &err), PD_OK);
    plugins_close(from);
  }
}

PD_TEST(plugins, a_file_given_as_a_name_is_explained) {
  second_folder();
  cr_assert_eq(symlink(FIXTURES "/scenario/probe.so", "mine.so"), 0);
  plugins *all = plugins_open(NULL);
  const plugin *at = NULL;
  cr_assert_neq(plugins_load(all, PD_KIND_SCENARIO, "mine.so", &at, &err), PD_OK);
  cr_assert_str_eq(err.text, "scenario \"mine.so\": is not a plugin name; use ./mine.so to load the file\n");
  cr_assert_eq(plugins_load_file(all, "mine.so", &at, &err), PD_OK);
  plugins_close(all);
}

/* The two ways to find the program: what the system tells, and without /proc the path that it was started with. */
PD_TEST(plugins, the_program_is_found_by_the_path_of_its_start) {
  char told[PATH_MAX], started[PATH_MAX], above[PATH_MAX], little[4];
  cr_assert(self_path(told, sizeof told));
  cr_assert(self_path_as_started(started, sizeof started));
  cr_assert_str_eq(started, told);
  cr_assert(self_path_prefix(above, sizeof above));
  cr_assert_eq(strncmp(told, above, strlen(above)), 0);
  cr_assert_not(self_path_as_started(little, sizeof little));
}

PD_TEST(plugins, not_found_says_where_it_was_looked_for) {
  unsetenv("PDHOST_PLUGIN_PATH");
  plugins *all = plugins_open(FIXTURES);
  const plugin *at = NULL;
  cr_assert_neq(plugins_load(all, PD_KIND_SINK, "prob", &at, &err), PD_OK);
  cr_assert_str_eq(err.text,
                   "sink \"prob\": not found; did you mean probe? looked in: " FIXTURES "/sink, " TEST_LIB "/sink\n");
  cr_assert_neq(plugins_load(all, PD_KIND_SINK, "zzzzz", &at, &err), PD_OK);
  cr_assert_eq(strncmp(err.text, "sink \"zzzzz\": not found; there are bad_ignores, ", 48), 0, "%s", err.text);
  cr_assert_not_null(strstr(err.text, ", csv, html, json, "), "%s", err.text);
  cr_assert_not_null(strstr(err.text, "; looked in: " FIXTURES "/sink, " TEST_LIB "/sink\n"), "%s", err.text);
  cr_assert_eq(err.exit_code, CODE_PLUGIN);
  plugins_close(all);
}
