/* `pdhost pause`: pauses a recording, or resumes it. */
#ifndef CORE_CLI_LIVE_PAUSE_H
#define CORE_CLI_LIVE_PAUSE_H

#include "config/args.h"

extern const args_command pause_command;

#endif
