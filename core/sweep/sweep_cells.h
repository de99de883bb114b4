/* All cells of a sweep, one after the other, and what is printed of each. [loop thread] */
#ifndef CORE_SWEEP_SWEEP_CELLS_H
#define CORE_SWEEP_SWEEP_CELLS_H

#include "sweep_cell.h"

#include "run/ranks/rank_deal.h"

typedef struct sweep_findings {
  pd_measurements rows;
  uint64_t *places;            /* by cell: its row, or UINT64_MAX */
  int code;                    /* of the first run that failed */
  char said[ERROR_LINE_BYTES]; /* what the last cell said that has its times all the same */
} sweep_findings;

/* `deal`: the cells of this rank alone; NULL: all. Fills `found`, whose places are the caller's, one for each cell.
 * `quiet`: no line for a cell that has its times. False: nothing can be run, or a signal came, see `err`. */
bool sweep_cells_run(const sweep_plan *plan, const rank_deal *deal, run_time time, bool quiet, sweep_findings *found,
                     error *err);

#endif
