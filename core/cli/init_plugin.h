/* `pdhost init --scenario NAME`: the files of a new plugin. [main thread] */
#ifndef CORE_CLI_INIT_PLUGIN_H
#define CORE_CLI_INIT_PLUGIN_H

#include "base/error.h"

#include <stdbool.h>

/* Writes source, CMakeLists.txt, Makefile and README.md of a plugin into `folder`, which is made where it is missing.
 * Writes nothing where one of these files exists already. Prints each path on standard output. CODE_USAGE: `name` is
 * not a name of a plugin, or there is no such plugin in C++. CODE_OUTPUT: a file exists or cannot be written. */
pd_status init_plugin(pd_kind kind, const char *name, bool cpp, const char *folder, error *err);

#endif
