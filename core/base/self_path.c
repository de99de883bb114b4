/* See self_path.h. */
#include "self_path.h"

#include <errno.h>
#include <limits.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/auxv.h>
#include <unistd.h>

static char begun[PATH_MAX]; /* "": not known */

static bool whole_path(const char *given, char *path, size_t room) {
  char found[PATH_MAX];
  if (!given || !strchr(given, '/') || !realpath(given, found)) return false;
  const int used = snprintf(path, room, "%s", found);
  return used > 0 && (size_t)used < room;
}

bool self_path_as_started(char *path, size_t room) {
  const unsigned long address = getauxval(AT_EXECFN);
  const char *started;
  memcpy(&started, &address, sizeof started); /* the kernel gives a pointer as a number */
  return whole_path(started, path, room) || whole_path(program_invocation_name, path, room);
}

static bool from_system(char *path, size_t room) {
  const ssize_t bytes = readlink("/proc/self/exe", path, room - 1);
  if (bytes <= 0) return false;
  path[bytes] = '\0';
  return true;
}

void self_path_begin(void) {
  if (!from_system(begun, sizeof begun) && !self_path_as_started(begun, sizeof begun)) begun[0] = '\0';
}

bool self_path(char *path, size_t room) {
  if (from_system(path, room)) return true;
  if (!begun[0]) return self_path_as_started(path, room);
  const int used = snprintf(path, room, "%s", begun);
  return used > 0 && (size_t)used < room;
}

bool self_path_prefix(char *path, size_t room) {
  if (!self_path(path, room)) return false;
  for (int i = 0; i < 2; i++) {
    char *slash = strrchr(path, '/');
    if (!slash) return false;
    *slash = '\0';
  }
  return true;
}
