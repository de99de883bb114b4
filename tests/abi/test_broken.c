/* Each broken plugin is refused with its one line; a grown and a shorter one load. BROKEN_DIR holds them. */
#include "abi/plugins.h"
#include "pd_test.h"

#include <fcntl.h>
#include <stdio.h>
#include <string.h>
#include <unistd.h>

#define TEXT_OF(x) #x
#define TEXT(x) TEXT_OF(x)
/* What this host speaks. */
#define SPOKEN TEXT(PD_ABI_MAJOR) "." TEXT(PD_ABI_MINOR)

static error err;

static pd_status load(const char *file, pd_kind kind, plugins *all, const plugin **out) {
  char path[4096];
  snprintf(path, sizeof path, "%s/%s.so", BROKEN_DIR, file);
  error_clear(&err);
  return kind ? plugins_load(all, kind, path, out, &err) : plugins_load_file(all, path, out, &err);
}

#define REFUSED(file, kind, line)                                                                                      \
  do {                                                                                                                 \
    plugins *all_ = plugins_open(NULL);                                                                                \
    const plugin *out_ = NULL;                                                                                         \
    cr_assert_neq(load(file, kind, all_, &out_), PD_OK, "%s was taken", file);                                         \
    cr_assert_null(out_);                                                                                              \
    cr_assert_eq(err.exit_code, CODE_PLUGIN);                                                                          \
    cr_assert_eq(err.count, 1);                                                                                        \
    cr_assert_str_eq(err.text, BROKEN_DIR "/" file ".so: " line "\n", "%s", err.text);                                 \
    plugins_close(all_);                                                                                               \
  } while (0)

PD_TEST(broken, entry) {
  REFUSED(
      "no_entry", 0,
      "has no pd_plugin_entry, so it is not a pdhost plugin; end it with PD_SCENARIO, PD_SINK, PD_DEVICE or PD_READER");
  REFUSED("null_entry", 0, "pd_plugin_entry returned NULL");
}

PD_TEST(broken, versions_and_sizes) {
  REFUSED("major", 0,
          "built for plugin ABI 2." TEXT(PD_ABI_MINOR) ", this pdhost " VERSION " speaks " SPOKEN
                                                       ": rebuild the plugin");
  REFUSED("size_0", 0, "its descriptor says that it has 0 bytes; rebuild the plugin");
  REFUSED("size_8", 0, "its descriptor has 8 bytes where ABI 1.0 has 72; rebuild the plugin");
  REFUSED("short_ops", 0, "its scenario table has 16 bytes where ABI 1.0 has 48; rebuild the plugin");
  REFUSED("short_rows", 0, "its option rows have 16 bytes where ABI 1.0 has 64");
}

PD_TEST(broken, kinds_and_tables) {
  REFUSED("kind_99", 0, "its kind 99 is none that pdhost " VERSION " knows");
  REFUSED("null_ops", 0, "it has no table of scenario functions");
  REFUSED("no_step", 0, "its scenario table has no step");
  REFUSED("bare_cure", 0, "its cure of allocator has no settings");
  REFUSED("bad_name", 0, "its name is not of the form [a-z0-9_]+");
  REFUSED("grown", PD_KIND_SINK, "is a scenario, not a sink");
}

PD_TEST(broken, rows) {
  REFUSED("bad_default", 0, "option count: def = \"300\": out of range; allowed: no limit .. 256");
  REFUSED("bad_choice", 0, "option level: def = \"purple\": no such choice; allowed: low, high");
  REFUSED("twice", 0, "option count: has two rows");
  REFUSED("offset", 0, "option count: offset 4000 does not fit a int in a struct of 16 bytes");
}

PD_TEST(broken, a_library_that_is_not_installed_is_named_with_what_to_do) {
  plugins *all = plugins_open(NULL);
  const plugin *out = NULL;
  cr_assert_neq(load("needs_absent", 0, all, &out), PD_OK);
  cr_assert_eq(err.count, 1);
  cr_assert_not_null(strstr(err.text, "needs_absent.so: cannot be loaded: libpdhost_absent.so: "), "%s", err.text);
  cr_assert_not_null(strstr(err.text, "; install the package that has it, or put its folder into LD_LIBRARY_PATH\n"),
                     "%s", err.text);
  plugins_close(all);
}

PD_TEST(broken, an_undefined_symbol_is_named) {
  plugins *all = plugins_open(NULL);
  const plugin *out = NULL;
  cr_assert_neq(load("undefined", 0, all, &out), PD_OK);
  cr_assert_eq(err.count, 1);
  cr_assert(strncmp(err.text, BROKEN_DIR "/undefined.so: cannot be loaded: ", strlen(BROKEN_DIR) + 33) == 0, "%s",
            err.text);
  cr_assert_not_null(strstr(err.text, "nobody_defines_this"), "%s", err.text);
  plugins_close(all);
}

PD_TEST(broken, files_that_are_no_plugins) {
  plugins *all = plugins_open(NULL);
  const plugin *out = NULL;
  char path[] = "/tmp/pdhost-not-elf-XXXXXX";
  const int fd = mkstemp(path);
  cr_assert_eq(write(fd, "text\n", 5), 5);
  close(fd);
  error_clear(&err);
  cr_assert_neq(plugins_load_file(all, path, &out, &err), PD_OK);
  cr_assert_eq(err.count, 1);
  cr_assert_not_null(strstr(err.text, ": cannot be loaded: file too short\n"), "%s", err.text);
  unlink(path);
  cr_assert_neq(plugins_load_file(all, "/tmp/no/such.so", &out, &err), PD_OK);
  cr_assert_str_eq(err.text, "/tmp/no/such.so: cannot be opened: No such file or directory\n");
  cr_assert_neq(plugins_load_file(all, "/tmp", &out, &err), PD_OK);
  cr_assert_str_eq(err.text, "/tmp: is not a regular file\n");
  plugins_close(all);
}

PD_TEST(broken, a_plugin_of_a_later_minor_loads) {
  plugins *all = plugins_open(NULL);
  const plugin *out = NULL;
  cr_assert_eq(load("grown", PD_KIND_SCENARIO, all, &out), PD_OK, "%s", err.text);
  cr_assert_eq(out->table->abi_minor, PD_ABI_MINOR + 7);
  cr_assert_eq(out->option_count, 2);
  cr_assert_str_eq(plugin_option(out->table, 0).key, "count");
  cr_assert_str_eq(plugin_option(out->table, 1).key, "ratio");
  cr_assert_eq(plugin_option(out->table, 1).type, PD_FLOAT);
  plugins_close(all);
}

PD_TEST(broken, a_device_with_a_shorter_table_loads) {
  plugins *all = plugins_open(NULL);
  const plugin *out = NULL;
  error_clear(&err);
  cr_assert_eq(plugins_load(all, PD_KIND_DEVICE, FIXTURES "/device/older.so", &out, &err), PD_OK, "%s", err.text);
  const pd_tensor_ops *ops = out->table->ops.device->tensor;
  cr_assert_not(PD_HAS(pd_tensor_ops, ops, conv2d_relu_backward_weight));
  cr_assert(PD_HAS(pd_tensor_ops, ops, scaler_update));
  plugins_close(all);
}
