/* See cli_frame.h. */
#include "cli_frame.h"

#include <stdio.h>

int cli_frame_run(const args_command *command, const cli_frame *self, int argc, char **argv) {
  static error err; /* large; the main thread's alone */
  char where[32];
  error_clear(&err);
  snprintf(where, sizeof where, "%s: ", command->name);
  const cli_own own = {.rows = command->options,
                       .count = command->option_count,
                       .user = self->options,
                       .words = self->words,
                       .where = where};
  cli_args args;
  (void)cli_args_parse(&args, &own, argc, argv, &err);
  if (*self->help) {
    error_clear(&err);
    args_print_help(command);
  } else if (!err.count && self->only_run && args.command != CLI_RUN) {
    error_set(&err, PD_INVALID, CODE_USAGE, "%s: only options of a run are expected; see pdhost %s --help",
              command->name, command->name);
  }
  int code = err.count ? err.exit_code : CODE_DONE;
  if (!err.count && !*self->help) code = self->work(&args, self->user, &err);
  error_print(&err);
  cli_args_free(&args);
  return code;
}
