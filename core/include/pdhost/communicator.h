/*
 * pdhost communicator ABI: how the ranks of one distributed run reach one another.
 *
 * A run of several ranks opens a communicator for host memory (`mpi`), and where its device has one, a communicator for
 * device memory (`nccl`), which is set up over the first. A run of one rank opens none. All ranks call the same
 * functions in the same order; those of host memory wait for the others.
 *
 * Other parts of a run see pd_ranks of it, an extension of the host.
 */
#ifndef PDHOST_COMMUNICATOR_H
#define PDHOST_COMMUNICATOR_H

#include "device.h"

#ifdef __cplusplus
extern "C" {
#endif

typedef struct pd_communicator pd_communicator; /* the plugin's state */

/* What the launcher's environment says of this process: mpirun, srun, torchrun. */
typedef struct pd_launch {
  uint32_t size;
  uint32_t rank, count; /* of all ranks */
  uint32_t local_rank;  /* among the ranks of this host */
  int64_t timeout_ns;   /* of a wait for the other ranks */
  const char *address;  /* host of rank 0 (MASTER_ADDR), or NULL */
  uint32_t port;        /* MASTER_PORT, or 0 */
  uint32_t reserved;
} pd_launch;

typedef uint32_t pd_reduce;
enum {
  PD_REDUCE_SUM = 1,
  PD_REDUCE_MEAN = 2 /* the sum divided by the number of ranks */
};

typedef struct pd_communicator_ops {
  uint32_t size;
  uint32_t reserved PD_OR_ZERO;
  /* Joins the other ranks. `host` has PD_EXT_DEVICE where the communicator is for the memory of an open device, and
   * PD_EXT_RANKS where the ranks reach one another already. PD_UNSUPPORTED where a library is missing or the ranks were
   * not started by a launcher that it knows; PD_STOP where another rank fails, which says why. On failure *out stays
   * NULL. [loop thread] */
  pd_status (*init)(const pd_host *host, const void *options, const pd_launch *launch, pd_communicator **out);
  /* Waits for no other rank. [loop thread] */
  void (*close)(pd_communicator *communicator);
  /* As the library counts them; the same as pd_launch has. [any thread] */
  uint32_t (*rank)(const pd_communicator *communicator);
  uint32_t (*count)(const pd_communicator *communicator);
  /* Optional, in device memory: `data` of `count` float32 becomes the sum or mean over all ranks, the same bits on all
   * of them. Asynchronous on `stream`, where it is one kernel. [loop thread] */
  pd_status (*all_reduce)(pd_communicator *communicator, pd_stream *stream, float *data, uint64_t count, pd_reduce how);
  /* Optional, in host memory, all three or none. Each ends with a failure when pd_launch.timeout_ns has passed. */
  pd_status (*barrier)(pd_communicator *communicator);
  /* `data` of rank `root` goes to all. [loop thread] */
  pd_status (*broadcast)(pd_communicator *communicator, void *data, uint64_t bytes, uint32_t root);
  /* `bytes` of each rank, the same number on all, go to `all` in the order of the ranks, on all ranks. [loop thread] */
  pd_status (*gather)(pd_communicator *communicator, const void *data, uint64_t bytes, void *all);
  /* Whatever waits for the other ranks, on the host or on the device, ends soon, with a failure. [any thread] */
  void (*abort)(pd_communicator *communicator);
} pd_communicator_ops;

#define PD_COMMUNICATOR_PLAIN(name_, version_, summary_, ...)                                                          \
  static const pd_communicator_ops pd_ops_ = {.size = sizeof(pd_communicator_ops), __VA_ARGS__};                       \
  PD_PLUGIN_PLAIN(PD_KIND_COMMUNICATOR, communicator, pd_ops_, name_, version_, summary_)

/* The ranks of this run: an extension of the host, NULL in a run of one rank. The functions are those of the
 * communicators. */
#define PD_EXT_RANKS "pdhost.ranks/1"
typedef struct pd_ranks {
  uint32_t size;
  uint32_t rank, count;
  uint32_t reserved;
  void *impl;
  pd_status (*all_reduce)(const struct pd_ranks *ranks, pd_stream *stream, float *data, uint64_t count, pd_reduce how);
  pd_status (*barrier)(const struct pd_ranks *ranks);
  pd_status (*broadcast)(const struct pd_ranks *ranks, void *data, uint64_t bytes, uint32_t root);
  pd_status (*gather)(const struct pd_ranks *ranks, const void *data, uint64_t bytes, void *all);
  /* Another rank ended or hangs: what waits for it may give up. [any thread] */
  bool (*is_lost)(const struct pd_ranks *ranks);
} pd_ranks;

#ifdef __cplusplus
}
#endif
#endif
