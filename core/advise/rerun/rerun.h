/* `pdhost rerun`: runs what a manifest describes again, and says what differs. [main thread] */
#ifndef CORE_ADVISE_RERUN_RERUN_H
#define CORE_ADVISE_RERUN_RERUN_H

#include "config/args.h"

extern const args_command rerun_command;

#endif
