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

typedef struct one_word {
  const char *command;
  const cli_own_frame *frame;
} one_word;

static bool take_word(void *user, const char *word, error *err) {
  const one_word *self = user;
  const char **first = self->frame->word;
  if (*first && self->frame->one)
    error_add(err, PD_INVALID, CODE_USAGE, "%s: expected one %s, got '%s' and '%s'", self->command, self->frame->one,
              *first, word);
  else if (*first)
    error_add(err, PD_INVALID, CODE_USAGE, "%s: unexpected argument '%s'", self->command, word);
  *first = word;
  return true;
}

int cli_own_frame_run(const args_command *command, const cli_own_frame *self, int argc, char **argv) {
  static error err; /* large; the main thread's alone */
  char where[32];
  one_word words = {command->name, self};
  args_set set = {.rows = command->options, .count = command->option_count, .user = self->options};
  error_clear(&err);
  snprintf(where, sizeof where, "%s: ", command->name);
  (void)args_parse(&set, 1, take_word, &words, where, argc, argv, &err);
  int code = CODE_DONE;
  if (*self->help) {
    error_clear(&err);
    args_print_help(command);
  } else if (!err.count) {
    code = self->work(self->options, &err);
  }
  error_print(&err);
  return err.count ? err.exit_code : code;
}
