/* See record_command.h. The work is record_job.c's. */
#include "record_command.h"

#include "record_job.h"

#include "base/log.h"
#include "base/self_path.h"
#include "base/shell_word.h"
#include "capture/record_board.h"
#include "config/cli_args.h"

#include <errno.h>
#include <stddef.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

typedef struct record_options {
  bool help, starts_on_signal, is_required, marks_torch, marks_modules, yields;
  const char *out, *cupti, *step, *pid;
  double duration_s, start_after_s, last_s;
  uint64_t steps;
  record_host_way host;
} record_options;

/* The whole time of a job, whose last seconds are kept. */
#define SHORTEST_LAST_S 0.1
#define LONGEST_LAST_S 600.0

/* Longer ones are asked for: a busy program writes some 20 MB a second. */
#define DURATION_S 60.0
#define UNSAID_S (-1.0)

static bool take_duration(void *user, const args_option *self, const char *value, error *err) {
  if (strcmp(value, "all") != 0) return args_take_seconds(user, self, value, err);
  ((record_options *)user)->duration_s = 0;
  return true;
}

static bool take_steps(void *user, const args_option *self, const char *value, error *err) {
  (void)self;
  (void)err;
  char *end;
  errno = 0;
  ((record_options *)user)->steps = strtoull(value, &end, 10);
  return !errno && !*end && value[0] >= '1' && value[0] <= '9';
}

static bool take_host(void *user, const args_option *self, const char *value, error *err) {
  static const char *const names[] = {"auto", "switches", "proc", "none"};
  (void)self;
  (void)err;
  for (size_t i = 0; i < sizeof names / sizeof names[0]; i++) {
    if (strcmp(value, names[i]) != 0) continue;
    ((record_options *)user)->host = (record_host_way)i;
    return true;
  }
  return false;
}

static const args_option rows[] = {
    {.name = "--out",
     .value = ARGS_REQUIRED,
     .argument = "FOLDER",
     .help = "write the results there (results/record/TIME-PID, and latest leads to it)",
     .offer = ARGS_OFFER_FOLDER,
     .take = args_take_text,
     .code = (int)offsetof(record_options, out)},
    {.name = "--duration",
     .value = ARGS_REQUIRED,
     .argument = "TIME",
     .help = "how long to record, from the first launch on: 30s, 5m, 1h (60s); all: until the program ends",
     .allowed = "a time of at most 24 hours, as in 30, 30s, 5m or 1h, or all",
     .take = take_duration,
     .code = (int)offsetof(record_options, duration_s)},
    {.name = "--steps",
     .value = ARGS_REQUIRED,
     .argument = "N",
     .help = "report the first N steps; where the program marks its steps, the recording ends after them",
     .allowed = "a whole number from 1 on",
     .take = take_steps},
    {.name = "--last",
     .value = ARGS_REQUIRED,
     .argument = "TIME",
     .help = "keep only the last 10s, 5m or another TIME, for as long as the program runs, and report them at its end, "
             "and when "
             "pdhost snapshot or SIGUSR2 asks for it",
     .allowed = "a time, as in 10, 10s or 5m",
     .take = args_take_seconds,
     .code = (int)offsetof(record_options, last_s)},
    {.name = "--start-after",
     .value = ARGS_REQUIRED,
     .argument = "TIME",
     .help = "let the program run for this time before the recording begins: 60s, 5m, 1h",
     .allowed = "a time of at most 24 hours, as in 60, 60s, 5m or 1h",
     .take = args_take_seconds,
     .code = (int)offsetof(record_options, start_after_s)},
    {.name = "--start-on-signal",
     .help = "begin the recording when pdhost gets SIGUSR2; end it at the next one",
     .take = args_take_flag,
     .code = (int)offsetof(record_options, starts_on_signal)},
    {.name = "--step",
     .value = ARGS_REQUIRED,
     .argument = "NAME",
     .help = "NVTX ranges of this name are the steps; NAME* stands for all that begin so",
     .take = args_take_text,
     .code = (int)offsetof(record_options, step)},
    {.name = "--torch",
     .help = "mark the steps of a PyTorch program, and its waits for a DataLoader, without a change to it",
     .take = args_take_flag,
     .code = (int)offsetof(record_options, marks_torch)},
    {.name = "--modules",
     .help = "as --torch, and mark the forward and the backward of its modules",
     .take = args_take_flag,
     .code = (int)offsetof(record_options, marks_modules)},
    {.name = "--yield",
     .help = "when the program's own torch.profiler starts, give CUPTI to it, and report what was recorded until then",
     .take = args_take_flag,
     .code = (int)offsetof(record_options, yields)},
    {.name = "--host-samples",
     .value = ARGS_REQUIRED,
     .argument = "HOW",
     .help = "how to see what launching threads wait for: context switches of the kernel, /proc alone, or none (auto)",
     .allowed = "auto, switches, proc, none",
     .offer = ARGS_OFFER_CHOICES,
     .take = take_host},
    {.name = "--cupti",
     .value = ARGS_REQUIRED,
     .argument = "FILE",
     .help = "the libcupti.so to use if the program has loaded none",
     .offer = ARGS_OFFER_FILE,
     .take = args_take_text,
     .code = (int)offsetof(record_options, cupti)},
    {.name = "--pid",
     .value = ARGS_REQUIRED,
     .argument = "PID",
     .help = "not offered: a program that runs already cannot be recorded; start it with record",
     .take = args_take_text,
     .code = (int)offsetof(record_options, pid)},
    {.name = "--require",
     .help = "exit with 6 if the program succeeds but nothing could be recorded",
     .take = args_take_flag,
     .code = (int)offsetof(record_options, is_required)},
    ARGS_HELP_ROW(record_options, help),
};

