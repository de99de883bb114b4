/* See recover.h. */
#include "recover.h"

#include "base/log.h"
#include "capture/capture_find.h"
#include "capture/capture_write.h"
#include "config/cli_frame.h"
#include "config/run_folder.h"
#include "run/run_replay.h"

#include <dirent.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

/* results/SCENARIO/RUN: how far below `results` the folders of runs are. */
enum { RUNS_DEPTH = 2 };

typedef struct recover_options {
  bool help;
} recover_options;

static const args_option rows[] = {
    ARGS_HELP_ROW(recover_options, help),
};

static bool is_capture(const char *name) {
  const size_t length = strlen(name), ending = strlen(".pdcap");
  return length > ending && strcmp(name + length - ending, ".pdcap") == 0;
}

char *recover_find(const char *path, error *err) {
  DIR *folder = opendir(path);
  char *newest = NULL;
  struct timespec when = {0};
  if (!folder) return strdup(path);
  for (const struct dirent *entry; (entry = readdir(folder));) {
    struct stat about;
    char *at = NULL;
    if (!is_capture(entry->d_name) || asprintf(&at, "%s/%s", path, entry->d_name) < 0) continue;
    const bool is_newer =
        stat(at, &about) == 0 && (about.st_mtim.tv_sec > when.tv_sec ||
                                  (about.st_mtim.tv_sec == when.tv_sec && about.st_mtim.tv_nsec >= when.tv_nsec));
    if (is_newer) {
      free(newest);
      newest = at;
      when = about.st_mtim;
    } else {
      free(at);
    }
  }
  closedir(folder);
  if (!newest)
    error_set(err, PD_INVALID, CODE_USAGE,
              "recover: %s: holds no .pdcap file; runs with run.keep_capture = true leave one", path);
  return newest;
}

/* Whether the capture's setting still has a meaning: keys of sinks that are not wanted now do not. */
static bool is_wanted(const config_assignment *at, const config_input *given, const char *sinks) {
  if (strncmp(at->section, "sink.", 5) != 0) return true;
  for (uint32_t i = 0; i < given->assignment_count; i++)
    if (strcmp(given->assignments[i].section, "run") == 0 && strcmp(given->assignments[i].key, "sinks") == 0)
      sinks = given->assignments[i].value;
  return !sinks || strstr(sinks, at->section + 5) != NULL;
}

/* What the user gives now wins over what the run was given. */
static config *load_settings(const config *readers, const char *path, const config_input *given, const char *sinks,
                             error *err) {
  uint32_t count = 0, used = 0;
  config *loaded = NULL;
  config_assignment *old = replay_settings(readers, path, &count, err);
  if (!old) return NULL;
  config_assignment *all = calloc((size_t)count + given->assignment_count + 2, sizeof *all);
  for (uint32_t i = 0; all && i < count; i++)
    if (is_wanted(&old[i], given, sinks)) all[used++] = old[i];
  if (all && sinks) all[used++] = (config_assignment){"run", "sinks", sinks, path};
  for (uint32_t i = 0; all && i < given->assignment_count; i++) all[used++] = given->assignments[i];
  config_input input = *given;
  input.assignments = all;
  input.assignment_count = used;
  if (all)
    (void)config_load(&input, &loaded, err);
  else
    error_no_memory(err);
  free(all);
  free(old);
  return loaded;
}

/* Where the user wants the outputs; NULL: where the run had them. */
static const char *folder_given(const config_input *given, const config *loaded) {
  for (uint32_t i = 0; i < given->assignment_count; i++)
    if (strcmp(given->assignments[i].section, "run") == 0 && strcmp(given->assignments[i].key, "trace_dir") == 0)
      return loaded->run.trace_dir;
  return NULL;
}

int recover_run(const config *readers, const char *path, const config_input *given, const char *sinks, bool quiet,
                error *err) {
  config *loaded = load_settings(readers, path, given, sinks, err);
  if (!loaded) return err->count ? err->exit_code : CODE_CONFIG;
  run_folder_fill(loaded);
  const replay_request request = {
      .path = path, .settings = loaded, .trace_dir = folder_given(given, loaded), .quiet = quiet};
  const int code = replay_run(&request);
  config_free(loaded);
  return code;
}

