/* See rank_launch.h. srun's variables of a step alone count: those of the job are there in its batch script, too, which
 * is one process. */
#include "rank_launch.h"

#include <errno.h>
#include <stdlib.h>

typedef struct launcher {
  const char *rank, *count, *local, *by;
} launcher;

static const launcher launchers[] = {
    {"OMPI_COMM_WORLD_RANK", "OMPI_COMM_WORLD_SIZE", "OMPI_COMM_WORLD_LOCAL_RANK", "mpi"},
    {"PMI_RANK", "PMI_SIZE", "MPI_LOCALRANKID", "mpi"},
    {"SLURM_PROCID", "SLURM_STEP_NUM_TASKS", "SLURM_LOCALID", "mpi"},
    {"RANK", "WORLD_SIZE", "LOCAL_RANK", "tcp"},
};

static bool number(const char *name, uint32_t *out) {
  const char *text = getenv(name);
  char *end = NULL;
  if (!text || !text[0]) return false;
  errno = 0;
  const unsigned long value = strtoul(text, &end, 10);
  *out = (uint32_t)value;
  return !errno && !*end && value <= UINT32_MAX;
}

pd_status rank_launch_find(pd_launch *out, const char **by, error *err) {
  *by = NULL;
  *out = (pd_launch){.size = sizeof *out, .count = 1, .address = getenv("MASTER_ADDR")};
  (void)number("MASTER_PORT", &out->port);
  for (size_t i = 0; i < sizeof launchers / sizeof launchers[0]; i++) {
    const launcher *at = &launchers[i];
    uint32_t rank, count;
    if (!number(at->rank, &rank) || !number(at->count, &count) || count < 2) continue;
    if (rank >= count)
      return error_set(err, PD_INVALID, CODE_CONFIG, "%s = %u: is not a rank of %s = %u", at->rank, rank, at->count,
                       count);
    out->rank = rank;
    out->count = count;
    (void)number(at->local, &out->local_rank);
    *by = at->by;
    break;
  }
  return PD_OK;
}

bool rank_launch_is_alone(const char *command, error *err) {
  pd_launch launch;
  const char *by = NULL;
  if (rank_launch_find(&launch, &by, err) != PD_OK) return false;
  if (!by) return true;
  error_set(err, PD_INVALID, CODE_USAGE,
            "%s: this is one of %u ranks, and it measures in one process: start it without mpirun, srun or torchrun. A "
            "run of several ranks measures its cures with -o truth.cures=auto",
            command, launch.count);
  return false;
}
