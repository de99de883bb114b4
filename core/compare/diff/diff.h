/* `pdhost diff A B`: two traces or captures, and what changed from the first to the second, per step. */
#ifndef CORE_COMPARE_DIFF_H
#define CORE_COMPARE_DIFF_H

#include "config/args.h"

extern const args_command diff_command;

#endif
