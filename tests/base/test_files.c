/* Output files: whole or not at all. */
#include "stderr_text.h"
#include "test_host.h"

#include "base/files.h"

#include <errno.h>
#include <fcntl.h>
#include <glob.h>
#include <stdlib.h>
#include <sys/stat.h>
#include <unistd.h>

static char folder[64];
static test_host host;
static files *service;
static const pd_files *table;

static void set_up(void) {
  strcpy(folder, "/tmp/pdhost_files_XXXXXX");
  cr_assert(mkdtemp(folder));
  test_host_init(&host);
  service = files_open();
  table = files_table(service, &host.host);
}
static void tear_down(void) {
  char command[128];
  files_close(service);
  snprintf(command, sizeof command, "rm -rf %s", folder);
  cr_assert_eq(system(command), 0);
}
static const char *at(const char *name) {
  static char path[256];
  snprintf(path, sizeof path, "%s/%s", folder, name);
  return path;
}
static void read_back(const char *path, char *text, size_t room) {
  FILE *in = fopen(path, "r");
  cr_assert(in, "%s", path);
  text[fread(text, 1, room - 1, in)] = '\0';
  fclose(in);
}

/* Files under a temporary name of `name`. */
static size_t partials(const char *name) {
  char pattern[256];
  glob_t found;
  snprintf(pattern, sizeof pattern, "%s/%s.*.partial", folder, name);
  const int failed = glob(pattern, 0, NULL, &found);
  const size_t count = failed ? 0 : found.gl_pathc;
  globfree(&found);
  return count;
}

PD_TEST(files, are_invisible_until_committed) {
  set_up();
  pd_file *file;
  char text[32];
  cr_assert_eq(table->open(table, at("a/b/c.txt"), &file), PD_OK);
  cr_assert_eq(table->write(file, "hello", 5), PD_OK);
  cr_assert_neq(access(at("a/b/c.txt"), F_OK), 0);
  cr_assert_eq(partials("a/b/c.txt"), 1);
  cr_assert_eq(table->commit(file), PD_OK);
  read_back(at("a/b/c.txt"), text, sizeof text);
  cr_assert_str_eq(text, "hello");
  cr_assert_eq(partials("a/b/c.txt"), 0);
  tear_down();
}

PD_TEST(files, discard_leaves_the_old_file) {
  set_up();
  pd_file *file;
  char text[32];
  for (int i = 0; i < 2; i++) {
    cr_assert_eq(table->open(table, at("x"), &file), PD_OK);
    cr_assert_eq(table->write(file, i ? "new" : "old", 3), PD_OK);
    if (i)
      table->discard(file);
    else
      cr_assert_eq(table->commit(file), PD_OK);
  }
  read_back(at("x"), text, sizeof text);
  cr_assert_str_eq(text, "old");
  cr_assert_eq(partials("x"), 0);
  tear_down();
}

PD_TEST(files, two_runs_that_write_one_file_replace_it_whole_each) {
  set_up();
  files *second = files_open();
  const pd_files *const tables[] = {table, files_table(second, &host.host)};
  pd_file *both[2];
  char text[32];
  for (int i = 0; i < 2; i++) cr_assert_eq(tables[i]->open(tables[i], at("x"), &both[i]), PD_OK);
  cr_assert_eq(partials("x"), 2);
  cr_assert_eq(table->write(both[0], "the longer one", 14), PD_OK);
  cr_assert_eq(table->write(both[1], "short", 5), PD_OK);
  cr_assert_eq(table->commit(both[0]), PD_OK);
  read_back(at("x"), text, sizeof text);
  cr_assert_str_eq(text, "the longer one");
  cr_assert_eq(table->commit(both[1]), PD_OK, "%s", host.message);
  read_back(at("x"), text, sizeof text);
  cr_assert_str_eq(text, "short");
  files_close(second);
  tear_down();
}

