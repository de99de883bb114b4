/* The registry of metrics. [any thread] */
#ifndef CORE_TABLES_REGISTRY_H
#define CORE_TABLES_REGISTRY_H

#include "metrics_map.h"

#include <pdhost/analysis.h>

typedef uint32_t metric_id;
enum {
#define X(key, ...) M_##key,
  METRIC_MAP(X)
#undef X
      METRIC_COUNT
};

/* The metric, under the heading it has on a CUDA device or on another one. Never NULL for a valid id. */
const pd_metric *registry_metric(metric_id id, bool is_cuda);
/* All, under their general headings. */
const pd_metric *const *registry_all(uint64_t *count);
/* By key, or NULL. */
const pd_metric *registry_find(const char *key);
/* The same, under its heading on a CUDA device. */
const pd_metric *registry_on_cuda(const char *key);

#endif
