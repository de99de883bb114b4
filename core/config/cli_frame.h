/* The frames of the commands: arguments, help, work, errors. [main thread] */
#ifndef CORE_CONFIG_CLI_FRAME_H
#define CORE_CONFIG_CLI_FRAME_H

#include "cli_args.h"

/* A command that takes the options of a run. Its work returns the exit code, or that of `err`. */
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

/* A command that takes its own options alone, and one word at the most. Where `work` sets `err`, the exit code is that
 * of `err`. */
typedef int cli_own_work(const void *options, error *err);

typedef struct cli_own_frame {
  void *options;     /* what the command's rows set */
  const bool *help;  /* as above */
  const char **word; /* one of the options: the word */
  const char *one;   /* "process", for the message about a second word; NULL: it is called unexpected */
  cli_own_work *work;
} cli_own_frame;

int cli_own_frame_run(const args_command *command, const cli_own_frame *self, int argc, char **argv);

#endif
