/* What the tests of the modes share. */
#ifndef TESTS_TRAIN_MODES_RIG_H
#define TESTS_TRAIN_MODES_RIG_H

#include "pd_test.h"
#include "train_rig.h"

#include "train/tensor.h"

#include <math.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

enum { N = 4, S = 16 };

static inline void open_kit(train_rig *rig, const train_config *config) {
  train_rig_open(rig);
  train_rig_ok(rig, train_rig_kit(rig, config), "kit");
}

static inline void step(train_rig *rig, const pd_batch *batch) {
  const pd_step at = {.size = sizeof at, .batch = batch};
  train_rig_ok(rig, rig->train->step(rig->train, &at), "step");
}

#endif
