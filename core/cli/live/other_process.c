/* See other_process.h. */
#include "other_process.h"

#include <errno.h>
#include <fcntl.h>
#include <limits.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

ssize_t other_process_read(long pid, const char *name, char *text, size_t room) {
  char path[64];
  (void)snprintf(path, sizeof path, "/proc/%ld/%s", pid, name);
  const int fd = open(path, O_RDONLY | O_CLOEXEC);
  const ssize_t bytes = fd >= 0 ? read(fd, text, room - 1) : -1;
  if (fd >= 0) (void)close(fd);
  if (bytes >= 0) text[bytes] = '\0';
  return bytes;
}

/* What comes after "\nKEY:\t" in its status; NULL: not known. */
static const char *status_of(long pid, const char *key, char *text, size_t room) {
  if (other_process_read(pid, "status", text, room) <= 0) return NULL;
  const char *at = strstr(text, key);
  return at ? at + strlen(key) : NULL;
}

long other_process_parent(long pid) {
  char text[4096];
  const char *at = status_of(pid, "\nPPid:", text, sizeof text);
  return at ? strtol(at, NULL, 10) : 0;
}

/* One of another user is there, too. */
bool other_process_is_there(long pid) { return pid <= INT_MAX && (kill((pid_t)pid, 0) == 0 || errno != ESRCH); }

bool other_process_has_child(long pid) {
  char name[64], text[32];
  (void)snprintf(name, sizeof name, "task/%ld/children", pid);
  return other_process_read(pid, name, text, sizeof text) != 0;
}

bool other_process_is_pdhost(long pid) {
  char path[64], file[4096];
  (void)snprintf(path, sizeof path, "/proc/%ld/exe", pid);
  const ssize_t bytes = readlink(path, file, sizeof file - 1);
  if (bytes <= 0) return false;
  file[bytes] = '\0';
  const char *slash = strrchr(file, '/');
  return slash && strncmp(slash, "/pdhost", strlen("/pdhost")) == 0;
}

bool other_process_hears(long pid, int number) {
  char text[4096];
  const char *at = status_of(pid, "\nSigCgt:", text, sizeof text);
  const unsigned long long mask = at ? strtoull(at, NULL, 16) : 0;
  return number > 0 && number <= 64 && (mask >> (number - 1) & 1);
}

static long number_of(const char *text) {
  char *end;
  const long number = strtol(text, &end, 10);
  return *text && !*end && number > 0 ? number : 0;
}

/* results/control/20260101-120000-4711 is of process 4711. */
static long pid_of_folder(const char *path) {
  char whole[PATH_MAX];
  struct stat about;
  if (stat(path, &about) != 0 || !S_ISDIR(about.st_mode) || !realpath(path, whole)) return 0;
  const char *dash = strrchr(whole, '-');
  return dash ? number_of(dash + 1) : 0;
}

long other_process_named(const char *word) {
  const long number = number_of(word);
  return number ? number : pid_of_folder(word);
}
