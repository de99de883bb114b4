/* The command line of a run; see cli_args.h. */
#include "cli_rows.h"

#include "run_name.h"

#include "base/shell_word.h"
#include "base/version.h"

#include <string.h>

/* As one could type it again. */
static const char *command_line(cli_builder *b, int argc, char **argv) {
  size_t room = 1;
  for (int i = 0; i < argc; i++) room += shell_word_room(argv[i]) + 1;
  char *line = text_pool_alloc(&b->args->memory, room), *at = line;
  if (!line) {
    b->failed = true;
    return "";
  }
  for (int i = 0; i < argc; i++) at = shell_word_put(i ? stpcpy(at, " ") : at, argv[i]);
  return line;
}

static bool take_word(void *user, const char *word, error *err) {
  cli_builder *b = user;
  (void)err;
  b->args->words[b->args->word_count++] = word;
  return true;
}

/* Room for one assignment per argument, and per comma of a --sink. */
static bool make_room(cli_builder *b, int argc, char **argv) {
  size_t room = (size_t)argc + 3;
  for (int i = 1; i < argc; i++)
    for (const char *at = argv[i]; *at; at++) room += *at == ',';
  b->args->words = text_pool_alloc(&b->args->memory, room * sizeof *b->args->words);
  b->files = text_pool_alloc(&b->args->memory, room * sizeof *b->files);
  b->options = text_pool_alloc(&b->args->memory, room * sizeof *b->options);
  b->named = text_pool_alloc(&b->args->memory, 2 * room * sizeof *b->named);
  return b->args->words && b->files && b->options && b->named;
}

/* The lists as one: what the name of the run means comes after all else. */
static pd_status gather(cli_builder *b, const char *name, error *err) {
  cli_args *self = b->args;
  run_name meant = {.path = NULL};
  if (name && run_name_find(name, self->plugin_path, &self->memory, &meant, err) != PD_OK) return err->status;
  if (b->sinks) b->named[b->named_count++] = cli_rows_assign("run", "sinks", b->sinks);
  if (self->plugin_path) b->named[b->named_count++] = cli_rows_assign("run", "plugin_path", self->plugin_path);
  const uint32_t before = meant.scenario ? 1 : 0;
  config_assignment *all = text_pool_alloc(&self->memory, (before + b->option_count + b->named_count) * sizeof *all);
  if (!all || b->failed) return error_no_memory(err);
  if (before) all[0] = cli_rows_assign("run", "scenario", meant.scenario);
  if (b->option_count) memcpy(all + before, b->options, b->option_count * sizeof *all);
  if (b->named_count) memcpy(all + before + b->option_count, b->named, b->named_count * sizeof *all);
  if (meant.path) {
    memmove(b->files + 1, b->files, self->input.file_count * sizeof *b->files);
    b->files[0] = meant.path;
    self->input.file_count++;
  }
  for (uint32_t i = 0; i < self->input.file_count; i++) {
    const char *found = run_name_file(b->files[i], &self->memory);
    if (found) b->files[i] = found;
  }
  self->input.files = b->files;
  self->input.assignments = all;
  self->input.assignment_count = before + b->option_count + b->named_count;
  return PD_OK;
}

/* --help is taken beside other mistakes, but a misspelt command would get the page of another one. */
static pd_status find_page(cli_args *self, const char *name, error *err) {
  run_name meant;
  if (!name || run_name_is_command(name)) return PD_OK;
  return run_name_find(name, self->plugin_path, &self->memory, &meant, err);
}

pd_status cli_args_parse(cli_args *self, const cli_own *own, int argc, char **argv, error *err) {
  *self = (cli_args){.empty = argc < 2};
  cli_builder b = {.args = self};
  if (!make_room(&b, argc, argv)) return error_no_memory(err);
  args_set sets[2] = {{.rows = own ? own->rows : NULL, .count = own ? own->count : 0, .user = own ? own->user : NULL},
                      {.user = &b}};
  sets[1].rows = cli_args_options(&sets[1].count);
  (void)args_parse(sets, 2, take_word, &b, own ? own->where : "", argc, argv, err);
  self->input.command_line = command_line(&b, argc, argv);
  if (b.log && log_open_file(b.log, err) == PD_OK)
    log_say(false, "pdhost %s: %s", version_text(), self->input.command_line);
  const uint32_t words = own ? own->words : 0; /* the command's own, the last ones */
  const bool has_name = self->word_count > words;
  const char *name = has_name ? self->words[0] : NULL;
  if (has_name) {
    self->words++;
    self->word_count--;
  }
  if (self->command == CLI_HELP) {
    error_clear(err);
    return own ? PD_OK : find_page(self, name, err);
  }
  if (err->status != PD_NO_MEMORY && gather(&b, name, err) == PD_OK)
    for (uint32_t i = words; i < self->word_count; i++) run_name_unexpected(self->words[i], self->plugin_path, err);
  return err->count ? err->status : PD_OK;
}

void cli_args_free(cli_args *self) { text_pool_free(&self->memory); }
