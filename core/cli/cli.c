/* See cli.h. */
#include "cli.h"

#include "list.h"
#include "probe.h"
#include "trial.h"
#include "cli/help/explain.h"
#include "cli/help/help.h"

#include "measure/benchmark.h"
#include "conform/check_plugin.h"
#include "config/cli_args.h"
#include "abi/device_text.h"
#include "run/plan.h"
#include "run/run.h"
#include "base/version.h"

#include <stdio.h>
#include <string.h>

/* Decides what "auto" is without a device being opened in this process. */
static int dry_run(config *loaded, error *err) {
  char said[1024] = "", reason[256] = "";
  if (loaded->device_auto) {
    const bool has_gpu = probe_device(loaded->run.plugin_path, "cuda", said, sizeof said);
    if (!has_gpu) device_reason_short(said, reason, sizeof reason);
    if (config_load_device(loaded, has_gpu ? "cuda" : "cpu", err) != PD_OK) return err->exit_code;
  }
  plan_print(loaded, reason);
  if (strcmp(loaded->run.mode, "benchmark") != 0) trial_print(loaded);
  return CODE_DONE;
}

/* Commands that need the configuration; the run among them. Returns the exit code. */
static int with_config(const cli_args *args, error *err) {
  config *loaded = NULL;
  config_input input = args->input;
  input.tries_plugins = args->command != CLI_RUN;
  if (config_load(&input, &loaded, err) != PD_OK) return err->exit_code;
  loaded->quiet = args->quiet;
  int code = CODE_DONE;
  switch (args->command) {
  case CLI_SHOW_CONFIG: config_print(loaded); break;
  case CLI_CHECK: printf("configuration OK\n"); break;
  case CLI_DRY_RUN: code = dry_run(loaded, err); break;
  default: code = strcmp(loaded->run.mode, "benchmark") == 0 ? benchmark_execute(loaded) : run_execute(loaded); break;
  }
  config_free(loaded);
  return code;
}

static pd_status with_plugins(const cli_args *args, error *err) {
  plugins_warn_of_missing(args->plugin_path, "command line");
  plugins *all = plugins_open(args->plugin_path);
  if (!all) return error_no_memory(err);
  const pd_status status = args->command == CLI_LIST ? list_print(all, args->topic, args->json, err)
                                                     : help_plugin(all, args->kind, args->topic, args->json, err);
  plugins_close(all);
  return status;
}

/* --device; NULL: not given. */
static const char *device_of(const cli_args *args) {
  const char *device = NULL;
  for (uint32_t i = 0; i < args->input.assignment_count; i++) {
    const config_assignment *at = &args->input.assignments[i];
    if (strcmp(at->section, "run") == 0 && strcmp(at->key, "device") == 0) device = at->value;
  }
  return device;
}

static int execute(const cli_args *args, error *err) {
  if (args->empty) {
    error_set(err, PD_INVALID, CODE_USAGE, "nothing to run; try pdhost dataloader, pdhost --list or pdhost --help");
    return CODE_USAGE;
  }
  switch (args->command) {
  case CLI_HELP: help_print(); return CODE_DONE;
  case CLI_VERSION: version_print(); return CODE_DONE;
  case CLI_LIST:
  case CLI_HELP_PLUGIN: return with_plugins(args, err) == PD_OK ? CODE_DONE : err->exit_code;
  case CLI_HELP_SECTION: return help_section(args->topic, args->json, err) == PD_OK ? CODE_DONE : err->exit_code;
  case CLI_CHECK_PLUGIN:
    if (args->input.file_count) {
      error_set(err, PD_INVALID, CODE_USAGE, "--check-plugin: reads no -c; give the plugin's keys by -o");
      return CODE_USAGE;
    }
    plugins_warn_of_missing(args->plugin_path, "command line");
    return check_plugin(args->topic, device_of(args), args->plugin_path, &args->input);
  case CLI_EXPLAIN: return explain_print(args->topic, err) == PD_OK ? CODE_DONE : err->exit_code;
  default: return with_config(args, err);
  }
}

static int run_words(int argc, char **argv, error *err) {
  cli_args args;
  int code = cli_args_parse(&args, NULL, argc, argv, err) == PD_OK ? CODE_DONE : err->exit_code;
  if (code == CODE_DONE) code = execute(&args, err);
  cli_args_free(&args);
  return code;
}

