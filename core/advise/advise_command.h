/* What whatif and causal have in common: the options of a run beside their own, and a folder for the run that they
 * record, which goes with them. [main thread] */
#ifndef CORE_ADVISE_ADVISE_COMMAND_H
#define CORE_ADVISE_ADVISE_COMMAND_H

#include "config/cli_args.h"

/* The work itself; the run goes to `folder`, which is not there yet. Returns the exit code, or that of `err`. */
typedef int advise_look(const void *options, const cli_args *args, const char *folder, error *err);

/* Reads the arguments into `options`, as the command's rows say. Prints the command's help if that sets `help`, else
 * does the work. Prints errors, and returns the exit code. */
int advise_command_run(const args_command *command, void *options, const bool *help, advise_look *look, int argc,
                       char **argv);

#endif
