/* `pdhost sweep -c FILE --vary KEY=V,V ...`: a scenario over every combination of some keys' values. */
#ifndef CORE_SWEEP_SWEEP_H
#define CORE_SWEEP_SWEEP_H

#include "config/args.h"

extern const args_command sweep_command;

#endif
