/* What differs between two runs, by their manifests. [any thread] */
#ifndef CORE_ADVISE_RERUN_MANIFEST_COMPARE_H
#define CORE_ADVISE_RERUN_MANIFEST_COMPARE_H

#include "base/arena.h"
#include "compare/comparison.h"

#include <pdhost/sink.h>

struct json_t;

/* X(key of the manifest, what a reader sees, whether a difference there counts) */
#define COMPARED_MAP(X)                                                                                                \
  X(program, "Program", true)                                                                                          \
  X(plugins, "Plugins", true)                                                                                          \
  X(libraries, "Libraries", true)                                                                                      \
  X(configuration, "Configuration", true)                                                                              \
  X(seeds, "Seeds", true)                                                                                              \
  X(environment, "Environment", true)                                                                                  \
  X(device, "Device", true)                                                                                            \
  X(machine, "Machine", false)                                                                                         \
  X(windows, "Launches", true)

typedef enum compared_key {
#define X(key, title, counts) COMPARED_##key,
  COMPARED_MAP(X)
#undef X
      COMPARED_COUNT
} compared_key;

/* A value; NULL: it is not there on that side. */
typedef struct compared_change {
  const char *name, *then, *now;
} compared_change;

typedef struct compared_group {
  const char *key, *title;
  bool counts;
  uint64_t values; /* of the first side; of windows the launches */
  compared_change *changes;
  uint32_t change_count, change_room;
} compared_group;

/* Losses further apart than this share of the larger one count as a difference: more than sums in another order do. */
#define COMPARED_LOSS_SHARE 1e-3

typedef struct compared_losses {
  uint64_t then, now; /* steps */
  uint64_t unlike;    /* steps, of those that both have, whose losses are not the same to the last bit */
  uint64_t first;     /* of these */
  double most;        /* the largest distance, as a share of the larger loss; infinite: one side has no number */
  bool differs;       /* counts */
} compared_losses;

typedef struct compared_times {
  pd_spread then, now; /* of the time of a recorded step; count 0: there was none */
  resample_ratio of;   /* now over then; where both have times */
  outcome found;
} compared_times;

typedef struct manifest_comparison {
  compared_group groups[COMPARED_COUNT];
  compared_losses losses;
  compared_times times;
  bool differs; /* in what counts */
  arena texts;
} manifest_comparison;

/* Both as manifest_read() gives them, and alive as long as `out`. False on no memory; close it in any case. */
bool manifest_compare(const struct json_t *then, const struct json_t *now, manifest_comparison *out);
void manifest_comparison_close(manifest_comparison *self);

#endif
