/* See analyze.h: the command line. The work is core/run/import/import.c's. */
#include "analyze.h"

#include "recover.h"

#include "base/log.h"
#include "config/cli_frame.h"
#include "run/import/import.h"
#include "run/import/import_paths.h"
#include "run/import/import_reader.h"

#include <stddef.h>

typedef struct analyze_options {
  bool help;
  const char *reader, *step;
  bool no_python;
  args_format ranks;
} analyze_options;

static const args_option rows[] = {
    ARGS_READER_ROW(analyze_options, reader),
    ARGS_STEP_ROW(analyze_options, step),
    ARGS_NO_PYTHON_ROW(analyze_options, no_python),
    {.name = "--ranks",
     .value = ARGS_REQUIRED,
     .argument = "text|json",
     .help = "how to print what several ranks did together (text)",
     .allowed = "text, json",
     .offer = ARGS_OFFER_CHOICES,
     .take = args_take_format,
     .code = offsetof(analyze_options, ranks)},
    ARGS_HELP_ROW(analyze_options, help),
};

static int analyze_main(int argc, char **argv);

const args_command analyze_command = {
    .name = "analyze",
    .summary = "say what held up a program that another profiler recorded",
    .usage = "[--step NAME] [--reader NAME] [--no-python] [--sink NAME[:KEY=VALUE,...]] FILE|FOLDER ...",
    .description =
        "Reads the traces that torch.profiler writes (JSON, plain, gzip or zip), SQLite exports of Nsight Systems "
        "(nsys export --type sqlite), or the capture of a run (.pdcap), and prints what a run prints: the verdict, "
        "where the time went, and every table with --full. All sinks of a run can be used. A folder stands for all "
        "traces in it, and - for standard input.\n\n"
        "The steps are the ranges that --step names. Without --step they are the marks that the program set "
        "(ProfilerStep, or the iterations of vLLM and SGLang); without marks they are found from what its launches "
        "repeat. Where nothing repeats, the figures are of the whole file. Nothing is executed and no GPU is "
        "needed.\n\n"
        "With the traces of several ranks, it prints first what they did together: each rank's computing, "
        "communication and overlap, its waits apart from the transfers, and the rank that the others wait for, with "
        "its own cause. Collectives are matched by their order in a step, so the ranks need no common clock.",
    .options = rows,
    .option_count = sizeof rows / sizeof rows[0],
    .examples = "pdhost analyze trace.json.gz\tthe short report\n"
                "pdhost analyze --full trace.json\tevery table\n"
                "pdhost analyze --sink json trace.json\tthe figures as JSON\n"
                "pdhost analyze rank*.json.gz\tthe ranks of one job together",
    .takes_run_options = true,
    .words = ARGS_OFFER_FILE,
    .main = analyze_main};

/* With one run alone the outputs are the run's own: with its settings, and what it knew of itself. */
static bool is_run(const config *settings, const analyze_request *asked, const import_paths *paths) {
  return paths->count == 1 && import_reader_holds_run(settings, asked->reader, paths->files[0]);
}

/* False: none is left. */
static bool skip_others(const config *settings, const analyze_request *asked, import_paths *paths, error *err) {
  const uint32_t skipped = asked->reader ? 0 : import_paths_skip(paths, settings);
  if (!paths->count)
    error_set(err, PD_INVALID, FAULT_UNREADABLE,
              "analyze: none of the files in the folder is a trace (%u files); give one by its name to see why",
              skipped);
  else if (skipped)
    log_line(PD_LOG_WARN, NULL, "%u file%s of the folder skipped: %s", skipped, skipped == 1 ? "" : "s",
             skipped == 1 ? "it is not a trace" : "they are not traces");
  return paths->count > 0;
}

static int analyze_files(const analyze_request *asked, import_paths *paths, error *err) {
  config *settings = NULL;
  config_input input = *asked->input;
  input.is_analysis = true;
  input.reader = asked->reader;
  input.no_python = asked->no_python;
  if (config_load(&input, &settings, err) != PD_OK) return err->exit_code;
  settings->quiet = asked->quiet;
  if (!skip_others(settings, asked, paths, err)) {
    config_free(settings);
    return err->exit_code;
  }
  const import_request request = {.files = (const char *const *)paths->files,
                                  .in_folder = paths->in_folder,
                                  .file_count = paths->count,
                                  .reader = asked->reader,
                                  .step = asked->step,
                                  .ranks_json = asked->ranks_json};
  const int code = is_run(settings, asked, paths)
                       ? recover_run(settings, paths->files[0], asked->input, asked->sinks, asked->quiet, err)
                       : import_execute(settings, &request);
  config_free(settings);
  return code;
}

int analyze_run(const analyze_request *asked, error *err) {
  import_paths paths;
  const int code = import_paths_expand(&paths, asked->paths, asked->path_count, err) == PD_OK
                       ? analyze_files(asked, &paths, err)
                       : err->exit_code;
  import_paths_free(&paths);
  return code;
}

static int analyze(cli_args *args, const void *given, error *err) {
  const analyze_options *options = given;
  if (!args->word_count) {
    error_set(err, PD_INVALID, CODE_USAGE, "analyze: give the trace to read, as in pdhost analyze trace.json.gz");
    return CODE_USAGE;
  }
  const analyze_request request = {.paths = args->words,
                                   .path_count = args->word_count,
                                   .input = &args->input,
                                   .sinks = "table",
                                   .reader = options->reader,
                                   .step = options->step,
                                   .no_python = options->no_python,
                                   .ranks_json = options->ranks == ARGS_JSON,
                                   .quiet = args->quiet};
  return analyze_run(&request, err);
}

static int analyze_main(int argc, char **argv) {
  analyze_options options = {.help = false};
  const cli_frame frame = {
      .options = &options, .help = &options.help, .words = (uint32_t)argc, .work = analyze, .user = &options};
  return cli_frame_run(&analyze_command, &frame, argc, argv);
}
