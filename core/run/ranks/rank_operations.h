/*
 * The collectives of one rank by name, as the table of communication operations of PyTorch's TensorBoard plugin has
 * them: how often, how much, how long, and how much of that was the transfer itself. [loop thread]
 */
#ifndef CORE_RUN_RANK_OPERATIONS_H
#define CORE_RUN_RANK_OPERATIONS_H

#include "rank_side.h"

/* What a rank waits for, and what it transfers, are known of the collectives that all ranks have. */
typedef struct rank_operation {
  const char *name;       /* of the kernel; NULL: of all names together */
  uint64_t calls, common; /* common: that all ranks have */
  uint64_t sized, bytes;  /* calls whose message is known, and what the rank gave in them */
  int64_t latency_ns;     /* of all calls: their durations */
  int64_t common_ns;      /* of those that all ranks have: wait and transfer */
  int64_t wait_ns, transfer_ns;
} rank_operation;

/* All zero at first. */
typedef struct rank_operations {
  rank_operation *rows; /* the longest latency first */
  rank_operation all;
  uint32_t count, room;
} rank_operations;

/* Stands for a rank's collective that not all ranks have. */
#define RANK_NO_TRANSFER (-1)

/* `transfers`: of each collective of `side`, ns or RANK_NO_TRANSFER. False on no memory. */
bool rank_operations_make(const rank_side *side, const int64_t *transfers, rank_operations *out);
void rank_operations_free(rank_operations *self);

#endif
