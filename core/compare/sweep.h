/* `pdhost sweep -c FILE --vary KEY=V,V ...`: a scenario over every combination of some keys' values. */
#ifndef CORE_COMPARE_SWEEP_H
#define CORE_COMPARE_SWEEP_H

#include "host/args.h"

extern const args_command sweep_command;

#endif
