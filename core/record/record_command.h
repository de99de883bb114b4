/* pdhost record: the command line. */
#ifndef CORE_RECORD_RECORD_COMMAND_H
#define CORE_RECORD_RECORD_COMMAND_H

#include "config/args.h"

extern const args_command record_command;

#endif
