/* See cell.h. A folder holds the command that filled it, written last: so an interrupted run is not taken for whole. */
#include "cell.h"

#include "host/files.h"

#include <errno.h>
#include <fcntl.h>
#include <signal.h>
#include <spawn.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/wait.h>
#include <unistd.h>

enum { MAX_ARGUMENTS = 256, ARGUMENT_BYTES = 1024, COMMAND_BYTES = 16384 };

/* ---- the command ---- */

typedef struct command {
  char *words[MAX_ARGUMENTS + 1];
  uint32_t count;
  char text[COMMAND_BYTES]; /* the words, one a line: what the folder remembers */
} command;

static void word(command *self, const char *text) {
  if (self->count == MAX_ARGUMENTS) return;
  self->words[self->count] = strdup(text);
  if (!self->words[self->count]) return;
  self->count++;
  const size_t used = strlen(self->text);
  snprintf(self->text + used, sizeof self->text - used, "%s\n", text);
}

static void setting(command *self, const char *key, const char *value) {
  char text[2 * ARGUMENT_BYTES];
  snprintf(text, sizeof text, "%s=%s", key, value);
  word(self, "-o");
  word(self, text);
}

/* Each word of `list` behind `flag`; words that are the flag already are left out. */
static void words(command *self, const char *flag, const char *list) {
  while (*list) {
    const size_t length = strcspn(list, " ");
    char text[ARGUMENT_BYTES];
    snprintf(text, sizeof text, "%.*s", (int)length, list);
    if (length && strcmp(text, flag) != 0) {
      word(self, flag);
      word(self, text);
    }
    list += length;
    list += strspn(list, " ");
  }
}

static void make_command(command *self, const corpus *all, const corpus_cell *cell, const char *fix,
                         const char *program, const char *folder) {
  const corpus_group *group = &all->groups[cell->group];
  char text[ARGUMENT_BYTES];
  word(self, program);
  word(self, "-q");
  for (uint32_t i = 0; i < all->set_count; i++) words(self, "-o", all->sets[i]);
  if (all->size_count) words(self, "-o", all->sizes[cell->size]);
  word(self, "--scenario");
  word(self, group->scenario);
  words(self, "-o", group->set);
  snprintf(text, sizeof text, "%u", cell->seed);
  setting(self, "run.seed", text);
  if (cell->dial != CORPUS_GROUPS)
    setting(self, all->groups[cell->dial].dial, all->groups[cell->dial].values[cell->value]);
  if (fix) words(self, "-o", fix);
  setting(self, "run.trace_dir", folder);
  word(self, "--sink");
  word(self, "window");
  words(self, "--sink", all->sinks);
}

static void free_command(command *self) {
  for (uint32_t i = 0; i < self->count; i++) free(self->words[i]);
}

/* ---- the run ---- */

static bool same_command(const char *path, const command *cmd) {
  char text[COMMAND_BYTES];
  FILE *file = fopen(path, "r");
  if (!file) return false;
  const size_t bytes = fread(text, 1, sizeof text - 1, file);
  text[bytes] = '\0';
  fclose(file);
  return !strcmp(text, cmd->text);
}

static bool remember_command(const char *path, const command *cmd) {
  FILE *file = fopen(path, "w");
  if (!file) return false;
  const bool written = fputs(cmd->text, file) >= 0;
  return fclose(file) == 0 && written;
}

/* Exit code, or 128 + signal; -1: it could not be started. */
static int run(const command *cmd, const char *log_path) {
  posix_spawn_file_actions_t actions;
  pid_t child = 0;
  int ended = 0;
  if (posix_spawn_file_actions_init(&actions) != 0) return -1;
  posix_spawn_file_actions_addopen(&actions, STDIN_FILENO, "/dev/null", O_RDONLY, 0);
  posix_spawn_file_actions_addopen(&actions, STDOUT_FILENO, "/dev/null", O_WRONLY, 0);
  posix_spawn_file_actions_addopen(&actions, STDERR_FILENO, log_path, O_WRONLY | O_CREAT | O_TRUNC, 0666);
  const int failed = posix_spawn(&child, cmd->words[0], &actions, NULL, cmd->words, environ);
  posix_spawn_file_actions_destroy(&actions);
  if (failed) return -1;
  while (waitpid(child, &ended, 0) < 0)
    if (errno != EINTR) return -1;
  return WIFEXITED(ended) ? WEXITSTATUS(ended) : 128 + WTERMSIG(ended);
}

/* Whether the run ended well is for its window to tell: only one that did is remembered. */
static bool run_anew(const command *cmd, const char *place, const char *command_path, error *err) {
  char log_path[ARGUMENT_BYTES + 16], message[512];
  (void)remove(command_path);
  if (files_make_folder(place, message, sizeof message) != PD_OK) {
    error_set(err, PD_IO, CODE_OUTPUT, "%s", message);
    return false;
  }
  snprintf(log_path, sizeof log_path, "%s/log", place);
  const int code = run(cmd, log_path);
  if (code < 0) {
    error_set(err, PD_IO, CODE_INTERNAL, "%s cannot be run: %s", cmd->words[0], strerror(errno));
    return false;
  }
  if (code == 128 + SIGINT || code == 128 + SIGTERM) {
    error_set(err, PD_STOP, code, "interrupted; the same command goes on from here");
    return false;
  }
  if ((code != CODE_DONE && code != CODE_UNTRUSTED) || remember_command(command_path, cmd)) return true;
  error_set(err, PD_IO, CODE_OUTPUT, "%s: %s", command_path, strerror(errno));
  return false;
}

/* A window that cannot be read counts as a failed run. */
static void read_run(const char *place, reading *out) {
  static error unreadable; /* large; the main thread's alone */
  char path[ARGUMENT_BYTES + 16];
  snprintf(path, sizeof path, "%s/window0.pdw", place);
  error_clear(&unreadable);
  (void)reading_of(path, out, &unreadable);
}

bool cell_run(const cell_runner *self, const corpus_cell *cell, const char *fix, reading *out, bool *was_there,
              error *err) {
  char name[ARGUMENT_BYTES / 2], place[ARGUMENT_BYTES], command_path[ARGUMENT_BYTES + 16];
  command *cmd = calloc(1, sizeof *cmd);
  if (!cmd) {
    error_set(err, PD_NO_MEMORY, CODE_INTERNAL, "out of memory");
    return false;
  }
  corpus_cell_name(self->corpus, cell, name, sizeof name);
  snprintf(place, sizeof place, "%s/%s%s", self->folder, name, fix ? "_fix" : "");
  snprintf(command_path, sizeof command_path, "%s/command", place);
  make_command(cmd, self->corpus, cell, fix, self->program, place);
  *was_there = self->only_read || same_command(command_path, cmd);
  *out = (reading){.cause = "failed"};
  const bool ok = *was_there || run_anew(cmd, place, command_path, err);
  if (ok && (self->only_read || same_command(command_path, cmd))) read_run(place, out);
  free_command(cmd);
  free(cmd);
  return ok;
}
