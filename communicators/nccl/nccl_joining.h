/*
 * ncclCommInitRank with a limit: NCCL's own waits for the other ranks without one.
 */
#ifndef COMMUNICATORS_NCCL_JOINING_H
#define COMMUNICATORS_NCCL_JOINING_H

#include <pdhost/communicator.h>

#include <nccl.h>

typedef enum nccl_join_how {
  NCCL_JOIN_ENDED,    /* NCCL returned: `code` */
  NCCL_JOIN_GOES_ON,  /* given up: a rank was lost or the time is over. A thread stays in the library, which must stay */
  NCCL_JOIN_NO_THREAD /* nothing was begun */
} nccl_join_how;

typedef struct nccl_join_result {
  nccl_join_how how;
  ncclResult_t code;
} nccl_join_result;

/* Calls `init` (ncclCommInitRank) on a thread of its own, with the calling thread's CUDA context, and waits until it
 * returns, a rank of `ranks` is lost, or `timeout_ns` has passed. *comm is set where NCCL succeeded. [loop thread] */
nccl_join_result nccl_join(__typeof__(&ncclCommInitRank) init, const pd_ranks *ranks, const ncclUniqueId *id,
                           int64_t timeout_ns, ncclComm_t *comm);

#endif
