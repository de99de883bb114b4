/* Files of measurements: by a temporary name, then renamed; "-" is standard output. [loop thread] */
#ifndef CORE_MEASURE_MEASUREMENT_FILE_H
#define CORE_MEASURE_MEASUREMENT_FILE_H

#include "measurement.h"

/* Both return the exit code; the line of a failure is printed. The first makes the file's folder and tries a temporary
 * file there, so that nothing is measured that could not be saved. */
int measurement_file_check(const char *path);
int measurement_file_write(const char *path, const pd_measurement *rows, uint64_t count);

#endif
