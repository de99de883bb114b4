/* `pdhost top`: what a run is doing now. */
#ifndef CORE_CLI_LIVE_TOP_H
#define CORE_CLI_LIVE_TOP_H

#include "config/args.h"

extern const args_command top_command;

#endif