static int record_main(int argc, char **argv);

const args_command record_command = {
    .name = "record",
    .summary = "run a CUDA program as it is, and say what holds it up",
    .usage = "[--out FOLDER] [--duration TIME] [--steps N] [--start-after TIME] [--sink NAME[:KEY=VALUE,...]] -- "
             "COMMAND "
             "[ARGUMENTS]",
    .description =
        "Runs the command in this terminal and records what it and the processes that it starts do on NVIDIA GPUs: "
        "launches, kernels, copies, synchronisations, allocations and NVTX ranges. Nothing has to be changed, linked "
        "or installed, "
        "and no special rights are needed. A program that runs already cannot be recorded. Then it prints what a run "
        "prints: the verdict, where the time went, and every table with --full. No file is written unless a sink is "
        "asked for: --sink html is a page with the timeline.\n\n"
        "The program keeps its environment, its output, the signals that it gets and its exit code. A process that "
        "launches nothing leaves nothing. Whatever ends the program, the report is made of what it had done by then. "
        "The steps are the program's own marks (--torch or pdhost/mark.h), or the NVTX ranges that --step names. "
        "Otherwise they "
        "are found from what its launches repeat. Where nothing repeats, the figures are of the whole recording.\n\n"
        "While the device is idle, pdhost looks at the threads that launch, from outside: the report says whether they "
        "run, wait for a processor, or are blocked, and in which call. --host-samples none switches that off.\n\n"
        "--steps N ends the recording after N marked steps. Found steps are known only once the recording "
        "has ended, so that without marks it lasts as long as --duration says, and the report has its first N "
        "steps.\n\n"
        "-o run.keep_capture=true keeps the .pdcap files, from which pdhost analyze makes any output later.",
    .options = rows,
    .option_count = sizeof rows / sizeof rows[0],
    .examples = "pdhost record -- python train.py\tthe verdict after a minute\n"
                "pdhost record --torch -- python train.py\twith exact steps, and waits for the loader\n"
                "pdhost record --duration 30s --start-after 120s -- python train.py\tlater, and shorter\n"
                "pdhost record --last 10s -- python train.py\ta flight recorder: see pdhost snapshot\n"
                "pdhost record --sink chrome_trace -- ./simulate 7\ta timeline for Perfetto",
    .takes_run_options = true,
    .words = ARGS_OFFER_NOTHING,
    .main = record_main};

/* The library beside the plugins: in the build's tree, or where it was installed. */
static bool find_library(char *path, size_t room) {
  static const char *const below[] = {"/lib/pdhost/", "/" PDHOST_LIBDIR "/pdhost/"};
  char prefix[2048];
  if (!self_path_prefix(prefix, sizeof prefix)) return false;
  for (size_t i = 0; i < sizeof below / sizeof below[0]; i++)
    if ((size_t)snprintf(path, room, "%s%s" RECORD_LIBRARY, prefix, below[i]) < room && access(path, R_OK) == 0)
      return true;
  return false;
}

/* Where results go unless the user says so, below all that the user gives. */
static pd_status load_settings(cli_args *args, const record_options *options, config **out, error *err) {
  config_assignment *all = calloc(args->input.assignment_count + 2u, sizeof *all);
  uint32_t count = 0;
  if (!all) return error_set(err, PD_NO_MEMORY, CODE_INTERNAL, "record: out of memory");
  all[count++] = (config_assignment){"run", "trace_dir", "results/record/<time>-<pid>", "pdhost record"};
  if (args->input.assignment_count)
    memcpy(all + count, args->input.assignments, args->input.assignment_count * sizeof *all);
  count += args->input.assignment_count;
  if (options->out) all[count++] = (config_assignment){"run", "trace_dir", options->out, "--out"};
  config_input input = args->input;
  input.assignments = all;
  input.assignment_count = count;
  input.is_analysis = true;
  const pd_status status = config_load(&input, out, err);
  free(all);
  return status;
}

