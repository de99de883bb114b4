/* What a processor's kernels do however few samples they get. [any thread] */
#ifndef CORE_FACTS_WEIGHTS_H
#define CORE_FACTS_WEIGHTS_H

#include "facts.h"

/* To read or write the weights of a product takes as long as to multiply them with this many rows. 40 runs of
 * small_batch of five kinds of steps, in 2 to 16 passes on one thread and on two, saved between nothing and 63 % of the
 * step with one pass. By this they are missed by 5.1 points at the median and 17 at most; by 20 us that each kernel
 * takes anyway, by 13.3 and 60. */
#define WEIGHTS_ROWS 16

/* The share of a matrix product or a convolution that its weights take, by the shapes of its operation: 1 for no rows.
 * 0 for all else, and where shapes were not recorded. */
double weights_share(const trace_facts *facts, const pd_device_row *row);

#endif
