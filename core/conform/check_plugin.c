/* The conformance checks of a plugin; see check_plugin.h. This file has the driver and what holds for every kind. */
#include "check_plugin.h"

#include "check_folder.h"
#include "check_list.h"
#include "check_process.h"
#include "abi/option.h"
#include "base/child.h"
#include "base/error.h"
#include "base/log.h"
#include "base/signals.h"

#include <limits.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/stat.h>
#include <unistd.h>

enum { CHILD_SECONDS = 60 };

/* ---- checks for every kind ---- */

static check_verdict check_same_entry(const check_target *target) {
  plugins *all = plugins_open(NULL);
  const plugin *again = NULL;
  error err;
  error_clear(&err);
  const bool same =
      all && plugins_load_file(all, target->plugin->path, &again, &err) == PD_OK && again->table == target->table;
  plugins_close(all);
  return same ? check_ok()
              : check_verdict_of(CHECK_FAILED, "a second call of pd_plugin_entry gives another descriptor");
}

static bool one_line(const char *text) { return text && text[0] && !strpbrk(text, "\n\r\t") && strlen(text) <= 160; }

static check_verdict check_help(const check_target *target) {
  if (!one_line(target->table->summary))
    return check_verdict_of(CHECK_FAILED, "the summary is not one line of at most 160 bytes");
  for (uint32_t i = 0; i < target->table->option_count; i++) {
    const pd_option row = plugin_option(target->table, i);
    const size_t bytes = strlen(row.help);
    if (!one_line(row.help))
      return check_verdict_of(CHECK_FAILED, "option %s: its help is not one line of at most 160 bytes", row.key);
    if (row.help[bytes - 1] == '.')
      return check_verdict_of(CHECK_FAILED, "option %s: its help ends with a full stop", row.key);
  }
  return check_ok();
}

static check_verdict check_defaults(const check_target *target) {
  for (uint32_t i = 0; i < target->table->option_count; i++) {
    const pd_option row = plugin_option(target->table, i);
    option_value value;
    char why[512];
    if (row.def && !option_parse(&row, row.def, &value, why, sizeof why))
      return check_verdict_of(CHECK_FAILED, "option %s: its default \"%s\": %s", row.key, row.def, why);
  }
  return check_ok();
}

static const check common_checks[] = {
    {"the entry point gives the same descriptor each time", check_same_entry},
    {"every default parses and lies within its bounds", check_defaults},
    {"summary and help of every option are one line each", check_help},
    {NULL, NULL},
};

/* ---- driver ---- */

typedef struct job {
  const check *what;
  const check_target *target;
  const char *folder;
} job;

static int run_one(void *user, int report) {
  const job *at = user;
  if (chdir(at->folder) != 0) return CHECK_BROKEN;
  check_target target = *at->target;
  target.folder = at->folder;
  const check_verdict verdict = at->what->run(&target);
  const size_t bytes = strlen(verdict.why);
  if (write(report, verdict.why, bytes) != (ssize_t)bytes) return CHECK_BROKEN;
  return (int)verdict.outcome;
}

/* In a folder of its own: a plugin may write into its working directory, and may not live to clean up. */
static bool run_in_folder(const check *what, const check_target *target, child_result *result) {
  char folder[] = "/tmp/pdhost-check-XXXXXX";
  if (!mkdtemp(folder)) return false;
  job at = {.what = what, .target = target, .folder = folder};
  check_progress(target, "%s", "");
  const bool started = child_call(run_one, &at, CHILD_SECONDS, result);
  check_folder_remove(folder);
  return started;
}

/* Counts the checks that were reported. */
typedef struct tally {
  uint32_t count, failed, skipped;
} tally;

/* One that a signal cut short is not reported. */
static void report_one(const check *what, const check_target *target, tally *to) {
  child_result result;
  char ending[128];
  const bool ran = run_in_folder(what, target, &result);
  if (ran && result.interrupted) return;
  to->count++;
  to->failed++;
  if (!ran) {
    printf("FAIL %s: no child process or no folder in /tmp could be made\n", what->description);
    return;
  }
  child_ending(&result, ending, sizeof ending);
  const char *tried = target->progress;
  if (ending[0])
    printf("FAIL %s: %s%s%s\n", what->description, tried, tried[0] ? ": " : "", ending);
  else if (result.exit_code != CHECK_OK && result.exit_code != CHECK_SKIPPED)
    printf("FAIL %s: %s%s%s\n", what->description, tried, tried[0] ? ": " : "",
           result.text[0] ? result.text : "it ended the process");
  else if (result.stdout_bytes)
    printf("FAIL %s: %llu bytes on standard output, which belongs to the sinks' files\n", what->description,
           (unsigned long long)result.stdout_bytes);
  else {
    const bool skipped = result.exit_code == CHECK_SKIPPED;
    printf("%s %s%s%s\n", skipped ? "skip" : "ok  ", what->description, result.text[0] ? ": " : "", result.text);
    to->failed--;
    to->skipped += skipped;
  }
}

