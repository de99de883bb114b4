/* See saved_run.h. */
#include "saved_run.h"

#include "files.h"
#include "signals.h"

#include <errno.h>
#include <fcntl.h>
#include <signal.h>
#include <spawn.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/wait.h>
#include <time.h>
#include <unistd.h>

#define INTERRUPTED "interrupted; the same command goes on from here"
enum { PATH_BYTES = 4096 };

void saved_run_word(saved_run *self, const char *word) {
  if (self->count + 1 >= self->room) {
    const uint32_t room = self->room ? 2 * self->room : 32;
    char **grown = realloc(self->words, room * sizeof *grown);
    if (!grown) {
      self->failed = true;
      return;
    }
    self->words = grown;
    self->room = room;
  }
  self->words[self->count] = strdup(word);
  if (!self->words[self->count]) {
    self->failed = true;
    return;
  }
  self->words[++self->count] = NULL;
}

void saved_run_set(saved_run *self, const char *key, const char *value) {
  char *text;
  if (asprintf(&text, "%s=%s", key, value) < 0) {
    self->failed = true;
    return;
  }
  saved_run_word(self, "-o");
  saved_run_word(self, text);
  free(text);
}

void saved_run_clear(saved_run *self) {
  for (uint32_t i = 0; i < self->count; i++) free(self->words[i]);
  free(self->words);
  *self = (saved_run){.words = NULL};
}

static const char *command_path(const char *folder, char path[PATH_BYTES]) {
  snprintf(path, PATH_BYTES, "%s/command", folder);
  return path;
}

/* The next byte of `file` is `expected`. */
static bool next_is(FILE *file, char expected) { return fgetc(file) == (unsigned char)expected; }

bool saved_run_is_there(const saved_run *self, const char *folder) {
  char path[PATH_BYTES];
  FILE *file = fopen(command_path(folder, path), "r");
  if (!file) return false;
  bool same = true;
  for (uint32_t i = 0; i < self->count && same; i++) {
    for (const char *at = self->words[i]; *at && same; at++) same = next_is(file, *at);
    same = same && next_is(file, '\n');
  }
  same = same && fgetc(file) == EOF;
  fclose(file);
  return same;
}

/* One word a line. */
static bool remember(const saved_run *self, const char *path) {
  FILE *file = fopen(path, "w");
  if (!file) return false;
  bool written = true;
  for (uint32_t i = 0; i < self->count; i++) written = fprintf(file, "%s\n", self->words[i]) >= 0 && written;
  return fclose(file) == 0 && written;
}

/* Exit code, or 128 + signal; -1: it could not be started. */
static int run(const saved_run *self, const char *log_path) {
  posix_spawn_file_actions_t actions;
  pid_t child = 0;
  int ended = 0;
  bool told = false;
  if (posix_spawn_file_actions_init(&actions) != 0) return -1;
  posix_spawn_file_actions_addopen(&actions, STDIN_FILENO, "/dev/null", O_RDONLY, 0);
  posix_spawn_file_actions_addopen(&actions, STDOUT_FILENO, "/dev/null", O_WRONLY, 0);
  posix_spawn_file_actions_addopen(&actions, STDERR_FILENO, log_path, O_WRONLY | O_CREAT | O_TRUNC, 0666);
  const int failed = posix_spawn(&child, self->words[0], &actions, NULL, self->words, environ);
  posix_spawn_file_actions_destroy(&actions);
  if (failed) {
    errno = failed;
    return -1;
  }
  /* Looked at now and then: a signal that comes just before a wait without end would not end it. */
  const struct timespec pause = {.tv_nsec = 20000000};
  for (pid_t done = 0; done != child; done = waitpid(child, &ended, WNOHANG)) {
    if (done < 0 && errno != EINTR) return -1;
    if (signals_pending() && !told) told = kill(child, signals_pending()) == 0;
    nanosleep(&pause, NULL);
  }
  return WIFEXITED(ended) ? WEXITSTATUS(ended) : 128 + WTERMSIG(ended);
}

bool saved_run_do(const saved_run *self, const char *folder, int *code, error *err) {
  char path[PATH_BYTES], log_path[PATH_BYTES], message[512];
  *code = CODE_INTERNAL;
  if (self->failed) {
    error_set(err, PD_NO_MEMORY, CODE_INTERNAL, "out of memory");
    return false;
  }
  if (signals_pending()) {
    *code = 128 + signals_pending();
    error_set(err, PD_STOP, *code, INTERRUPTED);
    return false;
  }
  (void)remove(command_path(folder, path));
  if (files_make_folder(folder, message, sizeof message) != PD_OK) {
    error_set(err, PD_IO, CODE_OUTPUT, "%s", message);
    return false;
  }
  snprintf(log_path, sizeof log_path, "%s/log", folder);
  *code = run(self, log_path);
  if (*code < 0) {
    error_set(err, PD_IO, CODE_INTERNAL, "%s cannot be run: %s", self->words[0], strerror(errno));
    return false;
  }
  if (*code == 128 + SIGINT || *code == 128 + SIGTERM) {
    error_set(err, PD_STOP, *code, INTERRUPTED);
    return false;
  }
  if ((*code != CODE_DONE && *code != CODE_UNTRUSTED) || remember(self, path)) return true;
  error_set(err, PD_IO, CODE_OUTPUT, "%s: %s", path, strerror(errno));
  return false;
}
