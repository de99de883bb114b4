/* `pdhost analyze`: what held up a program that another profiler recorded. */
#ifndef CORE_CLI_ANALYZE_H
#define CORE_CLI_ANALYZE_H

#include "config/args.h"

extern const args_command analyze_command;

#endif
