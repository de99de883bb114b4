/* The command line as typed, taken apart: which command, which files, which assignments. cli.c's alone. */
#ifndef CORE_HOST_CLI_ARGS_H
#define CORE_HOST_CLI_ARGS_H

#include "config.h"
#include "config_sections.h"
#include "log.h"

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
  text_pool memory; /* of everything above */
} cli_args;

/* Mistakes are usage errors (CODE_USAGE), all collected. Sets log level and colour at once. */
pd_status cli_args_parse(cli_args *self, int argc, char **argv, error *err);
/* The same for a command that takes words: those that stand alone go to `words` (room for argc), in order. */
pd_status cli_args_parse_words(cli_args *self, int argc, char **argv, const char **words, uint32_t *word_count,
                               error *err);
void cli_args_free(cli_args *self);

#endif
