/* `pdhost init FILE.ini`: a configuration file with every key in it. [main thread] */
#ifndef CORE_CLI_INIT_FILE_H
#define CORE_CLI_INIT_FILE_H

#include "base/error.h"

/* Writes the file for `scenario`: each section with each of its keys, what it does, unit, range and default. Every key
 * but [run] scenario is commented out, so that the file changes nothing until the user takes a ';' away. An existing
 * file is refused (CODE_OUTPUT). */
pd_status init_file(const char *path, const char *scenario, error *err);

#endif
