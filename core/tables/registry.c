/* See registry.h. Two tables of the same keys: the words for a GPU stand only where a GPU was measured. */
#include "registry.h"

#include <string.h>

#define ROW(key_, heading_, unit_, flags_, definition_, formula_, source_)                                             \
  {                                                                                                                    \
    .key = #key_, .heading = (heading_), .definition = (definition_), .formula = (formula_), .source = (source_),      \
    .unit = PD_UNIT_##unit_, .flags = (flags_)                                                                         \
  }

static const pd_metric general[METRIC_COUNT] = {
#define X(key_, heading_, cuda_, ...) ROW(key_, heading_, __VA_ARGS__),
    METRIC_MAP(X)
#undef X
};

static const pd_metric cuda[METRIC_COUNT] = {
#define X(key_, heading_, cuda_, ...) ROW(key_, cuda_, __VA_ARGS__),
    METRIC_MAP(X)
#undef X
};

static const pd_metric *const all[METRIC_COUNT] = {
#define X(key_, ...) &general[M_##key_],
    METRIC_MAP(X)
#undef X
};

const pd_metric *registry_metric(metric_id id, bool is_cuda) { return is_cuda ? &cuda[id] : &general[id]; }

const pd_metric *const *registry_all(uint64_t *count) {
  *count = METRIC_COUNT;
  return all;
}

static const pd_metric *find(const pd_metric *metrics, const char *key) {
  for (uint32_t i = 0; i < METRIC_COUNT; i++)
    if (!strcmp(metrics[i].key, key)) return &metrics[i];
  return NULL;
}

const pd_metric *registry_find(const char *key) { return find(general, key); }

const pd_metric *registry_on_cuda(const char *key) { return find(cuda, key); }
