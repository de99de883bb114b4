/* See powercap.h. The kernel's documentation: Documentation/power/powercap/powercap.rst. */
#include "powercap.h"

#include <limits.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

static bool read_line(const char *folder, uint32_t package, const char *file, char *line, int room) {
  char path[PATH_MAX];
  (void)snprintf(path, sizeof path, "%s/intel-rapl:%u/%s", folder, package, file);
  FILE *from = fopen(path, "re");
  const bool ok = from && fgets(line, room, from);
  if (from) (void)fclose(from);
  return ok;
}

static bool read_number(const char *folder, uint32_t package, const char *file, uint64_t *out) {
  char line[64], *end;
  if (!read_line(folder, package, file, line, sizeof line)) return false;
  *out = strtoull(line, &end, 10);
  return end != line;
}

/* Zones of one number are packages, but for the whole platform (psys), which holds them. */
bool powercap_read(const char *folder, powercap_count *out) {
  char name[64];
  *out = (powercap_count){.count = 0};
  for (uint32_t i = 0; i < POWERCAP_PACKAGES && read_line(folder, i, "name", name, sizeof name); i++) {
    if (strncmp(name, "package", strlen("package")) != 0) continue;
    if (!read_number(folder, i, "energy_uj", &out->uj[out->count]) ||
        !read_number(folder, i, "max_energy_range_uj", &out->range_uj[out->count]))
      return false;
    out->count++;
  }
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
