/* One rank of a distributed program: what its steps took, and its collectives. [loop thread] */
#ifndef CORE_RUN_RANK_SIDE_H
#define CORE_RUN_RANK_SIDE_H

#include "rank_parts.h"

#include "base/arena.h"
#include "facts/intervals.h"
#include "ledger/ledger.h"
#include "ledger/verdict.h"

#include <pdhost/trace.h>

/* Which step it is, the same on all ranks. Windows of one rank may have steps of the same number: a profiler that is
 * started a second time counts from the beginning. Where ranks have a number differently often, it is not known which
 * of its steps belong together, and none of them do. */
typedef struct rank_step_key {
  uint64_t number;
  uint32_t nth, of; /* how many steps of this number the rank has, and how many of them came before; 0: not finished */
} rank_step_key;

/* One kernel of a collective. Times are of the rank's own clock. */
typedef struct rank_collective {
  rank_step_key step;    /* that launched it */
  int64_t step_start_ns; /* which step of that number it is, before the side is finished */
  const char *name;      /* of the kernel */
  uint32_t stream;
  uint32_t place; /* how many of this name came before it on its stream in its step */
  int64_t start_ns, end_ns;
  uint64_t bytes; /* that each rank gives; 0: not known */
} rank_collective;

typedef struct rank_step {
  rank_step_key key;
  int64_t start_ns; /* of the rank's own clock */
  double ns;
} rank_step;

typedef struct rank_side {
  const char *path;
  uint32_t rank, ranks; /* ranks 0: the file does not say; then rank is the file's place among the files */
  arena texts;
  rank_step *steps;
  rank_collective *collectives; /* by step, name, stream, place */
  uint32_t step_count, step_room, collective_count, collective_room;
  intervals compute; /* when any device record but a collective ran */
  intervals blocked; /* when a thread was in a call that waits for the device */
  double compute_ns; /* of a step: the union of them */
  double comm_ns;    /* of a step: the union of the collectives */
  double overlap_ns; /* of a step: both */
  rank_parts parts;  /* of all steps, by time */
  /* Over all steps: the ledger's owners, and when the owner was communication. */
  int64_t owners_ns[LEDGER_OWNER_COUNT];
  intervals exposed;
  /* Per step, by cause: how long the device was idle while the host was the cause's. From the last window. */
  double idle_ns[VERDICT_COUNT];
  /* What recording adds to a step, as far as it is known, and to what its host needs. From the last window. */
  double added_ns, added_host_ns;
  bool has_causes;
  bool is_other;  /* the device is not a GPU */
  bool is_server; /* it serves inference: nothing is trained */
  /* What the device was given to do in the steps, whatever time it took: ranks that were given the same have the same
   * number. It counts kernels with their grids, copies, sets and the shapes of operations, but no collective. 0: the
   * trace has neither shapes nor grids. */
  uint64_t work;
} rank_side;

/* Adds a window; `self` is zeroed but for its path and rank. The steps and collectives of several windows add up. False
 * on no memory. */
bool rank_side_add(rank_side *self, const pd_trace *trace);
/* Sorts what was added, and completes the keys of its steps. */
void rank_side_finish(rank_side *self);
void rank_side_free(rank_side *self);

/* How many ranks take part in a collective, as its name says: "... on 2 of 4 ranks [0, 1]". 0: all of them. */
uint32_t rank_collective_members(const char *name);

int rank_step_compare(rank_step_key a, rank_step_key b);
/* In the order of rank_side.collectives, but for the place of equal ones. */
int rank_collective_compare(const rank_collective *a, const rank_collective *b);

#endif
