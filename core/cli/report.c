/* See report.h: what `pdhost analyze --sink html` does, with one word less to remember. */
#include "report.h"

#include "analyze.h"
#include "recover.h"

#include "config/cli_frame.h"

#include <dirent.h>
#include <stddef.h>
#include <stdlib.h>
#include <string.h>

typedef struct report_options {
  bool help, no_python;
  const char *reader, *step, *output;
} report_options;

static const args_option rows[] = {
    {.name = "--output",
     .value = ARGS_REQUIRED,
     .argument = "FILE",
     .help = "page to write (report.html)",
     .offer = ARGS_OFFER_FILE,
     .take = args_take_text,
     .code = (int)offsetof(report_options, output)},
    ARGS_READER_ROW(report_options, reader),
    ARGS_STEP_ROW(report_options, step),
    ARGS_NO_PYTHON_ROW(report_options, no_python),
    ARGS_HELP_ROW(report_options, help),
};

static int report_main(int argc, char **argv);

const args_command report_command = {
    .name = "report",
    .summary = "write one HTML page that shows what held a program up",
    .usage = "[--output FILE] FILE.pdcap|TRACE|FOLDER ...",
    .description =
        "Reads the capture of a run, traces of other profilers, or a folder of either, and writes one page: the "
        "verdict and what to do, a timeline, the steps, operators, kernels, modules, memory and stacks. Any browser "
        "opens it, without a network. It is short for pdhost analyze --sink html. In a folder with captures, the "
        "newest one is read.",
    .options = rows,
    .option_count = sizeof rows / sizeof rows[0],
    .examples = "pdhost report run.pdcap\tthe page of a run, as report.html\n"
                "pdhost report --output slow.html trace.json.gz\tthe page of a trace",
    .takes_run_options = true,
    .words = ARGS_OFFER_FILE,
    .main = report_main};

static bool holds_capture(const char *path) {
  DIR *folder = opendir(path);
  bool found = false;
  if (!folder) return false;
  for (const struct dirent *entry; !found && (entry = readdir(folder));) {
    const char *ending = strrchr(entry->d_name, '.');
    found = ending && strcmp(ending, ".pdcap") == 0;
  }
  closedir(folder);
  return found;
}

static int with_page(const cli_args *args, const report_options *options, const char *const *paths, error *err) {
  const uint32_t given = args->input.assignment_count;
  config_assignment *all = calloc((size_t)given + 2, sizeof *all);
  if (!all) {
    error_no_memory(err);
    return CODE_INTERNAL;
  }
  all[0] = (config_assignment){"run", "sinks", "html", "report"};
  all[1] = (config_assignment){"sink.html", "path", options->output ? options->output : "report.html", "report"};
  if (given) memcpy(all + 2, args->input.assignments, given * sizeof *all);
  config_input input = args->input;
  input.assignments = all;
  input.assignment_count = given + 2;
  const analyze_request request = {.paths = paths,
                                   .path_count = args->word_count,
                                   .input = &input,
                                   .reader = options->reader,
                                   .step = options->step,
                                   .no_python = options->no_python,
                                   .quiet = args->quiet};
  const int code = analyze_run(&request, err);
  free(all);
  return code;
}

static int report(cli_args *args, const void *given, error *err) {
  const report_options *options = given;
  if (!args->word_count) {
    error_set(err, PD_INVALID, CODE_USAGE,
              "report: give a capture, a trace or a folder, as in pdhost report run.pdcap");
    return CODE_USAGE;
  }
  if (args->word_count > 1 || !holds_capture(args->words[0])) return with_page(args, options, args->words, err);
  char *newest = recover_find(args->words[0], err);
  if (!newest) return err->exit_code;
  const int code = with_page(args, options, (const char *const[]){newest}, err);
  free(newest);
  return code;
}

static int report_main(int argc, char **argv) {
  report_options options = {.help = false};
  const cli_frame frame = {
      .options = &options, .help = &options.help, .words = (uint32_t)argc, .work = report, .user = &options};
  return cli_frame_run(&report_command, &frame, argc, argv);
}
