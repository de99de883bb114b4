/* See rerun.h. */
#include "rerun.h"

#include "manifest_compare.h"
#include "manifest_read.h"
#include "rerun_report.h"

#include "advise/work_folder.h"
#include "base/progress_line.h"
#include "base/self_path.h"
#include "base/signals.h"
#include "config/cli_frame.h"
#include "run/saved_run.h"

#include <jansson.h>
#include <stdio.h>
#include <string.h>

enum { PATH_BYTES = 4096 };

typedef struct rerun_options {
  const char *path, *against;
  args_format format;
  bool help;
} rerun_options;

static const args_option rows[] = {{.name = "--against",
                                    .value = ARGS_REQUIRED,
                                    .argument = "MANIFEST",
                                    .take = args_take_text,
                                    .code = offsetof(rerun_options, against),
                                    .offer = ARGS_OFFER_FILE,
                                    .help = "run nothing: compare with this run, which was done later"},
                                   ARGS_FORMAT_ROW(rerun_options, format, "text|json", "text, json"),
                                   ARGS_HELP_ROW(rerun_options, help)};

static int rerun_main(int argc, char **argv);

const args_command rerun_command = {
    .name = "rerun",
    .summary = "run what a manifest describes again, and say what differs",
    .usage = "[--against MANIFEST] [--format text|json] MANIFEST|FOLDER",
    .description =
        "Each run writes manifest/manifest.json in its folder: the program, its plugins and the libraries by their "
        "content, every key of the configuration, seeds, the environment that matters, the device, and for each "
        "window the operations and kernels in the order of their launch. rerun reads it, runs the same configuration "
        "again, and compares the new manifest with the old one. What the new run writes is removed; sinks write "
        "nothing elsewhere.\n\n"
        "The configuration's keys are those of the manifest; the environment is the present one. Relative paths in the "
        "manifest start at the current folder. Losses that are at most 0.1 % apart count as equal, since sums in "
        "another order move "
        "them. The machine and the time of a step are shown and do not count. A run of several ranks is started by its "
        "launcher: do that, and give both manifests with --against.\n\n"
        "The exit code is 0 when all that should be equal is, 11 when something differs, 3 when a manifest cannot be "
        "read, that of the run when it fails, 128+n when signal n ended it.",
    .options = rows,
    .option_count = sizeof rows / sizeof rows[0],
    .examples = "pdhost rerun results/dataloader/latest\tthe last run once more\n"
                "pdhost rerun --against new/manifest.json old/manifest.json\ttwo runs that were done",
    .words = ARGS_OFFER_FILE,
    .main = rerun_main};

/* ---- the run ---- */

/* What the new run has of its own: its folder, and where its sinks write. */
static bool is_own(const char *key) {
  return strncmp(key, "sink.", 5) == 0 || strcmp(key, "run.trace_dir") == 0 || strcmp(key, "run.plugin_path") == 0 ||
         strcmp(key, "run.device") == 0;
}

static const char *text_of(const json_t *manifest, const char *part, const char *key) {
  const char *text = json_string_value(json_object_get(json_object_get(manifest, part), key));
  return text ? text : "";
}

static void make_command(saved_run *self, const char *program, const json_t *manifest, const char *folder) {
  const char *path = text_of(manifest, "configuration", "run.plugin_path"),
             *device = text_of(manifest, "configuration", "run.device");
  const json_t *at;
  size_t i;
  saved_run_word(self, program);
  saved_run_word(self, "-q");
  if (path[0]) {
    saved_run_word(self, "--plugin-path");
    saved_run_word(self, path);
  }
  json_array_foreach(json_object_get(manifest, "given"), i, at) {
    const char *key = json_string_value(at), *value = text_of(manifest, "configuration", key);
    if (!is_own(key)) saved_run_set(self, key, value[0] ? value : text_of(manifest, "seeds", key));
  }
  /* Where "auto" was a GPU, its sizes are not for a CPU. */
  const char *taken = text_of(manifest, "device", "plugin");
  saved_run_set(self, "run.device", strcmp(device, "auto") == 0 && strcmp(taken, "cpu") != 0 ? taken : device);
  saved_run_set(self, "run.trace_dir", folder);
}

static bool run_again(const json_t *manifest, const char *folder, error *err) {
  char program[PATH_BYTES], line[ERROR_LINE_BYTES];
  saved_run command = {.words = NULL};
  int code = CODE_DONE;
  if (!self_path(program, sizeof program)) {
    error_set(err, PD_IO, CODE_INTERNAL,
              "rerun: where pdhost itself lies is not known; mount /proc, or start it by its path");
    return false;
  }
  make_command(&command, program, manifest, folder);
  const bool ran = saved_run_do(&command, folder, &code, err);
  saved_run_clear(&command);
  if (!ran) return false;
  if (code == CODE_DONE || code == CODE_UNTRUSTED) return true;
  error_set(err, PD_INVALID, code, "rerun: the run failed: %s", saved_run_said(folder, line, sizeof line));
  return false;
}

/* Its manifest; NULL: see `err`. */
static json_t *run_in_folder(const json_t *manifest, error *err) {
  char folder[WORK_FOLDER_BYTES], inner[WORK_FOLDER_BYTES + 8];
  json_t *now = NULL;
  if (json_integer_value(json_object_get(manifest, "ranks")) > 1) {
    error_set(err, PD_UNSUPPORTED, CODE_USAGE,
              "rerun: the run had several ranks; start it again by its launcher, and give both manifests with "
              "--against");
    return NULL;
  }
  if (!work_folder_make("rerun", folder, err)) return NULL;
  (void)snprintf(inner, sizeof inner, "%s/run", folder);
  signals_install(NULL, NULL);
  progress_begin("rerun", false);
  progress_enter("running it again", NULL, 0);
  if (run_again(manifest, inner, err)) now = manifest_read(inner, err);
  progress_end();
  signals_restore();
  work_folder_remove(folder);
  return now;
}

/* ---- the command ---- */

static int report(const rerun_options *options, const json_t *then, const json_t *now, error *err) {
  manifest_comparison found;
  bool ok = manifest_compare(then, now, &found);
  if (ok && options->format == ARGS_JSON)
    ok = rerun_report_json(&found);
  else if (ok)
    rerun_report_text(&found);
  const int code = found.differs ? CODE_DIFFERS : CODE_DONE;
  manifest_comparison_close(&found);
  if (!ok) error_no_memory(err);
  return ok ? code : err->exit_code;
}

static int rerun(const void *user, error *err) {
  const rerun_options *options = user;
  if (!options->path) {
    error_set(err, PD_INVALID, CODE_USAGE, "rerun: give a manifest or the folder of a run; see pdhost rerun --help");
    return err->exit_code;
  }
  json_t *then = manifest_read(options->path, err), *now = NULL;
  if (then) now = options->against ? manifest_read(options->against, err) : run_in_folder(then, err);
  const int code = now ? report(options, then, now, err) : err->exit_code;
  json_decref(then);
  json_decref(now);
  return code;
}

static int rerun_main(int argc, char **argv) {
  rerun_options options = {.path = NULL};
  const cli_own_frame frame = {&options, &options.help, &options.path, "manifest", rerun};
  return cli_own_frame_run(&rerun_command, &frame, argc, argv);
}
