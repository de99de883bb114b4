/* See nccl_joining.h. */
#include "nccl_joining.h"

#include <pdhost/clocks.h>

#include <dlfcn.h>
#include <pthread.h>
#include <stdlib.h>
#include <string.h>

#define LOOK_NS 20000000

/* The thread and whoever waits for it: the last one frees it. */
typedef struct joining {
  __typeof__(&ncclCommInitRank) init;
  ncclUniqueId id;
  int count, rank;
  int (*set_context)(void *context); /* cuCtxSetCurrent, or NULL */
  void *context;
  ncclComm_t comm;
  ncclResult_t code;
  bool ended, left; /* left: nobody waits any more */
  pthread_mutex_t lock;
  pthread_cond_t changed;
} joining;

static void release(joining *self) {
  pthread_cond_destroy(&self->changed);
  pthread_mutex_destroy(&self->lock);
  free(self);
}

/* NCCL makes its communicator on the device of the calling thread's context. Without a driver there is none. */
static void find_context(joining *self) {
  int (*get_context)(void **context) = NULL;
  void *driver = dlopen("libcuda.so.1", RTLD_NOW | RTLD_NOLOAD);
  if (!driver) return;
  void *get = dlsym(driver, "cuCtxGetCurrent"), *set = dlsym(driver, "cuCtxSetCurrent");
  memcpy(&get_context, &get, sizeof get);
  if (get && set && get_context(&self->context) == 0) memcpy(&self->set_context, &set, sizeof set);
  (void)dlclose(driver); /* the device holds it */
}

static void *call(void *user) {
  joining *self = user;
  ncclComm_t comm = NULL;
  if (self->set_context) (void)self->set_context(self->context);
  const ncclResult_t code = self->init(&comm, self->count, self->id, self->rank);
  pthread_mutex_lock(&self->lock);
  self->comm = comm;
  self->code = code;
  self->ended = true;
  const bool left = self->left;
  pthread_cond_signal(&self->changed);
  pthread_mutex_unlock(&self->lock);
  if (left) release(self);
  return NULL;
}

static joining *begin(__typeof__(&ncclCommInitRank) init, const pd_ranks *ranks, const ncclUniqueId *id) {
  joining *self = calloc(1, sizeof *self);
  pthread_t thread;
  if (!self) return NULL;
  self->init = init;
  self->id = *id;
  self->count = (int)ranks->count;
  self->rank = (int)ranks->rank;
  find_context(self);
  pthread_mutex_init(&self->lock, NULL);
  pthread_cond_init(&self->changed, NULL);
  if (pthread_create(&thread, NULL, call, self) != 0) {
    release(self);
    return NULL;
  }
  (void)pthread_detach(thread);
  return self;
}

nccl_join_result nccl_join(__typeof__(&ncclCommInitRank) init, const pd_ranks *ranks, const ncclUniqueId *id,
                           int64_t timeout_ns, ncclComm_t *comm) {
  const int64_t until_ns = pd_monotonic_ns() + timeout_ns;
  joining *self = begin(init, ranks, id);
  if (!self) return (nccl_join_result){.how = NCCL_JOIN_NO_THREAD};
  pthread_mutex_lock(&self->lock);
  while (!self->ended && !ranks->is_lost(ranks) && pd_monotonic_ns() < until_ns) {
    const struct timespec look = pd_clock_after(CLOCK_REALTIME, LOOK_NS);
    (void)pthread_cond_timedwait(&self->changed, &self->lock, &look);
  }
  const nccl_join_result result = {.how = self->ended ? NCCL_JOIN_ENDED : NCCL_JOIN_GOES_ON, .code = self->code};
  if (self->ended) *comm = self->comm;
  self->left = true;
  pthread_mutex_unlock(&self->lock);
  if (result.how == NCCL_JOIN_ENDED) release(self);
  return result;
}
