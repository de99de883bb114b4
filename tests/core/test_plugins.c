#include "host/plugins.h"
#include "pd_test.h"

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

/* What dlopen would map past the end of the file kills the process at its first touch. */
PD_TEST(plugins, a_file_that_is_cut_short_is_told) {
  static char bytes[8 << 20];
  char folder[] = "/tmp/pdhost-test-XXXXXX", path[64], want[128];
  FILE *from = fopen(FIXTURES "/scenario/probe.so", "rb");
  cr_assert(from && mkdtemp(folder));
  const size_t whole = fread(bytes, 1, sizeof bytes, from);
  fclose(from);
  cr_assert(whole > 4096 && whole < sizeof bytes);
  plugins *all = plugins_open(NULL);
  uint32_t loads = 0, cut = 0;
  for (size_t i = 0; i <= 300; i++) {
    /* every place of the headers, then all over the file */
    const size_t length = i < 80 ? i : i < 100 ? 64 + 56 * (i - 80) + 1 : whole - (300 - i) * (whole - 2048) / 200;
    const plugin *at = NULL;
    snprintf(path, sizeof path, "%s/%zu_%zu.so", folder, i, length);
    FILE *to = fopen(path, "wb");
    cr_assert(to && fwrite(bytes, 1, length, to) == length);
    cr_assert_eq(fclose(to), 0);
    error_clear(&err);
    if (plugins_load(all, PD_KIND_SCENARIO, path, &at, &err) == PD_OK) {
      loads++;
      cr_assert_str_eq(at->table->name, "probe");
    } else {
      cr_assert_eq(loads, 0, "%zu of %zu bytes, after fewer that did", length, whole);
      cr_assert_eq(err.exit_code, CODE_PLUGIN);
      cr_assert_eq(err.count, 1);
      snprintf(want, sizeof want, "%s: is cut short (%zu of ", path, length);
      cut += strncmp(err.text, want, strlen(want)) == 0;
      cr_assert(length < 5 || strncmp(err.text, want, strlen(want)) == 0, "%s", err.text);
    }
    unlink(path);
  }
  cr_assert_gt(loads, 0);
  cr_assert_gt(cut, 200);
  plugins_close(all);
  rmdir(folder);
}

PD_TEST(plugins, a_file_given_as_a_name_is_explained) {
  second_folder();
  cr_assert_eq(symlink(FIXTURES "/scenario/probe.so", "mine.so"), 0);
  plugins *all = plugins_open(NULL);
  const plugin *at = NULL;
  cr_assert_neq(plugins_load(all, PD_KIND_SCENARIO, "mine.so", &at, &err), PD_OK);
  cr_assert_str_eq(err.text, "scenario \"mine.so\": is looked up as a name; write ./mine.so for the file\n");
  cr_assert_eq(plugins_load_file(all, "mine.so", &at, &err), PD_OK);
  plugins_close(all);
}

PD_TEST(plugins, not_found_says_where_it_was_looked_for) {
  unsetenv("PDHOST_PLUGIN_PATH");
  plugins *all = plugins_open(FIXTURES);
  const plugin *at = NULL;
  cr_assert_neq(plugins_load(all, PD_KIND_SINK, "prob", &at, &err), PD_OK);
  cr_assert_str_eq(err.text,
                   "sink \"prob\": not found; did you mean probe? looked in: " FIXTURES "/sink, " TEST_LIB "/sink\n");
  cr_assert_neq(plugins_load(all, PD_KIND_SINK, "zzzzz", &at, &err), PD_OK);
  cr_assert_eq(strncmp(err.text, "sink \"zzzzz\": not found; there are bad_half, ", 45), 0, "%s", err.text);
  cr_assert_not_null(strstr(err.text, ", csv, json, "), "%s", err.text);
  cr_assert_not_null(strstr(err.text, "; looked in: " FIXTURES "/sink, " TEST_LIB "/sink\n"), "%s", err.text);
  cr_assert_eq(err.exit_code, CODE_PLUGIN);
  plugins_close(all);
}
