/* pdhost recover: the outputs of a run from its capture. [main thread] */
#ifndef CORE_CLI_RECOVER_H
#define CORE_CLI_RECOVER_H

#include "config/args.h"
#include "config/config.h"

extern const args_command recover_command;

/* The capture itself, or the newest of a folder's. malloc'ed; NULL: `err` says why. */
char *recover_find(const char *path, error *err);
/* Writes the outputs of the run that the capture holds, as `given` says: with the sinks of `given`, else with `sinks`,
 * else, where that is NULL, with those of the run. `readers`: settings with the readers. Returns the exit code. */
int recover_run(const config *readers, const char *path, const config_input *given, const char *sinks, bool quiet,
                error *err);

#endif
