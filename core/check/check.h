/* `pdhost check`: what cannot be right in a trace. */
#ifndef CORE_CHECK_CHECK_H
#define CORE_CHECK_CHECK_H

#include "config/args.h"

extern const args_command check_command;

#endif
