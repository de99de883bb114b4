/* Three steps of the program's own run, with the plugin under check in its place; see check_list.h. */
#include "check_folder.h"
#include "check_list.h"
#include "base/log.h"
#include "config/config.h"
#include "run/run.h"

#include <fcntl.h>
#include <stdio.h>
#include <string.h>
#include <unistd.h>

enum { OWN_ASSIGNMENTS = 16 };

typedef struct assignments {
  config_assignment *rows;
  uint32_t count, room;
} assignments;

static bool assignments_open(assignments *self, const check_target *target) {
  self->count = 0;
  self->room = OWN_ASSIGNMENTS + target->table->option_count + target->given_count;
  self->rows = calloc(self->room, sizeof *self->rows);
  return self->rows != NULL;
}

static void assign(assignments *to, const char *section, const char *key, const char *value) {
  if (to->count < to->room) to->rows[to->count++] = (config_assignment){section, key, value, "the check"};
}

/* Options that the user must give, then those that the user gave; [run] is the check's own. */
static void give_options(assignments *to, const check_target *target) {
  for (uint32_t i = 0; i < target->table->option_count; i++) {
    const pd_option row = plugin_option(target->table, i);
    if (!row.def) assign(to, target->section, row.key, check_stand_in(&row));
  }
  for (uint32_t i = 0; i < target->given_count; i++)
    if (strcmp(target->given[i].section, "run") != 0) to->rows[to->count++] = target->given[i];
}

/* A run like the user's, but as small as may be. */
static void assign_all(assignments *what, const check_target *target, const char *scenario, const char *device,
                       bool has_threads) {
  assign(what, "run", "scenario", scenario);
  assign(what, "run", "device", device);
  assign(what, "run", "sinks", target->table->kind == PD_KIND_SINK ? target->path : "");
  if (target->plugin_path) assign(what, "run", "plugin_path", target->plugin_path);
  assign(what, "run", "trace_dir", ".");
  assign(what, "run", "warmup_steps", "1");
  assign(what, "data", "batch_size", "2");
  assign(what, "data", "image_size", "16");
  assign(what, "data", "num_workers", "1");
  assign(what, "schedule", "wait", "0");
  assign(what, "schedule", "warmup", "0");
  assign(what, "schedule", "active", "3");
  if (has_threads) assign(what, "device", "threads", "1");
  give_options(what, target);
}

/* What the run said first, without the program's name. */
static void first_error(FILE *said, char *line, size_t room) {
  static const char mark[] = "pdhost: error: ";
  char text[1024];
  line[0] = '\0';
  rewind(said);
  while (!line[0] && fgets(text, sizeof text, said))
    if (strncmp(text, mark, sizeof mark - 1) == 0) snprintf(line, room, "%s", text + sizeof mark - 1);
  line[strcspn(line, "\n")] = '\0';
}

/* NULL: it does not load, and `why` says the cause. */
static const pd_plugin *table_of(const check_target *target, pd_kind kind, const char *name, char *why, size_t room) {
  const plugin *found = NULL;
  error err;
  error_clear(&err);
  plugins *all = plugins_open(target->plugin_path);
  const pd_plugin *table = all && plugins_load(all, kind, name, &found, &err) == PD_OK ? found->table : NULL;
  if (!table) error_first_line(&err, why, room);
  plugins_close(all);
  return table;
}

static bool has_option(const pd_plugin *table, const char *key) {
  for (uint32_t i = 0; i < table->option_count; i++)
    if (strcmp(plugin_option(table, i).key, key) == 0) return true;
  return false;
}

static int run_it(const assignments *what, error *err) {
  const config_input input = {
      .assignments = what->rows, .assignment_count = what->count, .command_line = "pdhost --check-plugin"};
  config *settings = NULL;
  if (config_load(&input, &settings, err) != PD_OK) return err->exit_code;
  settings->quiet = true;
  settings->run.isolate = false; /* this process is one that may die */
  const int code = run_execute(settings);
  config_free(settings);
  return code;
}

check_verdict check_real_run(const check_target *target) {
  static error err; /* 20 KiB */
  const pd_kind kind = target->table->kind;
  const char *scenario = kind == PD_KIND_SCENARIO ? target->path : "control";
  const char *device = kind == PD_KIND_DEVICE ? target->path : target->device;
  char why[ERROR_LINE_BYTES] = "out of memory";
  if (!table_of(target, PD_KIND_SCENARIO, scenario, why, sizeof why))
    return check_verdict_of(CHECK_SKIPPED, "there is no scenario control: %s", why);
  const pd_plugin *device_table = table_of(target, PD_KIND_DEVICE, device, why, sizeof why);
  if (!device_table) return check_verdict_of(CHECK_SKIPPED, "there is no device to run on: %s", why);
  assignments what;
  if (!assignments_open(&what, target)) return check_verdict_of(CHECK_BROKEN, "out of memory");
  assign_all(&what, target, scenario, device, has_option(device_table, "threads"));
  /* Its sinks may write to standard output; its messages are this check's reason. */
  FILE *said = tmpfile();
  const int nowhere = open("/dev/null", O_WRONLY | O_CLOEXEC), before = dup(STDERR_FILENO);
  if (!said || nowhere < 0 || before < 0 || fflush(stdout) != 0) {
    if (said) fclose(said);
    free(what.rows);
    return check_verdict_of(CHECK_BROKEN, "no file in /tmp could be made");
  }
  dup2(nowhere, STDOUT_FILENO);
  dup2(fileno(said), STDERR_FILENO);
  error_clear(&err);
  log_set_color(LOG_COLOR_NEVER); /* what the run says is read back here */
  const int code = run_it(&what, &err);
  free(what.rows);
  fflush(stdout);
  fflush(stderr);
  dup2(before, STDERR_FILENO);
  close(before);
  close(nowhere);
  if (err.count)
    error_first_line(&err, why, sizeof why);
  else
    first_error(said, why, sizeof why);
  fclose(said);
  if (code == CODE_DEVICE && kind == PD_KIND_DEVICE) return check_verdict_of(CHECK_SKIPPED, "%s", why);
  if (code == CODE_UNTRUSTED) return check_verdict_of(CHECK_FAILED, "launches without a device record");
  if (code != CODE_DONE) return check_verdict_of(CHECK_FAILED, "exit code %d: %s", code, why);
  if (check_folder_partial(target->folder, why, sizeof why)) return check_verdict_of(CHECK_FAILED, "%s is left", why);
  return check_ok();
}
