/* `pdhost init`: a configuration file, or the files of a new plugin. */
#ifndef CORE_CLI_INIT_H
#define CORE_CLI_INIT_H

#include "config/args.h"

extern const args_command init_command;

#endif
