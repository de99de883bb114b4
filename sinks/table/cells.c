/* See cells.h. Times and bytes are written as torch's table does; a fixed unit drops the suffix. */
#include "cells.h"

#include "figures.h"

#include <pdhost/quantity.h>

#include <inttypes.h>
#include <math.h>
#include <stdio.h>
#include <string.h>

static const char *const names[] = {"auto", "s", "ms", "us", "ns"};

const char *cell_time_name(cell_time unit) { return names[unit]; }

cell_time cell_time_of(const char *name) {
  for (uint32_t i = 0; i < sizeof names / sizeof *names; i++)
    if (!strcmp(names[i], name)) return (cell_time)i;
  return CELL_AUTO;
}

static const struct {
  double ns;
  int decimals, most_decimals; /* the latter: exact */
  const char *suffix;
} units[] = {[CELL_S] = {1e9, 6, 9, "s"},
             [CELL_MS] = {1e6, 3, 6, "ms"},
             [CELL_US] = {1e3, 3, 3, "us"},
             [CELL_NS] = {1, 0, 0, ""}};

uint32_t cell_time_decimals(cell_time unit, int64_t least_ns) {
  int decimals = units[unit].decimals;
  if (least_ns > 0) {
    const int needed = 1 - (int)floor(log10((double)least_ns / units[unit].ns));
    if (needed > decimals) decimals = needed;
  }
  return (uint32_t)(decimals < units[unit].most_decimals ? decimals : units[unit].most_decimals);
}

cell_time cell_time_for(int64_t most_ns) {
  return most_ns >= 1000000000 ? CELL_S : most_ns >= 1000000 ? CELL_MS : CELL_US;
}

void cell_write_time(char *out, size_t room, const pd_cell *cell, cell_time unit, uint32_t decimals, bool suffix) {
  out[0] = 0;
  if (!cell->missing)
    snprintf(out, room, "%.*f%s", (int)decimals, (double)cell->v.i / units[unit].ns, suffix ? units[unit].suffix : "");
}

static void write_time(char *out, size_t room, int64_t ns, cell_time unit, uint32_t digits) {
  const double size = fabs((double)ns);
  const bool fixed = unit != CELL_AUTO;
  if (!fixed) unit = cell_time_for((int64_t)size);
  const double value = (double)ns / units[unit].ns;
  char figure[64];
  if (digits && ns && unit != CELL_NS)
    figures_write(figure, sizeof figure, value, (int)digits, units[unit].decimals);
  else
    snprintf(figure, sizeof figure, "%.*f", fixed ? units[unit].decimals : 3, value);
  snprintf(out, room, "%s%s", figure, fixed ? "" : units[unit].suffix);
}

/* "412.00 MiB", powers of 1024. */
static void cell_write_bytes(char *out, size_t room, double bytes) {
  const double size = fabs(bytes);
  if (size >= 1024.0 * 1024 * 1024)
    snprintf(out, room, "%.2f GiB", bytes / (1024.0 * 1024 * 1024));
  else if (size >= 1024.0 * 1024)
    snprintf(out, room, "%.2f MiB", bytes / (1024.0 * 1024));
  else if (size >= 1024)
    snprintf(out, room, "%.2f KiB", bytes / 1024);
  else
    snprintf(out, room, "%.0f B", bytes);
}

static void write_scaled(char *out, size_t room, double value) {
  static const char *const prefixes[] = {"", "K", "M", "G", "T", "P"};
  uint32_t at = 0;
  while (fabs(value) >= 1000 && at + 1 < sizeof prefixes / sizeof *prefixes) {
    value /= 1000;
    at++;
  }
  snprintf(out, room, at ? "%.3f%s" : "%.6g%s", value, prefixes[at]);
}

/* "1.23 GB/s", powers of 1000. */
static void write_rate(char *out, size_t room, double bytes) {
  static const pd_scale scales[] = {{"B/s", 1}, {"KB/s", 1e3}, {"MB/s", 1e6}, {"GB/s", 1e9}, {"TB/s", 1e12}};
  const pd_scale unit = pd_scale_of(scales, 5, bytes, 999.5);
  snprintf(out, room, "%.*f %s", unit.size > 1 ? pd_decimals(bytes / unit.size) : 0, bytes / unit.size, unit.name);
}

void cell_write_series(char *out, size_t room, double value, const char *unit) {
  enum { MOST_DECIMALS = 3 };
  const int decimals = pd_decimals(value);
  if (!strcmp(unit, "bytes"))
    cell_write_bytes(out, room, value);
  else if (!strcmp(unit, "bytes/s"))
    write_rate(out, room, value);
  else
    snprintf(out, room, "%.*f", decimals < MOST_DECIMALS ? decimals : MOST_DECIMALS, value);
}

void cell_write(char *out, size_t room, const pd_metric *metric, const pd_cell *cell, cell_time unit, uint32_t digits) {
  const double value = cell->is_double ? cell->v.d : (double)cell->v.i;
  out[0] = 0;
  if (cell->missing) return;
  switch (metric->unit) {
  case PD_UNIT_COUNT: snprintf(out, room, "%" PRId64, cell->v.i); break;
  case PD_UNIT_NS: write_time(out, room, cell->v.i, unit, digits); break;
  case PD_UNIT_BYTES: cell_write_bytes(out, room, value); break;
  case PD_UNIT_PERCENT:
  case PD_UNIT_RATIO:
  case PD_UNIT_GB_PER_S:
    if (digits && fabs(value) > 0)
      figures_write(out, room, value, (int)digits, 2);
    else
      snprintf(out, room, "%.2f", value);
    break;
  case PD_UNIT_FLOPS:
  case PD_UNIT_PER_S: write_scaled(out, room, value); break;
  case PD_UNIT_TEXT: snprintf(out, room, "%s", cell->v.text); break;
  default:
    if (digits)
      figures_write(out, room, value, (int)digits, FIGURES_MOST_DECIMALS);
    else
      snprintf(out, room, "%.6g", value);
    break;
  }
}
