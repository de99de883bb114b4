/* `pdhost doctor`: what of this machine pdhost can use, and what to do about the rest. */
#ifndef CORE_CLI_DOCTOR_H
#define CORE_CLI_DOCTOR_H

#include "config/args.h"

extern const args_command doctor_command;

#endif
