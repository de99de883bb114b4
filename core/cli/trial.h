/* What a run will take, for pdhost --dry-run: two short trials of it in child processes, in a folder of their own that
 * is removed again, and from both a constant part and a part per step. [main thread; no other thread exists yet] */
#ifndef CORE_CLI_TRIAL_H
#define CORE_CLI_TRIAL_H

#include "config/config.h"

/* Prints time, disk and memory, and how sure they are, or why there is no estimate. The device has been loaded. */
void trial_print(const config *settings);

#endif
