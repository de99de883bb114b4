/* Series: counters that are named "NAME, UNIT", looked at in equal spans (profile.series_every). Every output shows
 * them; a plugin's counter of such a name is one of them. [any thread] */
#ifndef PDHOST_SERIES_COUNTERS_H
#define PDHOST_SERIES_COUNTERS_H

#include <pdhost/trace.h>

#include <math.h>
#include <string.h>

#ifdef __cplusplus
extern "C" {
#endif

/* Where the unit begins in a counter's name; NULL: it is no series. */
static inline const char *pd_series_unit(const char *name) {
  const char *unit = NULL;
  for (const char *at = strstr(name, ", "); at; at = strstr(at + 2, ", ")) unit = at + 2;
  return unit;
}

/* Whether the counter is a value of a series. */
static inline bool pd_is_series(const pd_trace *trace, const pd_counter_row *row) {
  return isfinite(row->value) && pd_series_unit(pd_trace_string(trace, row->name)->text) != NULL;
}

#ifdef __cplusplus
}
#endif

#endif
