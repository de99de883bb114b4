/* pdhost --dry-run: what a run would do, on stdout. */
#ifndef CORE_HOST_PLAN_H
#define CORE_HOST_PLAN_H

#include "config.h"

void plan_print(const config *self);

#endif
