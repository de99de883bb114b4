/* See saved_run.h. */
#include "saved_run.h"

#include "saved_key.h"
#include "base/files.h"
#include "base/signals.h"

#include <pdhost/array.h>

#include <errno.h>
#include <fcntl.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/prctl.h>
#include <sys/wait.h>
#include <time.h>
#include <unistd.h>

#define INTERRUPTED "interrupted; the same command goes on from here"
enum { PATH_BYTES = 4096 };
static const int handed_on[] = {SIGINT, SIGTERM, SIGHUP};

void saved_run_word(saved_run *self, const char *word) {
  if (!PD_ARRAY_FIT(self->words, self->room, self->count + 2)) {
    self->failed = true;
    return;
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

bool saved_run_is_there(const saved_run *self, const char *folder) {
  char path[PATH_BYTES];
  size_t bytes = 0;
  FILE *file = fopen(command_path(folder, path), "r");
  if (!file) return false;
  char *text = saved_key_text(self, &bytes);
  bool same = text != NULL;
  for (size_t i = 0; i < bytes && same; i++) same = fgetc(file) == (unsigned char)text[i];
  same = same && fgetc(file) == EOF;
  free(text);
  fclose(file);
  return same;
}

/* Replaces the file whole; an empty one remembers no run. */
static bool remember(const char *text, size_t bytes, const char *path) {
  char *temporary;
  FILE *file = files_open_stream(path, &temporary);
  if (!file) return false;
  const bool written = fwrite(text, 1, bytes, file) == bytes;
  return files_end_stream(file, written, path, temporary);
}

/* ---- the process ---- */

typedef struct streams {
  int in, out, err, report; /* report: where it writes errno, if it cannot be started */
} streams;

static void hold_signals(sigset_t *before) {
  sigset_t held;
  sigemptyset(&held);
  for (size_t i = 0; i < sizeof handed_on / sizeof handed_on[0]; i++) sigaddset(&held, handed_on[i]);
  sigprocmask(SIG_BLOCK, &held, before);
}

/* A terminal's signal is for a whole group: in one of its own the run has it once, when it is handed on. When its
 * parent is killed, or ended by a second signal, it is told to end too. */
static void become_run(const saved_run *self, const streams *to, pid_t parent, const sigset_t *mask) {
  for (size_t i = 0; i < sizeof handed_on / sizeof handed_on[0]; i++) {
    struct sigaction now;
    if (sigaction(handed_on[i], NULL, &now) == 0 && now.sa_handler != SIG_IGN) (void)signal(handed_on[i], SIG_DFL);
  }
  (void)setpgid(0, 0);
  (void)prctl(PR_SET_PDEATHSIG, SIGTERM);
  if (getppid() != parent) _exit(128 + SIGTERM);
  if (dup2(to->in, STDIN_FILENO) >= 0 && dup2(to->out, STDOUT_FILENO) >= 0 && dup2(to->err, STDERR_FILENO) >= 0) {
    sigprocmask(SIG_SETMASK, mask, NULL);
    execv(self->words[0], self->words);
  }
  const int failed = errno;
  const ssize_t told = write(to->report, &failed, sizeof failed);
  (void)told; /* its end says so too */
  _exit(CODE_INTERNAL);
}

/* 0, or errno. The signals that are handed on wait meanwhile, or the handler of before the exec would take them. */
static int start_with(const saved_run *self, const streams *to, int heard, pid_t *child) {
  sigset_t before;
  int failed = 0;
  const pid_t parent = getpid();
  hold_signals(&before);
  *child = fork();
  if (*child == 0) become_run(self, to, parent, &before);
  if (*child < 0) failed = errno;
  sigprocmask(SIG_SETMASK, &before, NULL);
  close(to->report);
  ssize_t bytes = 0;
  while (!failed && (bytes = read(heard, &failed, sizeof failed)) < 0 && errno == EINTR) {}
  if (bytes > 0) (void)waitpid(*child, NULL, 0);
  return failed;
}

static int start(const saved_run *self, const char *log_path, pid_t *child) {
  int ends[2];
  if (pipe2(ends, O_CLOEXEC) != 0) return errno;
  const streams to = {.in = open("/dev/null", O_RDONLY | O_CLOEXEC),
                      .out = open("/dev/null", O_WRONLY | O_CLOEXEC),
                      .err = open(log_path, O_WRONLY | O_CREAT | O_TRUNC | O_CLOEXEC, 0666),
                      .report = ends[1]};
  int failed = errno;
  if (to.in >= 0 && to.out >= 0 && to.err >= 0)
    failed = start_with(self, &to, ends[0], child);
  else
    close(to.report);
  close(ends[0]);
  if (to.in >= 0) close(to.in);
  if (to.out >= 0) close(to.out);
  if (to.err >= 0) close(to.err);
  return failed;
}

/* Exit code, or 128 + signal; -1: it could not be started. */
static int run(const saved_run *self, const char *log_path) {
  pid_t child = 0;
  int ended = 0;
  bool told = false;
  errno = start(self, log_path, &child);
  if (errno) return -1;
  /* Looked at now and then: a signal that comes just before a wait without end would not end it. */
  const struct timespec pause = {.tv_nsec = 20000000};
  for (pid_t done = 0; done != child; done = waitpid(child, &ended, WNOHANG)) {
    if (done < 0 && errno != EINTR) return -1;
    if (signals_pending() && !told) told = kill(child, signals_pending()) == 0;
    nanosleep(&pause, NULL);
  }
  return WIFEXITED(ended) ? WEXITSTATUS(ended) : 128 + WTERMSIG(ended);
}

/* ---- what it left ---- */

const char *saved_run_said(const char *folder, char *line, size_t room) {
  char path[PATH_BYTES], *next = NULL;
  size_t bytes = 0;
  bool is_error = false; /* warnings may come after it */
  line[0] = '\0';
  snprintf(path, sizeof path, "%s/log", folder);
  FILE *file = fopen(path, "r");
  while (file && getline(&next, &bytes, file) > 0) {
    const bool is_next = strstr(next, "error: ") != NULL;
    if (is_error && !is_next) continue;
    snprintf(line, room, "%.*s", (int)strcspn(next, "\n"), next);
    is_error = is_next;
  }
  free(next);
  if (file) fclose(file);
  return line;
}

/* On a full disk a file is made all the same, and what is written to it is lost. The run empties its log. */
static bool can_write(const char *log_path, error *err) {
  FILE *file = fopen(log_path, "w");
  const bool put = file && fputc('\n', file) != EOF;
  if (file && fclose(file) == 0 && put) return true;
  error_set(err, PD_IO, CODE_OUTPUT, "%s: cannot be written: %s", log_path, strerror(errno));
  return false;
}

/* Runs it and remembers `text`, which is from before the run: the files may change meanwhile. */
static bool run_and_remember(const saved_run *self, const char *folder, const char *text, size_t bytes, int *code,
                             error *err) {
  char path[PATH_BYTES], log_path[PATH_BYTES], message[512];
  if (files_make_folder(folder, message, sizeof message) != PD_OK) {
    error_set(err, PD_IO, CODE_OUTPUT, "%s", message);
    return false;
  }
  if (!remember("", 0, command_path(folder, path))) {
    error_set(err, PD_IO, CODE_OUTPUT, "%s: cannot be written: %s", path, strerror(errno));
    return false;
  }
  snprintf(log_path, sizeof log_path, "%s/log", folder);
  if (!can_write(log_path, err)) return false;
  *code = run(self, log_path);
  if (*code < 0) {
    error_set(err, PD_IO, CODE_INTERNAL, "%s cannot be run: %s", self->words[0], strerror(errno));
    return false;
  }
  if (*code == 128 + SIGINT || *code == 128 + SIGTERM || *code == 128 + SIGHUP) {
    error_set(err, PD_STOP, *code, INTERRUPTED);
    return false;
  }
  if (*code == CODE_OUTPUT && !saved_run_said(folder, message, sizeof message)[0] && !can_write(log_path, err))
    return false;
  if ((*code != CODE_DONE && *code != CODE_UNTRUSTED) || remember(text, bytes, path)) return true;
  error_set(err, PD_IO, CODE_OUTPUT, "%s: %s", path, strerror(errno));
  return false;
}

bool saved_run_do(const saved_run *self, const char *folder, int *code, error *err) {
  size_t bytes = 0;
  *code = CODE_INTERNAL;
  char *text = self->failed ? NULL : saved_key_text(self, &bytes);
  if (!text) {
    error_no_memory(err);
    return false;
  }
  if (signals_pending()) {
    *code = 128 + signals_pending();
    error_set(err, PD_STOP, *code, INTERRUPTED);
    free(text);
    return false;
  }
  const bool ok = run_and_remember(self, folder, text, bytes, code, err);
  free(text);
  return ok;
}
