/* `pdhost compare A.json B.json ...`: measurements as a table; of two runs, which is faster. */
#ifndef CORE_COMPARE_COMPARE_H
#define CORE_COMPARE_COMPARE_H

#include "config/args.h"

extern const args_command compare_command;

#endif
