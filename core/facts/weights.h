/* How much of a CPU's kernel does not depend on the number of samples. [any thread] */
#ifndef CORE_FACTS_WEIGHTS_H
#define CORE_FACTS_WEIGHTS_H

#include "facts.h"

/* To read or write the weights of a product takes as long as to multiply them with this many rows. It was chosen by 40
 * runs of small_batch of five kinds of steps, in 2 to 16 passes on one thread and on two. They save between nothing and
 * 63 % of the step with one pass, and are missed by 5.1 points at the median and 17 at most; by 20 us that each kernel
 * takes anyway, by 13.3 and 60. 18 runs of six other kinds are missed by 3.4 points at the median and 19 at most. The
 * products of an mlp alone had 9 rows, so that a gain's interval begins with half. */
#define WEIGHTS_ROWS 16
#define WEIGHTS_ROWS_LEAST 8

/* The share of a matrix product or a convolution that its weights take, by the shapes of its operation. 0 for all else,
 * and where shapes were not recorded. The rows are those of the first matrix, or the pixels of the first images,
 * which are what a convolution reads, and in the backward part the gradient of what it gave. */
double weights_share(const trace_facts *facts, const pd_device_row *row, double as_rows);

#endif
