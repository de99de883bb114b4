/* pdhost recover: the outputs of a run from its capture. [main thread] */
#ifndef CORE_CLI_RECOVER_H
#define CORE_CLI_RECOVER_H

#include "config/args.h"

extern const args_command recover_command;

#endif