/* The last to be renamed would be all that is there. */
PD_TEST(files, a_file_is_for_one_sink_of_a_run) {
  set_up();
  test_host other;
  test_host_init(&other);
  const pd_files *theirs = files_table(service, &other.host);
  pd_file *first, *second;
  char want[512], linked[256];
  snprintf(want, sizeof want, "%s: this run writes that file already: give this sink another path", at("x"));
  snprintf(linked, sizeof linked, "%s/here/x", folder);
  cr_assert_eq(symlink(".", at("here")), 0);
  cr_assert_eq(table->open(table, at("x"), &first), PD_OK);
  cr_assert_eq(theirs->open(theirs, at("x"), &second), PD_INVALID);
  cr_assert_null(second);
  cr_assert_str_eq(other.message, want);
  cr_assert_eq(table->open(table, at("x"), &second), PD_INVALID, "twice at a time");
  cr_assert_eq(theirs->open(theirs, linked, &second), PD_INVALID, "by another way");
  cr_assert_eq(theirs->open(theirs, at("y"), &second), PD_OK);
  theirs->discard(second);
  table->discard(first);
  cr_assert_eq(theirs->open(theirs, at("x"), &second), PD_OK, "the first gave it up");
  cr_assert_eq(theirs->commit(second), PD_OK);
  cr_assert_eq(table->open(table, at("x"), &first), PD_INVALID);
  cr_assert_eq(partials("x"), 0);
  cr_assert_eq(table->open(table, "/dev/null", &first), PD_OK);
  cr_assert_eq(theirs->open(theirs, "/dev/null", &second), PD_OK);
  cr_assert_eq(table->commit(first), PD_OK);
  cr_assert_eq(theirs->commit(second), PD_OK);
  tear_down();
}

PD_TEST(files, what_is_not_whole_for_want_of_memory_is_told) {
  set_up();
  char *temporary;
  FILE *out = files_open_stream(at("x"), &temporary);
  cr_assert(out && fputs("half", out) >= 0);
  errno = 0;
  cr_assert_not(files_end_stream(out, false, at("x"), temporary));
  cr_assert_eq(errno, ENOMEM);
  cr_assert_eq(partials("x"), 0);
  tear_down();
}

/* A file of a run that crashed, or of another container's run, whose process has the same number. */
PD_TEST(files, a_temporary_name_that_is_taken_is_left_alone) {
  set_up();
  pd_file *file;
  char name[64], *next;
  const int first = files_open_temporary(at("y"), &next);
  cr_assert_geq(first, 0);
  const char *number = strrchr(next, '-') + 1;
  for (unsigned long i = 1; i < 4; i++) {
    snprintf(name, sizeof name, "x.%ld-%lu.partial", (long)getpid(), strtoul(number, NULL, 10) + i);
    FILE *left = fopen(at(name), "w");
    cr_assert(left);
    fclose(left);
  }
  cr_assert_eq(table->open(table, at("x"), &file), PD_OK);
  cr_assert_eq(partials("x"), 4);
  cr_assert_eq(table->commit(file), PD_OK);
  cr_assert_eq(partials("x"), 3);
  close(first);
  free(next);
  tear_down();
}

PD_TEST(files, full_disk_is_told_and_sticks) {
  set_up();
  pd_file *file;
  cr_assert_eq(table->open(table, "/dev/full", &file), PD_OK);
  cr_assert_eq(table->write(file, "x", 1), PD_IO);
  cr_assert_str_eq(host.message, "/dev/full: cannot be written: No space left on device");
  cr_assert_eq(table->write(file, "x", 1), PD_IO);
  cr_assert_eq(table->commit(file), PD_IO);
  tear_down();
}

PD_TEST(files, a_folder_in_the_way_of_the_final_name_is_told) {
  set_up();
  pd_file *file;
  cr_assert_eq(table->open(table, at("taken"), &file), PD_OK);
  cr_assert_eq(table->write(file, "x", 1), PD_OK);
  cr_assert_eq(mkdir(at("taken"), 0777), 0);
  cr_assert_eq(table->commit(file), PD_IO);
  cr_assert_not_null(strstr(host.message, "cannot be renamed from"), "%s", host.message);
  cr_assert_eq(partials("taken"), 0);
  tear_down();
}

PD_TEST(files, a_file_where_a_folder_must_be_is_told) {
  set_up();
  pd_file *file;
  char want[512];
  cr_assert_eq(table->open(table, at("f"), &file), PD_OK);
  cr_assert_eq(table->commit(file), PD_OK);
  cr_assert_eq(table->open(table, at("f/g"), &file), PD_IO);
  cr_assert_null(file);
  snprintf(want, sizeof want, "%s/f: folder cannot be made: a file of that name is in the way", folder);
  cr_assert_str_eq(host.message, want);
  tear_down();
}

