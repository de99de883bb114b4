/* See memory_left.h. */
#include "memory_left.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/resource.h>
#include <unistd.h>

/* The number after `key` in a file of lines "KEY NUMBER"; with an empty key the first number of the file. UINT64_MAX:
 * there is none, or it says "max". */
static uint64_t number_in(const char *path, const char *key) {
  char line[256];
  uint64_t found = UINT64_MAX;
  FILE *file = fopen(path, "re");
  while (file && found == UINT64_MAX && fgets(line, sizeof line, file)) {
    char *end;
    const size_t length = strlen(key);
    if (strncmp(line, key, length) != 0) continue;
    const char *at = line + length + strspn(line + length, ": \t");
    const unsigned long long number = strtoull(at, &end, 10);
    if (end != at) found = number;
  }
  if (file) (void)fclose(file);
  return found;
}

static uint64_t least(uint64_t a, uint64_t b) { return a < b ? a : b; }

static uint64_t of_system(void) {
  const uint64_t kib = number_in("/proc/meminfo", "MemAvailable");
  return kib < UINT64_MAX / 1024 ? kib * 1024 : UINT64_MAX;
}

static uint64_t of_group(void) {
  const uint64_t most = number_in("/sys/fs/cgroup/memory.max", ""),
                 taken = number_in("/sys/fs/cgroup/memory.current", ""),
                 files = number_in("/sys/fs/cgroup/memory.stat", "inactive_file");
  if (most == UINT64_MAX || taken == UINT64_MAX) return UINT64_MAX;
  const uint64_t held = files < taken ? taken - files : taken;
  return held < most ? most - held : 0;
}

static uint64_t of_limit(void) {
  struct rlimit limit;
  const uint64_t pages = number_in("/proc/self/statm", "");
  const long page = sysconf(_SC_PAGESIZE);
  if (getrlimit(RLIMIT_AS, &limit) != 0 || limit.rlim_cur == RLIM_INFINITY || pages == UINT64_MAX || page <= 0)
    return UINT64_MAX;
  const uint64_t taken = pages * (uint64_t)page;
  return taken < limit.rlim_cur ? limit.rlim_cur - taken : 0;
}

static uint64_t memory_left(void) { return least(of_system(), least(of_group(), of_limit())); }

/* Between two looks. */
enum { ROWS_A_LOOK = 1 << 16 };

bool memory_guard_row(memory_guard *self) {
  if (++self->rows % ROWS_A_LOOK != 0 || self->is_exceeded) return false;
  self->left = memory_left();
  self->is_exceeded = self->rows * (self->row_needs - self->row_takes) > self->left;
  return self->is_exceeded;
}
