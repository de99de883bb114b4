/* See init.h. */
#include "init.h"

#include "init_file.h"
#include "init_plugin.h"

#include "config/cli_frame.h"

#include <stddef.h>
#include <stdio.h>
#include <string.h>

typedef struct init_options {
  bool help, cpp;
  pd_kind kind;         /* 0: a configuration file */
  const char *name;     /* of the plugin */
  const char *scenario; /* of the configuration file */
  const char *path;     /* FILE.ini or DIR; NULL: not given */
} init_options;

/* `code` is the kind. */
static bool take_kind(void *user, const args_option *self, const char *value, error *err) {
  init_options *options = user;
  if (options->kind) {
    error_add(err, PD_INVALID, CODE_USAGE, "init: %s: one plugin is written at a time", self->name);
    return true;
  }
  options->kind = (pd_kind)self->code;
  options->name = value;
  return true;
}

static bool take_language(void *user, const args_option *self, const char *value, error *err) {
  init_options *options = user;
  (void)self;
  (void)err;
  options->cpp = strcmp(value, "c++") == 0;
  return options->cpp || strcmp(value, "c") == 0;
}

static const args_option rows[] = {
    {.name = "--for",
     .value = ARGS_REQUIRED,
     .argument = "SCENARIO",
     .help = "the scenario of the configuration file; default: dataloader",
     .group = "a configuration file",
     .offer = ARGS_OFFER_SCENARIO,
     .take = args_take_text,
     .code = offsetof(init_options, scenario)},
    {.name = "--scenario",
     .value = ARGS_REQUIRED,
     .argument = "NAME",
     .help = "a plugin that decides what a training step does",
     .group = "a plugin",
     .take = take_kind,
     .code = PD_KIND_SCENARIO},
    {.name = "--sink",
     .value = ARGS_REQUIRED,
     .argument = "NAME",
     .help = "a plugin that writes what a run measured",
     .take = take_kind,
     .code = PD_KIND_SINK},
    {.name = "--device",
     .value = ARGS_REQUIRED,
     .argument = "NAME",
     .help = "a plugin that computes: memory, streams, operations, records",
     .take = take_kind,
     .code = PD_KIND_DEVICE},
    {.name = "--reader",
     .value = ARGS_REQUIRED,
     .argument = "NAME",
     .help = "a plugin that reads what another profiler wrote",
     .take = take_kind,
     .code = PD_KIND_READER},
    {.name = "--lang",
     .value = ARGS_REQUIRED,
     .argument = "LANGUAGE",
     .help = "c or c++ (C++20; a scenario or a sink); default: c",
     .allowed = "c, c++",
     .offer = ARGS_OFFER_CHOICES,
     .take = take_language},
    ARGS_HELP_ROW(init_options, help),
};

static int init_main(int argc, char **argv);

const args_command init_command = {
    .name = "init",
    .summary = "write a configuration file, or the files of a new plugin",
    .usage = "[--for SCENARIO] [FILE.ini]\n--scenario|--sink|--device|--reader NAME [--lang c++] [DIR]",
    .description =
        "Writes a configuration file with every key: what it does, its unit, range and default. Every key but "
        "[run] scenario is commented out. Without FILE.ini the file is pdhost.ini.\n\n"
        "With --scenario, --sink, --device or --reader it writes a plugin that builds, runs and passes --check-plugin "
        "as it is: "
        "source, CMakeLists.txt, Makefile and README.md, in DIR or in a folder of the plugin's name. Edit it from "
        "there.\n\n"
        "An existing file is never changed: init names it and writes nothing.",
    .options = rows,
    .option_count = sizeof rows / sizeof rows[0],
    .examples = "pdhost init my.ini\tevery key, with its default\n"
                "pdhost init --scenario stall\ta scenario in C, in stall/\n"
                "pdhost init --sink feed --lang c++ feed\ta sink in C++",
    .words = ARGS_OFFER_FILE,
    .main = init_main};

static bool ends_in_ini(const char *path) {
  const size_t bytes = strlen(path);
  return bytes > 4 && strcmp(path + bytes - 4, ".ini") == 0;
}

static int execute(const void *user, error *err) {
  const init_options *options = user;
  if (options->kind && options->scenario)
    error_set(err, PD_INVALID, CODE_USAGE, "init: --for belongs to a configuration file, not to a plugin");
  else if (options->kind)
    (void)init_plugin(options->kind, options->name, options->cpp, options->path ? options->path : options->name, err);
  else if (options->cpp)
    error_set(err, PD_INVALID, CODE_USAGE, "init: --lang belongs to a plugin: give --scenario or --sink NAME too");
  else if (options->path && !ends_in_ini(options->path))
    error_set(err, PD_INVALID, CODE_USAGE,
              "init: '%s' does not end in .ini; for a plugin: pdhost init --scenario NAME [DIR]", options->path);
  else
    (void)init_file(options->path ? options->path : "pdhost.ini", options->scenario ? options->scenario : "dataloader",
                    err);
  return CODE_DONE;
}

static int init_main(int argc, char **argv) {
  init_options options = {.help = false};
  const cli_own_frame frame = {&options, &options.help, &options.path, NULL, execute};
  return cli_own_frame_run(&init_command, &frame, argc, argv);
}
