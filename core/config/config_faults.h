/* The faults of configuration files, for the user: in the order of the files and lines, with the place in the line. */
#ifndef CORE_CONFIG_CONFIG_FAULTS_H
#define CORE_CONFIG_CONFIG_FAULTS_H

#include "base/error.h"

/* Puts the lines of `err` in order: those of each file by line, then the others as they were. Each that begins with
 * "FILE:LINE: " gets its source line and the column of what is wrong. Reads the files again; one that is gone or has
 * changed loses its marks. [main thread] */
void config_faults_locate(error *err, const char *const *files, uint32_t file_count);

#endif
