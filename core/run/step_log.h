/* Every step of the loop as it was measured, and the summary made of them. [loop thread] */
#ifndef CORE_RUN_STEP_LOG_H
#define CORE_RUN_STEP_LOG_H

#include <pdhost/sink.h>

typedef struct step_log step_log;

/* NULL on no memory. The steps of a long run lie in a file without a name in `folder` (long_array.h), which is
 * borrowed; NULL: in memory. */
step_log *step_log_open(const char *folder);
void step_log_close(step_log *log);

/* Copies `stats`; PD_NO_MEMORY loses nothing that was there. */
pd_status step_log_add(step_log *log, const pd_step_stats *stats);
uint64_t step_log_count(const step_log *log);
/* Row `index`, to be completed in place (loss, step time by events); valid until the next add. */
pd_step_stats *step_log_at(step_log *log, uint64_t index);

/* Fills the figures that follow from the steps: counts, means, spreads, rates and losses. `batch_size` is in samples.
 * Arrays point into the log. */
pd_status step_log_summarise(step_log *log, int64_t batch_size, pd_summary *summary);

#endif
