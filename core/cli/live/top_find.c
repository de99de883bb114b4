/* See top_find.h. A run shares its board with its worker through a file in memory, which /proc shows to its user. */
#include "top_find.h"

#include "other_process.h"

#include "trace/kept/room.h"

#include <dirent.h>
#include <errno.h>
#include <fcntl.h>
#include <limits.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/stat.h>
#include <unistd.h>

enum { RUNS_LISTED = 8 };

/* The number that all of a text is; 0: it is none. */
static long number_of(const char *text) {
  char *end = NULL;
  errno = 0;
  const long number = strtol(text, &end, 10);
  return errno == 0 && end != text && *end == '\0' && number > 0 ? number : 0;
}

/* What a process may show: a run its board, `pdhost record` what it sees. Besides, a run has its room. */
static const struct {
  const char *link;
  size_t bytes;
} kinds[] = {
    {"/memfd:" BOARD_FILE, sizeof(board)}, {"/memfd:" RECORD_LIVE_FILE, sizeof(record_live)}, {"/memfd:" ROOM_FILE, 0}};
enum { OF_RUN = 0, OF_RECORDING = 1, KINDS = 2, OF_ROOM = KINDS };

/* Whether a link of /proc/PID/fd leads to it: "/memfd:pdhost-board (deleted)". */
static bool is_of(int kind, const char *target, ssize_t bytes) {
  const size_t length = strlen(kinds[kind].link);
  return bytes >= (ssize_t)length + 1 && memcmp(target, kinds[kind].link, length) == 0 && target[length] == ' ';
}

/* Opens what process `pid` shows, of the kinds from `first` to before `end`; -1: it shows nothing, or is another
 * user's. */
static int open_shown(long pid, int first, int end, int *kind) {
  char path[PATH_MAX], target[64];
  snprintf(path, sizeof path, "/proc/%ld/fd", pid);
  DIR *folder = opendir(path);
  int file = -1;
  if (!folder) return -1;
  for (const struct dirent *entry; file < 0 && (entry = readdir(folder));) {
    const ssize_t bytes = readlinkat(dirfd(folder), entry->d_name, target, sizeof target);
    *kind = first;
    while (*kind < end && !is_of(*kind, target, bytes)) ++*kind;
    if (*kind == end) continue;
    file = openat(dirfd(folder), entry->d_name, O_RDONLY | O_CLOEXEC);
  }
  closedir(folder);
  return file;
}

static int open_board(long pid, int *kind) { return open_shown(pid, OF_RUN, KINDS, kind); }

static void read_command(long pid, char *text, size_t room) {
  char path[64];
  snprintf(path, sizeof path, "/proc/%ld/cmdline", pid);
  FILE *file = fopen(path, "rb");
  const size_t bytes = file ? fread(text, 1, room - 1, file) : 0;
  if (file) fclose(file);
  text[bytes] = '\0';
  for (size_t i = 0; i + 1 < bytes; i++)
    if ((unsigned char)text[i] < ' ') text[i] = ' ';
}

static bool map_board(long pid, int file, int kind, top_run *out, error *err) {
  struct stat about;
  void *at = MAP_FAILED;
  const bool known = fstat(file, &about) == 0 && about.st_size == (off_t)kinds[kind].bytes;
  if (known) at = mmap(NULL, kinds[kind].bytes, PROT_READ, MAP_SHARED, file, 0);
  close(file);
  if (at == MAP_FAILED) {
    error_set(err, PD_INVALID, CODE_USAGE, "top: process %ld: it is of another version of pdhost", pid);
    return false;
  }
  *out = (top_run){.pid = pid, .board = kind == OF_RUN ? at : NULL, .live = kind == OF_RECORDING ? at : NULL};
  read_command(pid, out->command, sizeof out->command);
  return true;
}

static bool find_named(const char *word, top_run *out, error *err) {
  const long pid = other_process_named(word);
  if (!pid) {
    error_set(err, PD_INVALID, CODE_USAGE,
              "top: %s: neither the number of a process nor the folder of a run; see pdhost top --help", word);
    return false;
  }
  int kind = OF_RUN;
  long at = pid;
  int file = open_board(pid, &kind);
  for (int level = 0; file < 0 && level < 64 && (at = other_process_parent(at)) > 1; level++) {
    file = open_board(at, &kind); /* that has started it */
    if (file >= 0 && kind == OF_RUN) {
      close(file); /* what a run starts is no run */
      file = -1;
      break;
    }
  }
  if (file >= 0) return map_board(at, file, kind, out, err);
  error_set(err, PD_INVALID, CODE_USAGE,
            "top: process %ld: there is no run in it that this user may look at, and no recording of it; a run with "
            "run.isolate = false shows nothing",
            pid);
  return false;
}

/* A run and its worker share one board: the first process of each. */
static uint32_t list_runs(long *pids, int *files, int *of) {
  ino_t seen[RUNS_LISTED];
  uint32_t count = 0;
  DIR *folder = opendir("/proc");
  if (!folder) return 0;
  for (const struct dirent *entry; count < RUNS_LISTED && (entry = readdir(folder));) {
    struct stat about;
    const long pid = number_of(entry->d_name);
    int kind = OF_RUN;
    const int file = pid && pid != getpid() ? open_board(pid, &kind) : -1;
    if (file < 0) continue;
    bool is_new = fstat(file, &about) == 0;
    for (uint32_t i = 0; i < count; i++) is_new = is_new && seen[i] != about.st_ino;
    if (!is_new) {
      close(file);
      continue;
    }
    seen[count] = about.st_ino;
    pids[count] = pid;
    of[count] = kind;
    files[count++] = file;
  }
  closedir(folder);
  return count;
}

static bool find_only(top_run *out, error *err) {
  long pids[RUNS_LISTED];
  int files[RUNS_LISTED], of[RUNS_LISTED];
  char text[RUNS_LISTED * 24] = "";
  const uint32_t count = list_runs(pids, files, of);
  if (count == 1) return map_board(pids[0], files[0], of[0], out, err);
  for (uint32_t i = 0; i < count; i++) {
    const size_t used = strlen(text);
    snprintf(text + used, sizeof text - used, "%s%ld", i ? ", " : "", pids[i]);
    close(files[i]);
  }
  if (count)
    error_set(err, PD_INVALID, CODE_USAGE,
              "top: several runs or recordings are under way; name one of the processes %s", text);
  else
    error_set(err, PD_INVALID, CODE_USAGE, "top: no run and no recording of this user is under way");
  return false;
}

bool top_find(const char *word, top_run *out, error *err) {
  *out = (top_run){.board = NULL};
  return word ? find_named(word, out, err) : find_only(out, err);
}

bool top_is_alive(const top_run *self) {
  const bool is_over = self->board && atomic_load(&self->board->done);
  return !is_over && (kill((pid_t)self->pid, 0) == 0 || errno == EPERM);
}

int top_open_room(const top_run *self) {
  int kind = OF_ROOM;
  return open_shown(self->pid, OF_ROOM, OF_ROOM + 1, &kind);
}

void top_close(top_run *self) {
  if (self->board) (void)munmap(self->board, sizeof(board));
  if (self->live) (void)munmap(self->live, sizeof(record_live));
  *self = (top_run){.board = NULL};
}
