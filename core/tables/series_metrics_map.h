/* The metrics of the machine, energy and what is looked at in equal spans: the part of metrics_map.h that is about
 * them. */
#ifndef CORE_TABLES_SERIES_METRICS_MAP_H
#define CORE_TABLES_SERIES_METRICS_MAP_H

#define SERIES_METRIC_MAP(X)                                                                                           \
  X(energy_j, "energy", "energy", NONE, DETAIL,                                                                        \
    "joules of the whole GPU over all steps of the loop and what lies between them; none of a loop below one second, " \
    "since the driver moves the counter only some times a second",                                                     \
    "NVML's total energy counter at the end minus at the start", "pdhost")                                             \
  X(energy_j_per_step, "energy", "energy", NONE, DETAIL, "joules of the whole GPU per step", "energy_j / steps",       \
    "pdhost")                                                                                                          \
  X(energy_j_per_sample, "energy", "energy", NONE, DETAIL, "joules of the whole GPU per sample",                       \
    "energy_j_per_step / batch_size", "pdhost")                                                                        \
  X(processor_energy_j, "processors' energy", "processors' energy", NONE, DETAIL,                                      \
    "joules of the processors' packages over all steps of the loop and what lies between them; none of a loop below "  \
    "one second, or where this user may not read the counters",                                                        \
    "the system's powercap at the end minus at the start", "pdhost")                                                   \
  X(processor_energy_j_per_step, "processors' energy", "processors' energy", NONE, DETAIL,                             \
    "joules of the processors per step", "processor_energy_j / steps", "pdhost")                                       \
  X(processor_energy_j_per_sample, "processors' energy", "processors' energy", NONE, DETAIL,                           \
    "joules of the processors per sample", "processor_energy_j_per_step / batch_size", "pdhost")                       \
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
