#include "abi/plugins.h"
#include "base/self_path.h"
#include "pd_test.h"

#include <elf.h>
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

static char probe_bytes[8 << 20];
static size_t probe_length;

/* Reads the probe scenario; how much of it its loaded parts need. */
static size_t read_probe(void) {
  FILE *from = fopen(FIXTURES "/scenario/probe.so", "rb");
  cr_assert(from);
  probe_length = fread(probe_bytes, 1, sizeof probe_bytes, from);
  fclose(from);
  cr_assert(probe_length > 4096 && probe_length < sizeof probe_bytes);
  ElfW(Ehdr) head;
  size_t needed = 0;
  memcpy(&head, probe_bytes, sizeof head);
  for (unsigned i = 0; i < head.e_phnum; i++) {
    ElfW(Phdr) part;
    memcpy(&part, probe_bytes + head.e_phoff + i * sizeof part, sizeof part);
    if (part.p_type == PT_LOAD && part.p_offset + part.p_filesz > needed) needed = part.p_offset + part.p_filesz;
  }
  cr_assert(needed > 2048 && needed <= probe_length);
  return needed;
}

static void write_bytes(const char *path, const char *bytes, size_t length) {
  FILE *to = fopen(path, "wb");
  cr_assert(to && fwrite(bytes, 1, length, to) == length);
  cr_assert_eq(fclose(to), 0);
}

/* What dlopen would map past the end of the file kills the process at its first touch. */
PD_TEST(plugins, a_file_that_is_cut_short_is_told) {
  char folder[] = "/tmp/pdhost-test-XXXXXX", path[64], want[128];
  const size_t needed = read_probe();
  cr_assert(mkdtemp(folder));
  plugins *all = plugins_open(NULL);
  for (size_t i = 0; i <= 302; i++) {
    /* every place of the headers, then all over what is loaded, then that and all */
    const size_t length = i < 80    ? i
                          : i < 100 ? 64 + 56 * (i - 80) + 1
                          : i < 300 ? 2048 + (i - 100) * (needed - 2048) / 200
                          : i < 302 ? needed - (301 - i)
                                    : probe_length;
    const plugin *at = NULL;
    snprintf(path, sizeof path, "%s/%zu_%zu.so", folder, i, length);
    write_bytes(path, probe_bytes, length);
    error_clear(&err);
    const pd_status status = plugins_load(all, PD_KIND_SCENARIO, path, &at, &err);
    if (length >= needed) {
      cr_assert_eq(status, PD_OK, "%zu of %zu bytes: %s", length, probe_length, err.text);
      cr_assert_str_eq(at->table->name, "probe");
    } else {
      cr_assert_neq(status, PD_OK, "%zu of %zu bytes", length, needed);
      cr_assert_eq(err.exit_code, CODE_PLUGIN);
      cr_assert_eq(err.count, 1);
      snprintf(want, sizeof want, "%s: is cut short (%zu of ", path, length);
      cr_assert(length < 6 || strncmp(err.text, want, strlen(want)) == 0, "%s", err.text);
    }
    unlink(path);
  }
  plugins_close(all);
  rmdir(folder);
}

/* Of a header that is not read as this machine's, no length is made up. */
PD_TEST(plugins, what_is_no_file_of_this_machine_is_not_called_short) {
  char folder[] = "/tmp/pdhost-test-XXXXXX", path[64];
  read_probe();
  ElfW(Ehdr) *head = (void *)probe_bytes;
  const ElfW(Ehdr) sound = *head;
  cr_assert(mkdtemp(folder));
  snprintf(path, sizeof path, "%s/a.so", folder);
  plugins *all = plugins_open(NULL);
  for (int i = 0; i < 4; i++) {
    const plugin *at = NULL;
    *head = sound;
    if (i == 0) head->e_ident[EI_DATA] ^= ELFDATA2LSB ^ ELFDATA2MSB;
    if (i == 1) head->e_ident[EI_CLASS] ^= ELFCLASS32 ^ ELFCLASS64;
    if (i == 2) head->e_phentsize = 16;
    if (i == 3) head->e_phoff = UINT64_MAX - 8; /* its end is no small number */
    write_bytes(path, probe_bytes, 4064);
    error_clear(&err);
    cr_assert_neq(plugins_load(all, PD_KIND_SCENARIO, path, &at, &err), PD_OK);
    cr_assert_eq(strstr(err.text, "is cut short") != NULL, i == 3, "%d: %s", i, err.text);
  }
  plugins_close(all);
  unlink(path);
  rmdir(folder);
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
  cr_assert_eq(strncmp(err.text, "sink \"zzzzz\": not found; there are bad_half, ", 45), 0, "%s", err.text);
  cr_assert_not_null(strstr(err.text, ", csv, html, json, "), "%s", err.text);
  cr_assert_not_null(strstr(err.text, "; looked in: " FIXTURES "/sink, " TEST_LIB "/sink\n"), "%s", err.text);
  cr_assert_eq(err.exit_code, CODE_PLUGIN);
  plugins_close(all);
}