PD_TEST(files, an_empty_path_is_told) {
  set_up();
  pd_file *file;
  cr_assert_eq(table->open(table, "", &file), PD_INVALID);
  cr_assert_null(file);
  cr_assert_str_eq(host.message, "the path is empty: name a file, or - for standard output");
  tear_down();
}

PD_TEST(files, standard_output_has_one_owner_at_a_time) {
  set_up();
  pd_file *first, *second;
  cr_assert_eq(table->open(table, "-", &first), PD_OK);
  cr_assert_eq(table->open(table, "-", &second), PD_INVALID);
  cr_assert(strstr(host.message, "taken by another sink"));
  cr_assert_eq(table->commit(first), PD_OK);
  cr_assert_eq(table->open(table, "-", &second), PD_OK);
  table->discard(second);
  tear_down();
}

PD_TEST(files, standard_output_is_called_by_its_name) {
  set_up();
  pd_file *file;
  const int kept = dup(STDOUT_FILENO), full = open("/dev/full", O_WRONLY);
  cr_assert_geq(dup2(full, STDOUT_FILENO), 0);
  cr_assert_eq(table->open(table, "-", &file), PD_OK);
  const pd_status status = table->write(file, "x", 1);
  dup2(kept, STDOUT_FILENO);
  close(kept);
  close(full);
  cr_assert_eq(status, PD_IO);
  cr_assert_str_eq(host.message, "standard output: cannot be written: No space left on device");
  table->discard(file);
  table->announce(table, "-");
  cr_assert_str_eq(files_next_written(service), "standard output");
  tear_down();
}

static void announce_many(const char *before, int count) {
  for (int i = 0; i < count; i++) {
    char name[32];
    snprintf(name, sizeof name, "%sfile%d", before, i);
    table->announce(table, name);
  }
}

PD_TEST(files, what_was_written_is_told_once_and_in_order) {
  set_up();
  cr_assert_null(files_next_written(service));
  announce_many("", 2);
  announce_many("out/", 3);
  cr_assert_str_eq(table->next_written(table), "file0");
  cr_assert_str_eq(table->next_written(table), "file1");
  cr_assert_str_eq(files_next_written(service), "out/file0");
  cr_assert_str_eq(files_next_written(service), "out/file1");
  cr_assert_str_eq(files_next_written(service), "out/file2");
  cr_assert_null(files_next_written(service));
  announce_many("", 1);
  cr_assert_str_eq(files_next_written(service), "file0");
  cr_assert_null(files_next_written(service));
  tear_down();
}

PD_TEST(files, of_many_files_the_folder_is_told) {
  set_up();
  announce_many("out/", 2);
  announce_many("results/", 1);
  announce_many("out/", 38);
  cr_assert_str_eq(files_next_written(service), "40 files in out/");
  cr_assert_str_eq(files_next_written(service), "results/file0");
  cr_assert_null(files_next_written(service));
  tear_down();
}

static void force_two(void) {
  char gone[] = "gone", below_a_file[] = "/dev/null/trace.json";
  char *const paths[] = {gone, below_a_file};
  files_force_paths(paths, 2, NULL, 0);
}

PD_TEST(files, what_cannot_be_forced_to_the_disk_is_told_and_what_is_gone_is_not) {
  const char *said = captured(force_two);
  cr_assert(!strstr(said, "gone"), "%s", said);
  cr_assert(strstr(said, "/dev/null/trace.json: cannot be forced to the disk: Not a directory"), "%s", said);
}

static size_t descriptors(void) {
  glob_t found;
  cr_assert_eq(glob("/proc/self/fd/*", 0, NULL, &found), 0);
  const size_t count = found.gl_pathc;
  globfree(&found);
  return count;
}

PD_TEST(files, what_is_on_its_way_to_the_disk_stays_open_no_longer) {
  set_up();
  const size_t before = descriptors();
  for (int i = 0; i < 40; i++) {
    char name[16];
    pd_file *file;
    snprintf(name, sizeof name, "f%d", i);
    cr_assert_eq(table->open(table, at(name), &file), PD_OK);
    cr_assert_eq(table->write(file, "some text", 9), PD_OK);
    cr_assert_eq(table->commit(file), PD_OK);
  }
  for (int ms = 0; ms < 10000 && descriptors() > before; ms++) usleep(1000);
  cr_assert_eq(descriptors(), before);
  files_force_soon(-1); /* no file: nothing happens */
  cr_assert_eq(descriptors(), before);
  tear_down();
}