/* What the user typed, with the command, as one could type it again. */
static const char *whole_line(cli_args *args, char **command) {
  const char *own_part = args->input.command_line ? args->input.command_line : "record";
  size_t bytes = sizeof "pdhost " + strlen(own_part) + sizeof " --";
  for (char **word = command; *word; word++) bytes += shell_word_room(*word) + 1;
  char *line = text_pool_alloc(&args->memory, bytes), *at = line;
  if (!line) return own_part;
  at = stpcpy(stpcpy(stpcpy(at, "pdhost "), own_part), " --");
  for (char **word = command; *word; word++) at = shell_word_put(stpcpy(at, " "), *word);
  return line;
}

/* The last seconds are those before the program's end, unless the user says otherwise. */
static double duration_of(const record_options *options) {
  if (options->duration_s >= 0) return options->duration_s;
  return options->last_s > 0 ? 0 : DURATION_S;
}

static int record(cli_args *args, const record_options *options, char **command, error *err) {
  char library[2176] = "";
  config *settings = NULL;
  if (options->pid) {
    error_set(err, PD_INVALID, CODE_USAGE,
              "record: --pid %s: a program that runs already cannot be recorded; end it, and start it again as "
              "pdhost record -- COMMAND",
              options->pid);
    return CODE_USAGE;
  }
  if (args->word_count) {
    error_set(err, PD_INVALID, CODE_USAGE, "record: %s: write -- before the command, as in pdhost record -- %s",
              args->words[0], args->words[0]);
    return CODE_USAGE;
  }
  if (!command || !command[0]) {
    error_set(err, PD_INVALID, CODE_USAGE,
              "record: give the command to run after --, as in pdhost record -- python train.py");
    return CODE_USAGE;
  }
  if (options->last_s != UNSAID_S && (options->last_s < SHORTEST_LAST_S || options->last_s > LONGEST_LAST_S)) {
    error_set(err, PD_INVALID, CODE_USAGE, "record: --last %g: write a time from %g to %g seconds", options->last_s,
              SHORTEST_LAST_S, LONGEST_LAST_S);
    return CODE_USAGE;
  }
  if (options->last_s > 0 && options->steps) {
    error_set(err, PD_INVALID, CODE_USAGE,
              "record: --last and --steps: the one keeps the last, the other the first; "
              "give one of them");
    return CODE_USAGE;
  }
  if (load_settings(args, options, &settings, err) != PD_OK || !settings) return err->exit_code;
  settings->quiet = args->quiet;
  settings->command_line = whole_line(args, command);
  const bool found = find_library(library, sizeof library);
  if (!found)
    log_line(PD_LOG_WARN, NULL,
             RECORD_LIBRARY " is not beside pdhost's plugins; build pdhost where CUPTI's headers are; the program runs "
                            "unrecorded");
  const record_request request = {.command = command,
                                  .library = found ? library : NULL,
                                  .cupti = options->cupti,
                                  .step = options->step,
                                  .duration_s = duration_of(options),
                                  .last_s = options->last_s > 0 ? options->last_s : 0,
                                  .start_after_s = options->start_after_s,
                                  .host = options->host,
                                  .steps = options->steps,
                                  .starts_on_signal = options->starts_on_signal,
                                  .marks_torch = options->marks_torch || options->marks_modules,
                                  .marks_modules = options->marks_modules,
                                  .yields = options->yields,
                                  .is_required = options->is_required};
  const int code = record_job_run(settings, &request);
  config_free(settings);
  return code;
}

static int record_main(int argc, char **argv) {
  static error err; /* large; the main thread's alone */
  record_options options = {.duration_s = UNSAID_S, .last_s = UNSAID_S};
  int own_count = 0;
  error_clear(&err);
  while (own_count < argc && strcmp(argv[own_count], "--") != 0) own_count++;
  char **command = own_count < argc ? argv + own_count + 1 : NULL;
  const cli_own own = {.rows = rows,
                       .count = sizeof rows / sizeof rows[0],
                       .user = &options,
                       .words = (uint32_t)argc,
                       .where = "record: "};
  cli_args args;
  int code = cli_args_parse(&args, &own, own_count, argv, &err) == PD_OK ? CODE_DONE : err.exit_code;
  if (options.help) {
    error_clear(&err);
    args_print_help(&record_command);
    code = CODE_DONE;
  } else if (code == CODE_DONE) {
    code = record(&args, &options, command, &err);
  }
  error_print(&err);
  cli_args_free(&args);
  return code;
}
