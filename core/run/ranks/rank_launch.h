/* What the launcher's environment says: which of how many ranks this process is. */
#ifndef CORE_RUN_RANK_LAUNCH_H
#define CORE_RUN_RANK_LAUNCH_H

#include "base/error.h"

#include <pdhost/communicator.h>

/* Reads the environment of mpirun (Open MPI, MPICH), of srun, of torchrun. *by: the communicator that serves such a
 * launch, "mpi" or "tcp"; NULL: this is no rank of several, and out->count is 1. A value that is not a number, or a
 * rank that does not fit the number of ranks, is a mistake of the configuration. */
pd_status rank_launch_find(pd_launch *out, const char **by, error *err);

/* For a command that measures in one process. False where a launcher started several ranks: rank 0 has a line in `err`,
 * the others the exit code alone. */
bool rank_launch_is_alone(const char *command, error *err);

#endif
