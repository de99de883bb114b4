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

enum { MAX_ARGUMENTS = 256, ARGUMENT_BYTES = 1024, COMMAND_BYTES = 16384, ROW_BYTES = 65536 };

/* ---- the verdict ---- */

/* The next field of a CSV row, in place; quotes are taken off. */
static char *next_field(char **at) {
  char *field = *at, *to = field, *from = field;
  if (!*from) return NULL;
  const bool quoted = *from == '"';
  if (quoted) from++;
  for (; *from; from++) {
    if (quoted && *from == '"') {
      if (from[1] != '"') {
        from++;
        break;
      }
      from++;
    } else if (!quoted && *from == ',') {
      break;
    }
    *to++ = *from;
  }
  *at = *from == ',' ? from + 1 : from;
  *to = '\0';
  return field;
}

bool cell_read_verdict(const char *path, cell_result *result) {
  FILE *file = fopen(path, "r");
  char *head = malloc((size_t)2 * ROW_BYTES), *values = head ? head + ROW_BYTES : NULL;
  bool found = false;
  *result = (cell_result){0};
  if (file && head && fgets(head, ROW_BYTES, file) && fgets(values, ROW_BYTES, file)) {
    head[strcspn(head, "\r\n")] = values[strcspn(values, "\r\n")] = '\0';
    char *at_head = head, *at_value = values, *name, *value;
    while ((name = next_field(&at_head)) && (value = next_field(&at_value))) {
      if (!strcmp(name, "verdict_cause")) {
        snprintf(result->cause, sizeof result->cause, "%s", value);
        found = value[0] != '\0';
      } else if (!strcmp(name, "verdict_share")) {
        result->share = strtod(value, NULL);
      } else if (!strcmp(name, "verdict_confidence")) {
        result->confidence = strtod(value, NULL);
      } else if (!strcmp(name, "verdict_step")) {
        result->step_ns = strtod(value, NULL);
      }
    }
  }
  free(head);
  if (file) fclose(file);
  return found;
}

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

static void settings(command *self, const char *list) {
  while (*list) {
    const size_t length = strcspn(list, " ");
    char text[ARGUMENT_BYTES];
    snprintf(text, sizeof text, "%.*s", (int)length, list);
    if (length) {
      word(self, "-o");
      word(self, text);
    }
    list += length;
    list += strspn(list, " ");
  }
}

static void make_command(command *self, const corpus *all, const corpus_cell *cell, const char *program,
                         const char *folder) {
  char text[ARGUMENT_BYTES];
  word(self, program);
  word(self, "-q");
  for (uint32_t i = 0; i < all->set_count; i++) settings(self, all->sets[i]);
  word(self, "--scenario");
  word(self, all->groups[cell->group].scenario);
  snprintf(text, sizeof text, "%u", cell->seed);
  setting(self, "run.seed", text);
  if (cell->dial != CORPUS_GROUPS)
    setting(self, all->groups[cell->dial].dial, all->groups[cell->dial].values[cell->value]);
  setting(self, "run.trace_dir", folder);
  word(self, "--sink");
  word(self, "csv:events=false");
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

static bool run_anew(const command *cmd, const char *place, const char *command_path, cell_result *result, error *err) {
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
  if (code != 0) {
    snprintf(result->cause, sizeof result->cause, "failed");
    return true;
  }
  if (remember_command(command_path, cmd)) return true;
  error_set(err, PD_IO, CODE_OUTPUT, "%s: %s", command_path, strerror(errno));
  return false;
}

bool cell_run(const corpus *all, const corpus_cell *cell, const char *program, const char *folder, cell_result *result,
              bool *was_there, error *err) {
  char name[ARGUMENT_BYTES / 2], place[ARGUMENT_BYTES], path[ARGUMENT_BYTES + 32], command_path[ARGUMENT_BYTES + 16];
  command *cmd = calloc(1, sizeof *cmd);
  *result = (cell_result){0};
  if (!cmd) {
    error_set(err, PD_NO_MEMORY, CODE_INTERNAL, "out of memory");
    return false;
  }
  corpus_cell_name(all, cell, name, sizeof name);
  snprintf(place, sizeof place, "%s/%s", folder, name);
  snprintf(path, sizeof path, "%s/csv/verdict.csv", place);
  snprintf(command_path, sizeof command_path, "%s/command", place);
  make_command(cmd, all, cell, program, place);
  *was_there = same_command(command_path, cmd) && cell_read_verdict(path, result);
  bool ok = *was_there || run_anew(cmd, place, command_path, result, err);
  if (ok && !*was_there && !result->cause[0] && !cell_read_verdict(path, result))
    snprintf(result->cause, sizeof result->cause, "failed");
  free_command(cmd);
  free(cmd);
  return ok;
}
