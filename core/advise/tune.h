/* `pdhost tune -c FILE`: keeps what really makes a run faster, cure by cure, and writes the configuration. */
#ifndef CORE_ADVISE_TUNE_H
#define CORE_ADVISE_TUNE_H

#include "config/args.h"

extern const args_command tune_command;

#endif
