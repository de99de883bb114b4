/* Every command of pdhost: one array from which the dispatch, the pages of help, the manual pages and the completion of
 * shells are made. */
#ifndef CORE_CLI_COMMANDS_H
#define CORE_CLI_COMMANDS_H

#include "config/args.h"

/* Makes `commands` all that there are; commands_use() takes those of pdhost. Call one of them before what follows. */
void commands_set(const args_command *const *commands, uint32_t count);
void commands_use(void);

/* In the order in which help shows them; "run" is the first. */
const args_command *const *commands_all(uint32_t *count);
/* NULL: there is no command of that name. */
const args_command *commands_find(const char *name);

/* Runs the command that argv[1] names, else a run. Prints errors once. Returns the exit code. [main thread] */
int commands_main(int argc, char **argv);

#endif
