/* The command line: parses it, answers every command but the run itself, and hands that to its caller. main() calls
 * cli_main alone. [loop thread] */
#ifndef CORE_HOST_CLI_H
#define CORE_HOST_CLI_H

#include "config.h"

#include <pdhost/analysis.h>

/* What the command line needs of parts above it. NULL members: the command says that this build has not got it. */
typedef struct cli_hooks {
  /* Does the run; prints its own messages; returns the exit code. */
  int (*run)(config *config);
  /* The registry of metrics, for --explain. NULL on no memory. Valid until the process ends. */
  const pd_metric *const *(*metrics)(uint64_t *count);
  /* What a metric's heading is on a CUDA device; NULL: the same. */
  const char *(*cuda_heading)(const char *key);
} cli_hooks;

/* Everything: parse, dispatch, print errors once. Returns the process's exit code. */
int cli_main(int argc, char **argv, const cli_hooks *hooks);

#endif
