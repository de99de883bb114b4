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

/* False: the variable is not there. A value that is not a number is a mistake, added to `err`. */
static bool number(const char *name, uint32_t *out, error *err) {
  const char *text = getenv(name);
  char *end = NULL;
  if (!text || !text[0]) return false;
  errno = 0;
  const unsigned long value = strtoul(text, &end, 10);
  *out = (uint32_t)value;
  if (!errno && !*end && text[0] != '-' && value <= UINT32_MAX) return true;
  error_set(err, PD_INVALID, CODE_CONFIG, "%s = %s: is not a number", name, text);
  return false;
}

static pd_status find(pd_launch *out, const launcher **by, error *err) {
  *by = NULL;
  *out = (pd_launch){.size = sizeof *out, .count = 1, .address = getenv("MASTER_ADDR")};
  for (size_t i = 0; i < sizeof launchers / sizeof launchers[0]; i++) {
    const launcher *at = &launchers[i];
    uint32_t rank = 0, count = 0;
    if (!getenv(at->rank) || !getenv(at->count)) continue; /* one alone is something else's */
    const bool has_both = number(at->count, &count, err) && number(at->rank, &rank, err);
    if (err->count) return err->status;
    if (!has_both || count < 2) continue;
    if (rank >= count)
      return error_set(err, PD_INVALID, CODE_CONFIG, "%s = %u: is not a rank of %s = %u", at->rank, rank, at->count,
                       count);
    out->rank = rank;
    out->count = count;
    (void)number(at->local, &out->local_rank, err);
    (void)number("MASTER_PORT", &out->port, err);
    if (err->count) return err->status;
    *by = at;
    break;
  }
  return PD_OK;
}

pd_status rank_launch_find(pd_launch *out, const char **by, error *err) {
  const launcher *found;
  const pd_status status = find(out, &found, err);
  *by = status == PD_OK && found ? found->by : NULL;
  return status;
}

bool rank_launch_is_alone(const char *command, error *err) {
  pd_launch launch;
  const launcher *found;
  if (find(&launch, &found, err) != PD_OK) return false;
  if (!found) return true;
  error_set(err, PD_INVALID, CODE_USAGE,
            "%s: %s = %u says that this is one of several ranks, and %s measures in one process: start it without "
            "mpirun, srun or torchrun, or unset %s. A run of several ranks measures its cures with -o "
            "truth.cures=auto",
            command, found->count, launch.count, command, found->count);
  if (launch.rank) err->count = err->used = 0; /* rank 0 says it for all */
  return false;
}
