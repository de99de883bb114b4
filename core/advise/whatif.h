/* `pdhost whatif -c FILE`: what a run would save without each cause, as predicted, and what the cures really save. */
#ifndef CORE_ADVISE_WHATIF_H
#define CORE_ADVISE_WHATIF_H

#include "config/args.h"

extern const args_command whatif_command;

#endif
