/* `pdhost causal -c FILE`: what the step does while one part of it is made slower by known times. */
#ifndef CORE_ADVISE_CAUSAL_H
#define CORE_ADVISE_CAUSAL_H

#include "config/args.h"

extern const args_command causal_command;

#endif
