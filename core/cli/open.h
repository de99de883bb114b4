/* `pdhost open PATH`: the tool that reads a file or a folder, and the command that starts it. */
#ifndef CORE_CLI_OPEN_H
#define CORE_CLI_OPEN_H

#include "config/args.h"

extern const args_command open_command;

#endif
