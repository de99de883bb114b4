/* Where a rank's own text goes. */
#ifndef CORE_RUN_RANK_OUTPUT_H
#define CORE_RUN_RANK_OUTPUT_H

#include <stdbool.h>

/* From now on standard output of a rank other than 0 is TRACE_DIR/rankN_output.txt, or nowhere where that cannot be
 * written: the terminal is rank 0's. Nothing in a run of one rank. `goes_on`: after what the file has already.
 * [loop thread] */
void rank_output_take(const char *trace_dir, bool goes_on);

#endif
