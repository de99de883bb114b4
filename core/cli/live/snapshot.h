/* pdhost snapshot: the command line. */
#ifndef CORE_CLI_LIVE_SNAPSHOT_H
#define CORE_CLI_LIVE_SNAPSHOT_H

#include "config/args.h"

extern const args_command snapshot_command;

#endif
