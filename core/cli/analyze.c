/* See analyze.h: the command line. The work is core/run/import/import.c's. */
#include "analyze.h"

#include "recover.h"

#include "config/cli_args.h"
#include "run/import/import.h"
#include "run/import/import_paths.h"
#include "run/import/import_windows.h"

#include <stddef.h>
#include <string.h>

typedef struct analyze_options {
  bool help;
  const char *reader, *step;
  bool ranks_json;
} analyze_options;

static bool take_reader(void *user, const args_option *self, const char *value, error *err) {
  (void)self;
  (void)err;
  ((analyze_options *)user)->reader = value;
  return true;
}

static bool take_step(void *user, const args_option *self, const char *value, error *err) {
  (void)self;
  (void)err;
  ((analyze_options *)user)->step = value;
  return true;
}

static bool take_ranks(void *user, const args_option *self, const char *value, error *err) {
  analyze_options *options = user;
  (void)self;
  (void)err;
  options->ranks_json = strcmp(value, "json") == 0;
  return options->ranks_json || strcmp(value, "text") == 0;
}

static const args_option rows[] = {
    {.name = "--reader",
     .value = ARGS_REQUIRED,
     .argument = "NAME",
     .help = "read the files with this reader, a name or the path of a plugin; without it, the files say which one",
     .take = take_reader},
    {.name = "--step",
     .value = ARGS_REQUIRED,
     .argument = "NAME",
     .help = "ranges of this name are the steps (record_function, NVTX)",
     .take = take_step},
    {.name = "--ranks",
     .value = ARGS_REQUIRED,
     .argument = "text|json",
     .help = "how to print what several ranks did together (text)",
     .allowed = "text, json",
     .offer = ARGS_OFFER_CHOICES,
     .take = take_ranks},
    ARGS_HELP_ROW(analyze_options, help),
};

static int analyze_main(int argc, char **argv);

const args_command analyze_command = {
    .name = "analyze",
    .summary = "say what held up a program that another profiler recorded",
    .usage = "[--step NAME] [--reader NAME] [--sink NAME[:KEY=VALUE,...]] FILE|FOLDER ...",
    .description =
        "Reads the traces that torch.profiler writes (JSON, plain, gzip or zip), SQLite exports of Nsight Systems "
        "(nsys "
        "export --type sqlite), or the capture of a run (.pdcap), and "
        "prints what a run prints: the verdict, "
        "where the time went, and every table with --full. All sinks of a run take the window, too. Of a "
        "folder, all traces in it are read; - is standard input.\n\n"
        "Steps are the ranges that --step names, else the marks that the program set (ProfilerStep), else what its "
        "launches repeat. Where nothing repeats, the figures are of the whole file. Nothing is executed and no GPU is "
        "needed.\n\n"
        "Of the traces of several ranks, what they did together is printed last: each rank's computing, communication "
        "and overlap, its waits apart from the transfers, and the rank that the others wait for, with its own cause. "
        "Collectives are matched by their order in a step, so the ranks need no common clock.",
    .options = rows,
    .option_count = sizeof rows / sizeof rows[0],
    .examples = "pdhost analyze trace.json.gz\tthe short report\n"
                "pdhost analyze --full trace.json\tevery table\n"
                "pdhost analyze --sink json trace.json\tthe figures as JSON\n"
                "pdhost analyze rank*.json.gz\tthe ranks of one job together",
    .takes_run_options = true,
    .words = ARGS_OFFER_FILE,
    .main = analyze_main};

static int analyze_files(cli_args *args, const analyze_options *options, const import_paths *paths, error *err) {
  config *settings = NULL;
  args->input.is_analysis = true;
  args->input.reader = options->reader;
  if (config_load(&args->input, &settings, err) != PD_OK) return err->exit_code;
  settings->quiet = args->quiet;
  const import_request request = {.files = (const char *const *)paths->files,
                                  .file_count = paths->count,
                                  .reader = options->reader,
                                  .step = options->step,
                                  .ranks_json = options->ranks_json};
  const int code = import_execute(settings, &request);
  config_free(settings);
  return code;
}

static int analyze(cli_args *args, const analyze_options *options, error *err) {
  if (!args->word_count) {
    error_set(err, PD_INVALID, CODE_USAGE, "analyze: give the trace to read, as in pdhost analyze trace.json.gz");
    return CODE_USAGE;
  }
  if (args->word_count == 1 && !options->reader && import_is_capture(args->words[0]))
    return recover_run(args->words[0], &args->input, "table", args->quiet, err);
  import_paths paths;
  const int code = import_paths_expand(&paths, args->words, args->word_count, err) == PD_OK
                       ? analyze_files(args, options, &paths, err)
                       : err->exit_code;
  import_paths_free(&paths);
  return code;
}

static int analyze_main(int argc, char **argv) {
  static error err; /* large; the main thread's alone */
  error_clear(&err);
  analyze_options options = {.help = false};
  const cli_own own = {.rows = rows,
                       .count = sizeof rows / sizeof rows[0],
                       .user = &options,
                       .words = (uint32_t)argc,
                       .where = "analyze: "};
  cli_args args;
  int code = cli_args_parse(&args, &own, argc, argv, &err) == PD_OK ? CODE_DONE : err.exit_code;
  if (options.help) {
    error_clear(&err);
    args_print_help(&analyze_command);
    code = CODE_DONE;
  } else if (code == CODE_DONE) {
    code = analyze(&args, &options, &err);
  }
  error_print(&err);
  cli_args_free(&args);
  return code;
}
