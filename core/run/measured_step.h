/* One step of the loop, timed, and what belongs to it: the same for steps that are recorded and for steps aside. Each
 * that fails keeps the cause in run->failure. [loop thread] */
#ifndef CORE_RUN_MEASURED_STEP_H
#define CORE_RUN_MEASURED_STEP_H

#include "run_state.h"

/* Keeps the cause of the first failure: `host`'s last message, or the status's own text. Returns `status`. */
pd_status measured_step_fail(run_state *run, pd_status status, service_host *host, const char *where);
/* Waits for the device. */
pd_status measured_step_wait(run_state *run);
/* Lets the training kit copy the batch after this one beside the step's work, where there is one and it is wanted. */
void measured_step_offer(run_state *run, pd_batch *next);
/* What the scenario asserts of the whole run, after its last step. */
pd_status measured_step_finish(run_state *run);
/* One call of the scenario's step inside its range, between two synchronisations or two events. */
pd_status measured_step_run(run_state *run, const pd_step *step, int64_t *start_ns, int64_t *end_ns,
                            recorder_step *marks);
/* No copy is on its way to the device when the loader takes its buffers back. */
pd_status measured_step_end_iterator(run_state *run);

#endif
