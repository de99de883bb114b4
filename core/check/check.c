/* See check.h: the command line, and the files one after the other. */
#include "check.h"

#include "check_report.h"

#include "base/log.h"
#include "base/progress_line.h"
#include "base/signals.h"
#include "config/cli_frame.h"
#include "run/import/import_paths.h"
#include "run/import/import_reader.h"
#include "run/run_parts.h"

#include <stdio.h>
#include <stdlib.h>

typedef struct check_options {
  bool help, no_python;
  args_format format;
  const char *reader;
} check_options;

static const args_option rows[] = {ARGS_FORMAT_ROW(check_options, format, "text|json", "text, json"),
                                   ARGS_READER_ROW(check_options, reader), ARGS_NO_PYTHON_ROW(check_options, no_python),
                                   ARGS_HELP_ROW(check_options, help)};

static int check_main(int argc, char **argv);

const args_command check_command = {
    .name = "check",
    .summary = "find what cannot be right in a trace",
    .usage = "[--format text|json] [--reader NAME] [--no-python] FILE|FOLDER ...",
    .description =
        "Reads traces of other profilers, or captures of runs (.pdcap), and looks for what cannot have happened: work "
        "that begins before its launch, records that overlap on one stream, children that outlast their parents, times "
        "that are negative or zero, copies faster than the link. It finds what was lost: device records without a "
        "launch and launches without a device record, coarse clocks, and parts of the file that cannot be read. In a "
        "folder, all traces are checked, and what is not a trace is skipped. With several files, the ranks and their "
        "clocks are compared. Each finding has its count and the worst example, with its place in the decompressed "
        "file, in bytes. "
        "docs/checking-a-trace.md describes each kind.\n\n"
        "The exit code is 0 when there is no finding, 7 when there is one, and 3 when a file cannot be read. Notes do "
        "not count as findings.",
    .options = rows,
    .option_count = sizeof rows / sizeof rows[0],
    .examples = "pdhost check trace.json.gz\twhat is wrong in it\n"
                "pdhost check --format json rank*.json.gz\tthe same of several ranks, as JSON",
    .takes_run_options = true,
    .words = ARGS_OFFER_FILE,
    .main = check_main};

static int code_of(const check_file *checked, uint32_t count, const check_findings *together) {
  int code = finding_count(together) ? CODE_UNTRUSTED : CODE_DONE;
  for (uint32_t i = 0; i < count; i++)
    if (code == CODE_DONE && finding_count(&checked[i].findings)) code = CODE_UNTRUSTED;
  for (uint32_t i = 0; i < count; i++)
    if (checked[i].code != CODE_DONE) code = checked[i].code;
  return signals_pending() ? 128 + signals_pending() : code;
}

/* False: no memory, which `together` of NULL is too. */
static bool compare_ranks(const check_file *checked, uint32_t count, check_findings *together) {
  check_rank *ranks = calloc((size_t)count + 1, sizeof *ranks);
  uint32_t count_read = 0;
  for (uint32_t i = 0; ranks && i < count; i++)
    if (checked[i].code == CODE_DONE) ranks[count_read++] = checked[i].rank;
  const bool good = ranks && check_ranks(ranks, count_read, together) == PD_OK;
  free(ranks);
  return good;
}

static bool print(const check_options *options, const check_file *checked, uint32_t count,
                  const check_findings *together, uint32_t skipped) {
  if (options->format == ARGS_JSON) return check_report_json(checked, count, together, skipped);
  check_report_text(checked, count, together, skipped);
  return true;
}

static int check_files(const check_options *options, const config *settings, const import_paths *paths,
                       uint32_t skipped) {
  const uint32_t count = paths->count;
  check_file *checked = calloc(count, sizeof *checked);
  check_findings *together = calloc(1, sizeof *together);
  bool good = checked && together;
  int code = CODE_INTERNAL;
  signals_install(NULL, NULL);
  progress_begin("check", settings->quiet);
  for (uint32_t i = 0; good && i < count && !signals_pending(); i++)
    check_file_read(&checked[i], settings, options->reader, paths->files[i]);
  progress_end();
  good = good && compare_ranks(checked, count, together);
  if (good) code = code_of(checked, count, together);
  if (good && !signals_pending()) good = print(options, checked, count, together, skipped);
  signals_restore();
  for (uint32_t i = 0; checked && i < count; i++) check_file_free(&checked[i]);
  free(checked);
  free(together);
  log_flush_repeats();
  return good ? code : run_parts_report(NULL, PD_NO_MEMORY, "check", CODE_INTERNAL);
}

static int check(cli_args *args, const void *given, error *err) {
  const check_options *options = given;
  if (!args->word_count) {
    error_set(err, PD_INVALID, CODE_USAGE, "check: give the trace to check, as in pdhost check trace.json.gz");
    return CODE_USAGE;
  }
  config *settings = NULL;
  import_paths paths;
  args->input.is_analysis = true;
  args->input.reader = options->reader;
  args->input.no_python = options->no_python;
  int code = CODE_DONE;
  if (import_paths_expand(&paths, args->words, args->word_count, err) == PD_OK &&
      config_load(&args->input, &settings, err) == PD_OK) {
    settings->quiet = args->quiet;
    const uint32_t skipped = options->reader ? 0 : import_paths_skip(&paths, settings);
    code = CODE_CONFIG;
    if (paths.count)
      code = check_files(options, settings, &paths, skipped);
    else
      error_set(err, PD_INVALID, FAULT_UNREADABLE,
                "check: none of the files in the folder is a trace (%u files); give one by its name to see why",
                skipped);
    config_free(settings);
  } else {
    code = err->exit_code;
  }
  import_paths_free(&paths);
  return code;
}

static int check_main(int argc, char **argv) {
  check_options options = {.help = false};
  const cli_frame frame = {
      .options = &options, .help = &options.help, .words = (uint32_t)argc, .work = check, .user = &options};
  return cli_frame_run(&check_command, &frame, argc, argv);
}
