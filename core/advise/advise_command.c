/* See advise_command.h. */
#include "advise_command.h"

#include "work_folder.h"

#include "base/signals.h"

#include <stdio.h>

static int look_in_folder(const char *name, advise_look *look, const void *options, const cli_args *args, error *err) {
  char folder[WORK_FOLDER_BYTES], inner[WORK_FOLDER_BYTES + 8];
  if (!work_folder_make(name, folder, err)) return err->exit_code;
  snprintf(inner, sizeof inner, "%s/run", folder);
  signals_install(NULL, NULL);
  const int code = look(options, args, inner, err);
  signals_restore();
  work_folder_remove(folder);
  return code;
}

int advise_command_run(const args_command *command, void *options, const bool *help, advise_look *look, int argc,
                       char **argv) {
  static error err; /* large; the main thread's alone */
  char where[32];
  error_clear(&err);
  snprintf(where, sizeof where, "%s: ", command->name);
  const cli_own own = {
      .rows = command->options, .count = command->option_count, .user = options, .words = 0, .where = where};
  cli_args args;
  (void)cli_args_parse(&args, &own, argc, argv, &err);
  if (*help) {
    error_clear(&err);
    args_print_help(command);
  } else if (!err.count && args.command != CLI_RUN) {
    error_set(&err, PD_INVALID, CODE_USAGE, "%s: only options of a run are expected; see pdhost %s --help",
              command->name, command->name);
  }
  int code = err.count ? err.exit_code : CODE_DONE;
  if (!err.count && !*help) code = look_in_folder(command->name, look, options, &args, &err);
  error_print(&err);
  cli_args_free(&args);
  return code;
}
