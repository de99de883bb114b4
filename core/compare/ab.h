/* `pdhost ab -c FILE 'key=v1' 'key=v2'`: a scenario's step with two configurations, in turns, in one process. */
#ifndef CORE_COMPARE_AB_H
#define CORE_COMPARE_AB_H

#include "config/args.h"

extern const args_command ab_command;

#endif
