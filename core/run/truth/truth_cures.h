/* What the cures of a run save, measured within it ([truth] cures). [loop thread] */
#ifndef CORE_RUN_TRUTH_TRUTH_CURES_H
#define CORE_RUN_TRUTH_TRUTH_CURES_H

#include "run/run_state.h"

/* Brings up a twin of the run with each cure that its device offers (ledger/cures.h) and times blocks of both in turns,
 * the order changing from round to round, outside the profiler. Nothing where it is not asked for. A cure that does not
 * run is kept as such; why is printed. PD_STOP: the scenario asked for the end of the run. */
pd_status truth_cures_run(run_state *run);

#endif
