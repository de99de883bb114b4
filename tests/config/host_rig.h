/* Configurations for tests: files in a folder of the test's own, fixture plugins. FIXTURES is their folder. */
#ifndef TESTS_CONFIG_HOST_RIG_H
#define TESTS_CONFIG_HOST_RIG_H

#include "config/config.h"
#include "pd_test.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

static error rig_error;

/* Goes to a new empty folder. */
static inline void rig_folder(void) {
  static char folder[64];
  snprintf(folder, sizeof folder, "/tmp/pdhost-test-XXXXXX");
  cr_assert_not_null(mkdtemp(folder));
  cr_assert_eq(chdir(folder), 0);
  setenv("PDHOST_PLUGIN_PATH", FIXTURES, 1);
}

static inline void rig_write_bytes(const char *path, const char *text, size_t bytes) {
  FILE *file = fopen(path, "w");
  cr_assert_not_null(file);
  cr_assert_eq(fwrite(text, 1, bytes, file), bytes);
  cr_assert_eq(fclose(file), 0);
}
static inline void rig_write(const char *path, const char *text) { rig_write_bytes(path, text, strlen(text)); }

/* Loads a.ini (when there is one) and b.ini (when there is one), then `assignments`: "section.key=value", NULL at the
 * end. */
static inline config *rig_load(const char *const *assignments) {
  const char *files[2];
  config_assignment rows[16];
  char text[16][3][128];
  config_input input = {.files = files, .assignments = rows, .command_line = "pdhost test"};
  if (access("a.ini", F_OK) == 0) files[input.file_count++] = "a.ini";
  if (access("b.ini", F_OK) == 0) files[input.file_count++] = "b.ini";
  for (; assignments && assignments[input.assignment_count]; input.assignment_count++) {
    const char *from = assignments[input.assignment_count];
    const uint32_t i = input.assignment_count;
    cr_assert_eq(sscanf(from, "%127[^=]", text[i][0]), 1);
    char *dot = strrchr(text[i][0], '.');
    *dot = '\0';
    snprintf(text[i][1], sizeof text[i][1], "%s", dot + 1);
    snprintf(text[i][2], sizeof text[i][2], "%s", strchr(from, '=') + 1);
    rows[i] = (config_assignment){text[i][0], text[i][1], text[i][2], "command line"};
  }
  config *out = NULL;
  error_clear(&rig_error);
  const pd_status status = config_load(&input, &out, &rig_error);
  cr_assert_eq(status == PD_OK, out != NULL);
  cr_assert_eq(status == PD_OK, rig_error.count == 0, "%s", rig_error.text);
  return out;
}

static inline config *rig_load_well(const char *const *assignments) {
  config *out = rig_load(assignments);
  cr_assert_not_null(out, "%s", rig_error.text);
  return out;
}

#define RIG_SETTINGS(...) ((const char *const[]){__VA_ARGS__, NULL})

static inline const pd_setting *rig_setting(const config *self, const char *section, const char *key) {
  for (uint64_t i = 0; i < self->setting_count; i++)
    if (strcmp(self->settings[i].section, section) == 0 && strcmp(self->settings[i].key, key) == 0)
      return &self->settings[i];
  cr_assert_fail("no setting [%s] %s", section, key);
  return NULL;
}

/* The whole text of the failure. */
#define RIG_FAILS(assignments, code, lines)                                                                            \
  do {                                                                                                                 \
    config *failed_ = rig_load(assignments);                                                                           \
    cr_assert_null(failed_, "it loaded");                                                                              \
    cr_assert_str_eq(rig_error.text, lines, "%s", rig_error.text);                                                     \
    cr_assert_eq(rig_error.exit_code, (code));                                                                         \
  } while (0)

#endif
