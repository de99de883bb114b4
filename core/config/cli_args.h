/* The command line of a run as typed, taken apart: which files, which assignments, or what instead of a run. */
#ifndef CORE_CONFIG_CLI_ARGS_H
#define CORE_CONFIG_CLI_ARGS_H

#include "args.h"
#include "config.h"
#include "config_sections.h"
#include "base/log.h"

typedef enum cli_command {
  CLI_RUN = 0,
  CLI_HELP,
  CLI_VERSION,
  CLI_LIST,
  CLI_HELP_PLUGIN,
  CLI_HELP_SECTION,
  CLI_SHOW_CONFIG,
  CLI_CHECK,
  CLI_DRY_RUN,
  CLI_CHECK_PLUGIN,
  CLI_EXPLAIN
} cli_command;

typedef struct cli_args {
  cli_command command;
  const char *topic; /* of list, help-*, check-plugin, explain; NULL: none given */
  pd_kind kind;      /* of help-plugin; 0: any */
  bool json, quiet;
  bool empty;              /* no argument at all */
  const char *plugin_path; /* NULL: not given */
  config_input input;
  const char **words; /* those of the command's own, in order */
  uint32_t word_count;
  text_pool memory; /* of everything above */
} cli_args;

/* What --list takes. */
#define CLI_LISTS "scenarios, sinks, devices, readers, communicators, causes, metrics"

/* What a command adds to the options of a run; NULL: nothing. */
typedef struct cli_own {
  const args_option *rows;
  uint32_t count;
  void *user;
  uint32_t words;    /* how many words are its own; one before them names the run */
  const char *where; /* "ab: ", before each message */
} cli_own;

/* Mistakes are usage errors (CODE_USAGE), all collected. Sets log level and colour at once. */
pd_status cli_args_parse(cli_args *self, const cli_own *own, int argc, char **argv, error *err);
void cli_args_free(cli_args *self);

/* The options of a run, for help, manual pages and completion. */
const args_option *cli_args_options(uint32_t *count);

#endif
