/* pdhost --dry-run: what a run would do, on stdout. */
#ifndef CORE_RUN_PLAN_H
#define CORE_RUN_PLAN_H

#include "config/config.h"

/* The device has been loaded. `no_gpu`: why `auto` came to the CPU; "" when it did not. */
void plan_print(const config *self, const char *no_gpu);

#endif
