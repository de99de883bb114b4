/* See advise_command.h. */
#include "advise_command.h"

#include "work_folder.h"

#include "base/signals.h"
#include "config/cli_frame.h"
#include "run/ranks/rank_launch.h"

#include <stdio.h>

/* What a command looks with. */
typedef struct advice {
  const char *name;
  advise_look *look;
  const void *options;
} advice;

static int look_in_folder(cli_args *args, const void *given, error *err) {
  const advice *self = given;
  char folder[WORK_FOLDER_BYTES], inner[WORK_FOLDER_BYTES + 8];
  if (!rank_launch_is_alone(self->name, err)) return err->exit_code;
  if (!work_folder_make(self->name, folder, err)) return err->exit_code;
  snprintf(inner, sizeof inner, "%s/run", folder);
  signals_install(NULL, NULL);
  const int code = self->look(self->options, args, inner, err);
  signals_restore();
  work_folder_remove(folder);
  return code;
}

int advise_command_run(const args_command *command, void *options, const bool *help, advise_look *look, int argc,
                       char **argv) {
  const advice of = {.name = command->name, .look = look, .options = options};
  const cli_frame frame = {.options = options, .help = help, .only_run = true, .work = look_in_folder, .user = &of};
  return cli_frame_run(command, &frame, argc, argv);
}
