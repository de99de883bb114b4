/*
 * Figures as pdhost prints them in sentences and short tables: three significant digits, and a unit after them. Times
 * are ns, us, ms or s, whichever gives 1 to 999; bytes are B, KiB, MiB, GiB or TiB, powers of 1024; shares have one
 * decimal. [any thread]
 */
#ifndef PDHOST_QUANTITY_H
#define PDHOST_QUANTITY_H

#include <stdio.h>

#ifdef __cplusplus
extern "C" {
#endif

/* A unit and how much of the base unit it is. */
typedef struct pd_scale {
  const char *name;
  double size;
} pd_scale;

static inline double pd_size_of(double value) { return value < 0 ? -value : value; }

/* Decimals that show `value` with three significant digits; none from 100 on, 12 at most. */
static inline int pd_decimals(double value) {
  double size = pd_size_of(value);
  int decimals = 2;
  if (size >= 99.95) return 0;
  if (size >= 9.995) return 1;
  for (; decimals < 12 && size > 0 && size < 0.9995; decimals++) size *= 10;
  return decimals;
}

/* The scale of `count` ascending ones in which `value` is shown: the smallest in which it stays below `limit`. */
static inline pd_scale pd_scale_of(const pd_scale *scales, int count, double value, double limit) {
  int at = 0;
  while (at + 1 < count && pd_size_of(value) / scales[at].size >= limit) at++;
  return scales[at];
}

/* The unit of a time of `ns` nanoseconds. */
static inline pd_scale pd_time_scale(double ns) {
  static const pd_scale scales[] = {{"ns", 1}, {"us", 1e3}, {"ms", 1e6}, {"s", 1e9}};
  return pd_scale_of(scales, 4, ns, 999.5);
}

/* "15.7 ms". 0 is "0 ns". */
static inline void pd_text_time(char *out, size_t room, double ns) {
  const pd_scale unit = pd_time_scale(ns);
  const double value = ns / unit.size;
  snprintf(out, room, "%.*f %s", unit.size > 1 ? pd_decimals(value) : 0, value, unit.name);
}

/* "2.11 MiB". */
static inline void pd_text_bytes(char *out, size_t room, double bytes) {
  static const pd_scale scales[] = {
      {"B", 1}, {"KiB", 1024.0}, {"MiB", 1048576.0}, {"GiB", 1073741824.0}, {"TiB", 1099511627776.0}};
  const pd_scale unit = pd_scale_of(scales, 5, bytes, 999.5);
  const double value = bytes / unit.size;
  snprintf(out, room, "%.*f %s", unit.size > 1 ? pd_decimals(value) : 0, value, unit.name);
}

/* "69.6 %". */
static inline void pd_text_percent(char *out, size_t room, double percent) { snprintf(out, room, "%.1f %%", percent); }

#ifdef __cplusplus
}
#endif
#endif
