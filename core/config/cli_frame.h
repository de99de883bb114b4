/* The frame of every command that takes the options of a run: its arguments, its help, its work, its errors.
 * [main thread] */
#ifndef CORE_CONFIG_CLI_FRAME_H
#define CORE_CONFIG_CLI_FRAME_H

#include "cli_args.h"

/* The work of a command. Returns the exit code, or that of `err`. */
typedef int cli_work(cli_args *args, const void *user, error *err);

typedef struct cli_frame {
  void *options;    /* what the command's rows set */
  const bool *help; /* one of the options: the page of help is asked for */
  uint32_t words;   /* how many words are the command's own; one before them names the run */
  bool only_run;    /* --list, --dry-run and the like are refused */
  cli_work *work;
  const void *user; /* of `work` */
} cli_frame;

/* Parses the arguments. Prints the command's page where that is asked for, else does the work. Prints the errors, and
 * returns the exit code. */
int cli_frame_run(const args_command *command, const cli_frame *self, int argc, char **argv);

#endif
