/* What the tests of the training kit share. */
#ifndef TESTS_TRAIN_TRAIN_PARTS_H
#define TESTS_TRAIN_TRAIN_PARTS_H

#include "pd_test.h"
#include "train_rig.h"

#include "train/losses.h"
#include "train/tensor.h"

#include <math.h>
#include <stdlib.h>

enum { N = 4, S = 32 };

static inline void open_kit(train_rig *rig, train_config config, bool tiny) {
  train_rig_open(rig);
  train_rig_ok(rig, train_rig_kit(rig, &config), "kit");
  const pd_train_model model = {.size = sizeof model, .tiny_ops_block = tiny};
  train_rig_ok(rig, rig->train->configure(rig->train, &model), "configure");
}

static inline const char *name_of(const pd_trace *trace, const pd_range *range) {
  return pd_trace_string(trace, range->name)->text;
}

#endif