int cli_main(int argc, char **argv) {
  static error err; /* large; the main thread's alone */
  error_clear(&err);
  const int code = run_words(argc, argv, &err);
  error_print(&err);
  return code;
}

/* ---- the commands ---- */

static bool asks_for_help(int argc, char **argv) {
  return argc > 1 && (strcmp(argv[1], "--help") == 0 || strcmp(argv[1], "-h") == 0);
}

static int run_main(int argc, char **argv) {
  argv[0] = argv[-1]; /* the word run may be left out */
  if (!asks_for_help(argc, argv)) return cli_main(argc, argv);
  args_command page = cli_run_command;
  page.options = cli_args_options(&page.option_count);
  page.takes_run_options = false;
  args_print_help(&page);
  return CODE_DONE;
}

/* "list sinks" is --list sinks. */
static int as_option(const args_command *self, char *option, int argc, char **argv) {
  if (asks_for_help(argc, argv)) {
    args_print_help(self);
    return CODE_DONE;
  }
  argv[0] = option; /* after the program's name */
  return cli_main(argc + 1, argv - 1);
}

static int list_main(int argc, char **argv) {
  static char option[] = "--list";
  return as_option(&cli_list_command, option, argc, argv);
}

static int explain_main(int argc, char **argv) {
  static char option[] = "--explain";
  return as_option(&cli_explain_command, option, argc, argv);
}

static int help_main(int argc, char **argv) {
  static error err; /* large; the main thread's alone */
  error_clear(&err);
  if (asks_for_help(argc, argv))
    args_print_help(&cli_help_command);
  else if (argc < 2)
    help_print();
  else
    (void)help_topic(argv + 1, (uint32_t)argc - 1, &err);
  error_print(&err);
  return err.count ? err.exit_code : CODE_DONE;
}

const args_command cli_run_command = {
    .name = "run",
    .summary = "run a scenario and say what holds it up",
    .usage = "[NAME] [-c FILE ...] [options]",
    .description =
        "Trains a small network with a known bottleneck built in, records it, and prints what held it up. The word run "
        "may be left out.\n\n"
        "NAME is a configuration (conf/NAME.ini here, or one that is installed with pdhost), or else a scenario of "
        "pdhost --list. Files given with -c are read after it. Options on the command line win over files.",
    .examples = "pdhost dataloader\tone of the shipped configurations\n"
                "pdhost run sync --device cpu --batch_size 32\twith other settings\n"
                "pdhost -c my.ini -o data.num_workers=8\ta file of your own, and one key changed\n"
                "pdhost dataloader --dry-run\tonly show what it would do",
    .takes_run_options = true,
    .words = ARGS_OFFER_CONFIG,
    .main = run_main};

const args_command cli_list_command = {
    .name = "list",
    .summary = "list plugins, causes of a verdict, and metrics",
    .usage = "[KIND] [--format json] [--plugin-path FOLDER]",
    .description =
        "KIND is scenarios, sinks, devices, readers, communicators, causes or metrics; without it, all plugins are "
        "listed. Shows what pdhost can run, where each plugin lies, and why a plugin is rejected or a device cannot be "
        "used here. pdhost --list is the same.",
    .words = ARGS_OFFER_CHOICES,
    .main = list_main};

const args_command cli_help_command = {
    .name = "help",
    .summary = "explain a command, a section, a key or a concept",
    .usage = "[TOPIC]",
    .description =
        "TOPIC is a command, a section of the configuration, a key (num_workers or data.num_workers), a plugin, "
        "a metric, a cause of the verdict, an error code (PDH-0301), or a concept: schedule, verdict, overlay.",
    .examples = "pdhost help sweep\npdhost help data.num_workers\npdhost help schedule",
    .words = ARGS_OFFER_TOPIC,
    .main = help_main};

const args_command cli_explain_command = {
    .name = "explain",
    .summary = "explain a word of the output: a column, a cause, an error code",
    .usage = "WORD",
    .description = "WORD is the heading of a column, a key of a file that pdhost writes, a word of the verdict such as "
                   "input_bound, or an error code such as PDH-0301. pdhost --explain WORD is the same.",
    .examples = "pdhost explain data_wait\npdhost explain 'Self CPU'",
    .words = ARGS_OFFER_TOPIC,
    .main = explain_main};
