/*
 * nccl: ranks with a CUDA device each, over device memory. Rank 0's identifier goes to the others over the communicator
 * for host memory. The library is loaded by name; this plugin links none of CUDA's.
 *
 * ncclCommInitRank waits for all ranks without a limit, so a thread of its own calls it, and the loop's thread waits
 * for that thread with a limit. NCCL's own way, a communicator that does not block, would start a thread for each
 * collective.
 */
#include "nccl_joining.h"

#include <dlfcn.h>
#include <stdatomic.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

/* clang-format off */
#define NCCL_MAP(X)                                                                                                    \
  X(GetUniqueId) X(CommInitRank) X(CommDestroy) X(CommAbort) X(AllReduce) X(GetErrorString)
/* clang-format on */

struct pd_communicator {
  const pd_host *host;
  const pd_device_access *device;
  pd_launch launch;
  void *library;
  struct {
#define X(name) __typeof__(&nccl##name) name; /* NOLINT(bugprone-macro-parentheses): a declaration */
    NCCL_MAP(X)
#undef X
  } nccl;
  ncclComm_t comm;
  bool in_use; /* a thread is in the library for good */
  atomic_bool aborted;
};

/* False: `why` says what is missing. */
static bool load(pd_communicator *self, char *why, size_t room) {
  static const char *const names[] = {"libnccl.so.2", "/usr/local/cuda/lib64/libnccl.so.2", NULL};
  why[0] = '\0';
  for (int i = 0; names[i] && !self->library; i++) {
    self->library = dlopen(names[i], RTLD_NOW | RTLD_LOCAL);
    const char *reason = self->library ? NULL : dlerror();
    if (!self->library && !why[0])
      (void)snprintf(why, room,
                     "NCCL 2 could not be loaded: %s; install libnccl2, or set LD_LIBRARY_PATH to its folder",
                     reason ? reason : names[0]);
  }
  if (!self->library) return false;
#define X(name)                                                                                                        \
  {                                                                                                                    \
    void *address = dlsym(self->library, "nccl" #name);                                                                \
    (void)snprintf(why, room, "nccl" #name " is missing in the library that was loaded: it is too old");               \
    if (!address) return false;                                                                                        \
    memcpy(&self->nccl.name, &address, sizeof address);                                                                \
  }
  NCCL_MAP(X)
#undef X
  return true;
}

static pd_status fail(const pd_communicator *self, ncclResult_t code, const char *what) {
  return self->host->fail(self->host, PD_DEVICE, "nccl: %s: %s%s", what, self->nccl.GetErrorString(code),
                          code == ncclInvalidUsage ? "; two ranks may share one GPU: give each its own" : "");
}

static pd_status all_reduce(pd_communicator *self, pd_stream *stream, float *data, uint64_t count, pd_reduce how) {
  void *handle = self->device->ops->stream->native(self->device->device, stream);
  const ncclRedOp_t op = how == PD_REDUCE_MEAN ? ncclAvg : ncclSum;
  if (atomic_load(&self->aborted)) return self->host->fail(self->host, PD_IO, "nccl: ended, since another rank did");
  const ncclResult_t code = self->nccl.AllReduce(data, data, count, ncclFloat, op, self->comm, handle);
  return code == ncclSuccess ? PD_OK : fail(self, code, "ncclAllReduce");
}

/* Ends the kernels that wait for another rank, and calls that do. The communicator is gone with it. */
static void abort_waits(pd_communicator *self) {
  if (atomic_exchange(&self->aborted, true)) return;
  if (self->comm) (void)self->nccl.CommAbort(self->comm);
}

static void close_nccl(pd_communicator *self) {
  if (self->comm && !atomic_exchange(&self->aborted, true)) (void)self->nccl.CommDestroy(self->comm);
  if (self->library && !self->comm && !self->in_use) dlclose(self->library); /* its threads may be in it otherwise */
  free(self);
}

static pd_status join(pd_communicator *self, const pd_ranks *ranks) {
  ncclUniqueId id;
  memset(&id, 0, sizeof id);
  ncclResult_t code = ncclSuccess;
  if (ranks->rank == 0) code = self->nccl.GetUniqueId(&id);
  /* The others wait for it: what went wrong is told after they have it. */
  const pd_status status = ranks->broadcast(ranks, &id, sizeof id, 0);
  if (status != PD_OK) return status;
  if (code != ncclSuccess) return fail(self, code, "ncclGetUniqueId");
  const nccl_join_result joined = nccl_join(self->nccl.CommInitRank, ranks, &id, self->launch.timeout_ns, &self->comm);
  self->in_use = joined.how == LIMITED_CALL_GOES_ON;
  switch (joined.how) {
  case LIMITED_CALL_ENDED: return joined.code == ncclSuccess ? PD_OK : fail(self, joined.code, "ncclCommInitRank");
  case LIMITED_CALL_NO_THREAD: return self->host->fail(self->host, PD_NO_MEMORY, "nccl: no memory for a thread");
  default: break;
  }
  if (ranks->is_lost(ranks))
    return self->host->fail(self->host, PD_IO, "nccl: ncclCommInitRank: ended, since another rank did");
  return self->host->fail(self->host, PD_IO, "nccl: ncclCommInitRank: the other ranks did not come within %.3g s",
                          1e-9 * (double)self->launch.timeout_ns);
}

/* Those that have the library would wait for those that do not. One rank says what is missing: the first. */
static pd_status agree(pd_communicator *self, const pd_ranks *ranks, bool loaded, const char *why) {
  bool *all = calloc(ranks->count, sizeof *all);
  if (!all) return self->host->fail(self->host, PD_NO_MEMORY, "nccl: no memory");
  pd_status status = ranks->gather(ranks, &loaded, sizeof loaded, all);
  uint32_t first = 0;
  while (status == PD_OK && first < ranks->count && all[first]) first++;
  free(all);
  if (status != PD_OK || first == ranks->count) return status;
  return first == ranks->rank ? self->host->fail(self->host, PD_UNSUPPORTED, "nccl: %s", why) : PD_STOP;
}

static pd_status init(const pd_host *host, const void *options, const pd_launch *launch, pd_communicator **out) {
  (void)options;
  *out = NULL;
  const pd_device_access *device = host->extension(host, PD_EXT_DEVICE);
  const pd_ranks *ranks = host->extension(host, PD_EXT_RANKS);
  if (!ranks || !PD_HAS(pd_ranks, ranks, is_lost))
    return host->fail(host, PD_UNSUPPORTED, "nccl: the ranks do not reach one another (%s)", PD_EXT_RANKS);
  if (!device || !PD_HAS(pd_stream_ops, device->ops->stream, native) || !device->ops->stream->native)
    return host->fail(host, PD_UNSUPPORTED, "nccl: the device of this run is not CUDA's");
  pd_communicator *self = calloc(1, sizeof *self);
  if (!self) return host->fail(host, PD_NO_MEMORY, "nccl: no memory");
  self->host = host;
  self->device = device;
  self->launch = *launch;
  char why[512];
  const bool loaded = load(self, why, sizeof why);
  pd_status status = agree(self, ranks, loaded, why);
  if (status == PD_OK && loaded) status = join(self, ranks);
  if (status != PD_OK || !loaded) {
    abort_waits(self);
    close_nccl(self);
    return status;
  }
  *out = self;
  return PD_OK;
}

static uint32_t rank(const pd_communicator *self) { return self->launch.rank; }
static uint32_t count(const pd_communicator *self) { return self->launch.count; }

PD_COMMUNICATOR_PLAIN("nccl", "1.0", "ranks with a CUDA device each, over device memory", .init = init,
                      .close = close_nccl, .rank = rank, .count = count, .all_reduce = all_reduce, .abort = abort_waits)
