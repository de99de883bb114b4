/* The metrics of what is looked at in equal spans: the part of metrics_map.h that is about them. */
#ifndef CORE_TABLES_SERIES_METRICS_MAP_H
#define CORE_TABLES_SERIES_METRICS_MAP_H

#define SERIES_METRIC_MAP(X)                                                                                           \
  X(series_name, "Series", "Series", TEXT, 0, "what was looked at in equal spans (profile.series_every)", NULL,        \
    "pdhost")                                                                                                          \
  X(series_unit, "Unit", "Unit", TEXT, 0, "what the series is counted in", NULL, "pdhost")                             \
  X(series_looks, "Looks", "Looks", COUNT, 0, "how many values the window has of it", NULL, "pdhost")                  \
  X(series_min, "Min", "Min", NONE, 0, "smallest value", NULL, "pdhost")                                               \
  X(series_mean, "Mean", "Mean", NONE, 0, "arithmetic mean of the values", "sum / looks", "pdhost")                    \
  X(series_max, "Max", "Max", NONE, 0, "largest value", NULL, "pdhost")                                                \
  X(series_resolution, "A value is", "A value is", TEXT, WIDE,                                                         \
    "over what time a value is taken, and how fine it is; empty: not known", NULL, "pdhost")

#endif
