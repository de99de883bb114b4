/* One cell of a sweep: run, or found from before, and read as a measurement. [loop thread] */
#ifndef CORE_SWEEP_SWEEP_CELL_H
#define CORE_SWEEP_SWEEP_CELL_H

#include "sweep_plan.h"

#include "compare/run_document.h"
#include "measure/measurement.h"

typedef struct sweep_outcome {
  int code;       /* of the run; CODE_DONE where it was there, CODE_SCENARIO where its times are of no use */
  bool was_there; /* from an earlier call */
  bool no_device; /* the run ended where its device could not be opened */
  bool measured;  /* `row` holds its times */
  char why[ERROR_LINE_BYTES]; /* they are of no use; empty: they are, or the run itself failed and its log tells */
} sweep_outcome;

/* *row is zeroed. A run that fails or leaves no times of use is no failure of this function: its code tells. Without
 * `runs` it is taken from an earlier call, or not at all. False: nothing can be run, or a signal came, see `err`. */
bool sweep_cell_take(const sweep_plan *plan, uint32_t cell, run_time time, bool runs, pd_measurement *row,
                     sweep_outcome *out, error *err);

#endif
