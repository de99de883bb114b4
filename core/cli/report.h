/* `pdhost report`: the page of a capture, of traces or of a run's folder. */
#ifndef CORE_CLI_REPORT_H
#define CORE_CLI_REPORT_H

#include "config/args.h"

extern const args_command report_command;

#endif
