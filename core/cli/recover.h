/* pdhost recover: the outputs of a run from its capture. [main thread] */
#ifndef CORE_CLI_RECOVER_H
#define CORE_CLI_RECOVER_H

#include "config/args.h"
#include "config/config.h"

extern const args_command recover_command;

/* The capture itself, or the newest of a folder's. malloc'ed; NULL: `err` says why. */
char *recover_find(const char *path, error *err);
/* The outputs of the run that the capture is of, as `given` has them: from its sinks, where `given` names none from
 * `sinks`, where that is NULL from those of the run. `readers`: settings with the readers. Returns the exit code. */
int recover_run(const config *readers, const char *path, const config_input *given, const char *sinks, bool quiet,
                error *err);

#endif