static void run_list(const check *list, const check_target *target, tally *to) {
  for (; list->description && !signals_pending(); list++) report_one(list, target, to);
}

/* Loading itself may crash: the first check is whether a child survives it. */
static check_verdict check_loads(const check_target *target) {
  plugins *all = plugins_open(NULL);
  if (!all) return check_verdict_of(CHECK_FAILED, "out of memory");
  const check_verdict verdict = check_process_load(target, all);
  plugins_close(all);
  return verdict;
}

/* Each child runs in a folder of its own. */
static void whole_path(const char *path, char *full, size_t room) {
  char found[PATH_MAX];
  snprintf(full, room, "%s", strchr(path, '/') && realpath(path, found) ? found : path);
}

/* The same for each folder of a search path; the caller frees it. NULL on no memory. */
static char *whole_folders(const char *list) {
  char *text = NULL, part[PATH_MAX], full[PATH_MAX];
  size_t size;
  FILE *to = open_memstream(&text, &size);
  if (!to) return NULL;
  while (*list) {
    const size_t bytes = strcspn(list, ":");
    snprintf(part, sizeof part, "%.*s", (int)bytes, list);
    fprintf(to, "%s:", bytes < sizeof part && realpath(part, full) ? full : part);
    list += bytes + (list[bytes] == ':');
  }
  if (fclose(to) == 0) return text;
  free(text);
  return NULL;
}

static int cut_short(int number, const tally *of) {
  log_line(PD_LOG_ERROR, NULL, "--check-plugin: %s: ended after %u check%s", signals_name(number), of->count,
           of->count == 1 ? "" : "s");
  return 128 + number;
}

static int sum_up(const check_target *target, const tally *of) {
  printf("%s %s %s: %u checks, %u failed", plugin_kind_name(target->table->kind), target->table->name,
         target->table->version, of->count, of->failed);
  if (of->skipped) printf(", %u skipped", of->skipped);
  putchar('\n');
  return of->failed ? CODE_PLUGIN : CODE_DONE;
}

/* The first check, which the plugin passed, is counted in `of`. */
static int check_loaded(check_target *target, const config_input *input, tally *of, error *err) {
  if (check_given_take(target, input, err) != PD_OK) return err->exit_code;
  run_list(common_checks, target, of);
  const pd_kind kind = target->table->kind;
  if (kind != PD_KIND_COMMUNICATOR) /* one needs other ranks */
    run_list(kind == PD_KIND_SCENARIO ? check_scenario_list
             : kind == PD_KIND_SINK   ? check_sink_list
             : kind == PD_KIND_READER ? check_reader_list
                                      : check_device_list,
             target, of);
  const int number = signals_pending();
  return number ? cut_short(number, of) : sum_up(target, of);
}

static int check_all(check_target *target, const config_input *input) {
  static const check first = {"the plugin loads; its descriptor, rows and tables are sound", check_loads};
  tally of = {.count = 0};
  report_one(&first, target, &of);
  const int number = signals_pending();
  if (number) return cut_short(number, &of);
  if (of.failed) return CODE_PLUGIN;
  plugins *all = plugins_open(NULL);
  error err;
  error_clear(&err);
  int code = CODE_PLUGIN;
  if (all && plugins_load_file(all, target->path, &target->plugin, &err) == PD_OK) {
    target->table = target->plugin->table;
    code = check_loaded(target, input, &of, &err);
  }
  error_print(&err);
  plugins_close(all);
  return code;
}

int check_plugin(const char *path, const char *device, const char *plugin_path, const config_input *input) {
  char full[PATH_MAX], full_device[PATH_MAX];
  if (!realpath(path, full)) snprintf(full, sizeof full, "%s", path);
  whole_path(device ? device : "cpu", full_device, sizeof full_device);
  const char *from_environment = getenv("PDHOST_PLUGIN_PATH");
  char *folders = whole_folders(plugin_path ? plugin_path : "");
  char *more = whole_folders(from_environment ? from_environment : "");
  char *progress = mmap(NULL, CHECK_PROGRESS_BYTES, PROT_READ | PROT_WRITE, MAP_SHARED | MAP_ANONYMOUS, -1, 0);
  int code = CODE_INTERNAL;
  if (folders && more && progress != MAP_FAILED && setenv("PDHOST_PLUGIN_PATH", more, 1) == 0) {
    check_target target = {
        .path = full, .device = full_device, .plugin_path = plugin_path ? folders : NULL, .progress = progress};
    signals_install(NULL, NULL);
    code = check_all(&target, input);
    signals_restore();
  } else {
    error_line_print(FAULT_MEMORY, NULL, "--check-plugin: out of memory");
  }
  if (progress != MAP_FAILED) munmap(progress, CHECK_PROGRESS_BYTES);
  free(folders);
  free(more);
  return code;
}
