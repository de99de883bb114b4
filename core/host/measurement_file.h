/* Files of measurements: by a temporary name, then renamed; "-" is standard output. [loop thread] */
#ifndef CORE_HOST_MEASUREMENT_FILE_H
#define CORE_HOST_MEASUREMENT_FILE_H

#include "measure/measurement.h"

/* Returns the exit code; the line of a failure is printed. */
int measurement_file_write(const char *path, const pd_measurement *rows, uint64_t count);

#endif
