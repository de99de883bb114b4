/* See powercap.h. The kernel's documentation: Documentation/power/powercap/powercap.rst. */
#include "powercap.h"

#include <errno.h>
#include <limits.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

typedef struct reading {
  const char *folder;
  char *why;
  size_t room;
} reading;

/* `line` of 64 bytes. */
static bool read_line(const reading *self, uint32_t package, const char *name, char *line) {
  enum { ROOM = 64 };
  char path[PATH_MAX];
  (void)snprintf(path, sizeof path, "%s/intel-rapl:%u/%s", self->folder, package, name);
  errno = 0;
  FILE *from = fopen(path, "re");
  const bool ok = from && fgets(line, ROOM, from);
  if (!ok) (void)snprintf(self->why, self->room, "%s: %s", path, errno ? strerror(errno) : "it is empty");
  if (from) (void)fclose(from);
  return ok;
}

static bool read_number(const reading *self, uint32_t package, const char *name, uint64_t *out) {
  char line[64], *end;
  if (!read_line(self, package, name, line)) return false;
  *out = strtoull(line, &end, 10);
  if (end == line) (void)snprintf(self->why, self->room, "%s/intel-rapl:%u/%s: no number", self->folder, package, name);
  return end != line;
}

/* Zones of one number are packages, but for the whole platform (psys), which holds them. */
bool powercap_read(const char *folder, powercap_count *out, char *why, size_t room) {
  char name[64];
  const reading from = {folder, why, room};
  *out = (powercap_count){.count = 0};
  for (uint32_t i = 0; i < POWERCAP_PACKAGES && read_line(&from, i, "name", name); i++) {
    if (strncmp(name, "package", strlen("package")) != 0) continue;
    if (!read_number(&from, i, "energy_uj", &out->uj[out->count]) ||
        !read_number(&from, i, "max_energy_range_uj", &out->range_uj[out->count]))
      return false;
    out->count++;
  }
  why[0] = '\0'; /* it names the zone after the last */
  return out->count > 0;
}

double powercap_joules(const powercap_count *from, const powercap_count *to, double seconds) {
  double joules = 0;
  if (from->count != to->count) return 0;
  for (uint32_t i = 0; i < to->count; i++) {
    if (from->range_uj[i] != to->range_uj[i] || 1e-6 * (double)to->range_uj[i] <= POWERCAP_MOST_W * seconds) return 0;
    const uint64_t used =
        to->uj[i] >= from->uj[i] ? to->uj[i] - from->uj[i] : to->range_uj[i] - from->uj[i] + to->uj[i];
    joules += 1e-6 * (double)used;
  }
  return joules;
}
