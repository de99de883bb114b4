/* See self_path.h. */
#include "self_path.h"

#include <string.h>
#include <unistd.h>

bool self_path(char *path, size_t room) {
  const ssize_t bytes = readlink("/proc/self/exe", path, room - 1);
  if (bytes <= 0) return false;
  path[bytes] = '\0';
  return true;
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
