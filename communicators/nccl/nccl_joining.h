/*
 * ncclCommInitRank with a limit: NCCL's own waits for the other ranks without one.
 */
#ifndef COMMUNICATORS_NCCL_JOINING_H
#define COMMUNICATORS_NCCL_JOINING_H

#include "../lib/limited_call.h"

#include <pdhost/communicator.h>

#include <nccl.h>

typedef struct nccl_join_result {
  limited_call_end how;
  ncclResult_t code; /* NCCL's, where it returned */
} nccl_join_result;

/* Calls `init` (ncclCommInitRank) on a thread of its own, with the calling thread's CUDA context, and waits until it
 * returns, a rank of `ranks` is lost, or `timeout_ns` has passed. *comm is set where NCCL succeeded. [loop thread] */
nccl_join_result nccl_join(__typeof__(&ncclCommInitRank) init, const pd_ranks *ranks, const ncclUniqueId *id,
                           int64_t timeout_ns, ncclComm_t *comm);

#endif
