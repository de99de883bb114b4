/*
 * Calls with total, average, longest and shortest time on host and device, per key: what most of Paddle's tables are
 * made of. Averages and extremes are over all calls, so that min <= avg <= max holds.
 */
#ifndef CORE_TABLES_SPAN_GROUPS_H
#define CORE_TABLES_SPAN_GROUPS_H

#include "tables.h"
#include "facts/groups.h"

typedef struct span_stats {
  int64_t calls, cpu_ns, cpu_max_ns, cpu_min_ns, gpu_ns, gpu_max_ns, gpu_min_ns;
} span_stats;

typedef struct span_group {
  span_stats stats;
  uint64_t order;  /* the caller's: ties sort by it */
  uint32_t name;   /* string id */
  uint32_t thread; /* or PD_NONE */
  uint32_t parent; /* index of the group it is shown under, or PD_NONE */
  uint32_t kind;   /* the caller's */
  uint32_t sample; /* the caller's */
  uint32_t reserved;
} span_group;

typedef struct span_groups {
  key_groups keys;
  span_group *rows; /* by the keys' index */
  uint32_t room, reserved;
} span_groups;

void span_stats_add(span_stats *stats, int64_t cpu_ns, int64_t gpu_ns);

/* The group of the key, made with these values where there is none yet; NULL on no memory. The pointer holds until the
 * next call. */
span_group *span_groups_at(span_groups *self, uint32_t parent, uint32_t thread, uint32_t kind, uint32_t name);
void span_groups_free(span_groups *self);

/* All groups: by thread, then by `sorted_by` (Paddle's keys; NULL: CPUTotal), each followed by the groups under it in
 * the same order. NULL on no memory; the caller frees it. */
uint32_t *span_order(const span_groups *self, const char *sorted_by);

/* The cells name and, where the group has one, thread. */
void span_names(table_build *table, const trace_facts *facts, const span_group *group);
/* The cells calls, cpu_*, gpu_* of a row; ratios of the given wholes. `device`: 0 leaves the gpu cells missing. */
void span_cells(table_build *table, const span_stats *stats, int64_t cpu_whole, int64_t gpu_whole, bool host,
                bool device);
#define SPAN_COLUMNS                                                                                                   \
  M_calls, M_cpu_total, M_cpu_avg, M_cpu_max, M_cpu_min, M_cpu_ratio, M_gpu_total, M_gpu_avg, M_gpu_max, M_gpu_min,    \
      M_gpu_ratio

#endif
