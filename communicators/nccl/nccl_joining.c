/* See nccl_joining.h. */
#include "nccl_joining.h"

#include <dlfcn.h>
#include <stdlib.h>
#include <string.h>

typedef struct joining {
  __typeof__(&ncclCommInitRank) init;
  ncclUniqueId id;
  int count, rank;
  int (*set_context)(void *context); /* cuCtxSetCurrent, or NULL */
  void *context;
  ncclComm_t comm;
  ncclResult_t code;
} joining;

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

static void call(void *work) {
  joining *self = work;
  if (self->set_context) (void)self->set_context(self->context);
  self->code = self->init(&self->comm, self->count, self->id, self->rank);
}

static bool gives_up(const void *asked) {
  const pd_ranks *ranks = asked;
  return ranks->is_lost(ranks);
}

nccl_join_result nccl_join(__typeof__(&ncclCommInitRank) init, const pd_ranks *ranks, const ncclUniqueId *id,
                           int64_t timeout_ns, ncclComm_t *comm) {
  const limited_call how = {
      .run = call, .discard = free, .gives_up = gives_up, .asked = ranks, .timeout_ns = timeout_ns};
  joining *self = calloc(1, sizeof *self);
  if (!self) return (nccl_join_result){.how = LIMITED_CALL_NO_THREAD};
  self->init = init;
  self->id = *id;
  self->count = (int)ranks->count;
  self->rank = (int)ranks->rank;
  find_context(self);
  nccl_join_result result = {.how = limited_call_make(&how, self)};
  if (result.how == LIMITED_CALL_GOES_ON) return result; /* the thread's own now */
  if (result.how == LIMITED_CALL_ENDED) {
    result.code = self->code;
    *comm = self->comm;
  }
  free(self);
  return result;
}
