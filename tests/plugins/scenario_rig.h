/* A shipped scenario on the training rig: its plugin file, its options, its steps in a trace. */
#ifndef TESTS_PLUGINS_SCENARIO_RIG_H
#define TESTS_PLUGINS_SCENARIO_RIG_H

#include "train_rig.h"

#include <pdhost/scenario.h>

enum { SCENARIO_BATCH = 4, SCENARIO_SIZE = 16, SCENARIO_STEPS = 3 };

typedef struct scenario_rig {
  train_rig train;
  const pd_plugin *plugin;
  const pd_scenario_ops *ops;
  void *options, *state;
  bool control; /* of all steps: without what is injected */
} scenario_rig;

/* Opens device and kit, loads the plugin `name`, fills its options: `overrides` is "key=value" pairs up to NULL, or
 * NULL. Runs init. */
void scenario_rig_open(scenario_rig *rig, const char *name, const char *const *overrides);
void scenario_rig_close(scenario_rig *rig);

/* The trace of SCENARIO_STEPS steps on one batch, after two to warm up. `pinned`: from page-locked memory; `resident`:
 * as pd_batch's. */
pd_trace *scenario_rig_trace(scenario_rig *rig, bool pinned, uint64_t resident);

/* Kernels that only take time, of a scenario opened with `overrides` and closed again: their number, and the time of
 * the shortest. */
uint64_t scenario_rig_spins(const char *name, const char *const *overrides, bool control, int64_t *shortest_ns);

/* Name, bottleneck and presets, "key=value" up to NULL, in any order and no others. */
void scenario_rig_expect(const scenario_rig *rig, const char *name, const char *bottleneck, const char *const *presets);
/* init on a host without a training kit says what is missing. */
void scenario_rig_expect_needs_kit(scenario_rig *rig);

#endif
