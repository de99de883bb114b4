/* What the scenario injected into the active steps, measured; behind PD_EXT_TRUTH. [loop thread] */
#ifndef CORE_HOST_TRUTH_H
#define CORE_HOST_TRUTH_H

#include <pdhost/sink.h>
#include <pdhost/truth.h>

typedef struct truth truth;

/* NULL on no memory. */
truth *truth_open(void);
void truth_close(truth *self);
const pd_truth *truth_table(const truth *self);

/* A step is over; what it injected counts when it was active. `stats` of the step. */
void truth_step(truth *self, const pd_step_stats *stats);

/* Active steps so far. */
uint64_t truth_steps(const truth *self);

/* Writes trace_dir/truth.json. */
pd_status truth_write(const truth *self, const pd_files *files, const pd_run *run);

#endif