/* The readers alone: what else the user gives is for the run's own settings. */
static config *load_readers(const config_input *given, error *err) {
  config *loaded = NULL;
  config_assignment *all = calloc((size_t)given->assignment_count + 1, sizeof *all);
  config_input input = {.is_analysis = true, .assignments = all};
  for (uint32_t i = 0; all && i < given->assignment_count; i++)
    if (strcmp(given->assignments[i].section, "run") == 0 && strcmp(given->assignments[i].key, "plugin_path") == 0)
      all[input.assignment_count++] = given->assignments[i];
  if (all)
    (void)config_load(&input, &loaded, err);
  else
    error_no_memory(err);
  free(all);
  return loaded;
}

static int recover_one(const config *readers, char *path, const cli_args *args, error *err) {
  const int code = recover_run(readers, path, &args->input, NULL, args->quiet, err);
  const int held = code == CODE_DONE ? capture_lock(path) : -1;
  if (held >= 0) { /* no process writes it any more, and what it holds is written */
    (void)capture_finish(path);
    (void)close(held);
  }
  return code;
}

/* What killed runs left, of which each has outputs of its own. The code is that of the first that failed. */
static int recover_all(const config *readers, const capture_leftovers *left, const cli_args *args, error *err) {
  int code = CODE_DONE;
  for (uint32_t i = 0; i < left->count && !err->count; i++) {
    log_say(!args->quiet, "pdhost: %s", left->rows[i].path);
    const int one = recover_one(readers, left->rows[i].path, args, err);
    if (code == CODE_DONE) code = one;
  }
  return code;
}

static int recover_newest(const config *readers, const cli_args *args, error *err) {
  char *path = recover_find(args->words[0], err);
  const int code = path ? recover_one(readers, path, args, err) : err->exit_code;
  free(path);
  return code;
}

static int recover(cli_args *args, const void *unused, error *err) {
  (void)unused;
  if (args->word_count != 1) {
    error_set(err, PD_INVALID, CODE_USAGE, "recover: expected one capture or folder, got %u; see pdhost recover --help",
              args->word_count);
    return err->exit_code;
  }
  config *readers = load_readers(&args->input, err);
  if (!readers) return err->exit_code;
  capture_leftovers left;
  capture_find_left(args->words[0], RUNS_DEPTH, &left);
  const int code = left.count ? recover_all(readers, &left, args, err) : recover_newest(readers, args, err);
  capture_leftovers_free(&left);
  config_free(readers);
  return err->count ? err->exit_code : code;
}

static int recover_main(int argc, char **argv) {
  recover_options options = {.help = false};
  const cli_frame frame = {.options = &options, .help = &options.help, .words = 1, .only_run = true, .work = recover};
  return cli_frame_run(&recover_command, &frame, argc, argv);
}

const args_command recover_command = {
    .name = "recover",
    .summary = "write the outputs of a run from its capture",
    .usage = "FILE.pdcap [options]\nFOLDER [options]",
    .description =
        "Reads the capture that a run left and calls the sinks with what the run measured, as the run itself did. In a "
        "folder, it reads those of all runs that were killed with all of their processes, the newest first: in the "
        "folder itself, in its folders and in theirs, as results has them. Where there is none, it reads the folder's "
        "newest capture. A window that a killed run had not finished is marked partial.\n\n"
        "The settings are the run's; --sink, -o and the other options of a run change what is written, and where.",
    .examples = "pdhost recover results\tthe outputs of every run below that was killed\n"
                "pdhost recover results/control/latest\tthe outputs of the last run there\n"
                "pdhost recover run.pdcap --sink csv,json\tother outputs of the same run",
    .options = rows,
    .option_count = sizeof rows / sizeof rows[0],
    .takes_run_options = true,
    .words = ARGS_OFFER_FILE,
    .main = recover_main,
};
