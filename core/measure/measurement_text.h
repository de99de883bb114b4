/* A measurement for the reader, as torch.utils.benchmark shows its own. */
#ifndef CORE_MEASURE_MEASUREMENT_TEXT_H
#define CORE_MEASURE_MEASUREMENT_TEXT_H

#include "measurement.h"

#include <stdio.h>

/* Title, description, median, interquartile range, counts and warnings are torch's lines; mean, device time and what an
 * empty block takes follow. PD_NO_MEMORY: nothing was written. A failed write is left in `out`. */
pd_status measurement_print(const pd_measurement *self, FILE *out);

#endif
