/* The commands that are a run or say what there is to run: `pdhost`, `pdhost run`, list, help, explain. [main thread]
 */
#ifndef CORE_CLI_CLI_H
#define CORE_CLI_CLI_H

#include "config/args.h"

/* Everything that no other command takes: parse, dispatch, print errors once. Returns the process's exit code. */
int cli_main(int argc, char **argv);

extern const args_command cli_run_command, cli_list_command, cli_help_command, cli_explain_command;

#endif
