/*
 * One attachment to CUPTI: subscribe, register, switch kinds on and off, give all of it back. The loop's thread alone.
 *
 * The order of the calls is the library's: attributes before the buffer callbacks, those before the first kind. The
 * lists of calls work by exclusion: once CUDA is initialised, CUPTI 13.0 records nothing for a call that is switched on
 * by itself, but does leave out what is switched off after the whole kind was switched on.
 */
#ifndef DEVICES_CUDA_CUPTI_SESSION_H
#define DEVICES_CUDA_CUPTI_SESSION_H

#include "cupti_allowlist.h"
#include "cupti_api.h"

#include <stdatomic.h>

typedef struct cupti_session {
  const cupti_api *api;
  const cupti_allowlist *calls;
  CUpti_SubscriberHandle subscriber;
  bool sync; /* synchronisation records too */
  /* CUDA is being initialised: calls are switched on one by one, which later does nothing; CUPTI's clock may not be set
   * yet, so that the caller checks it once there are records; and what else it refuses is done without. */
  bool early;
  /* A context is about to go; NULL: not wanted. Runs inside CUDA, on the thread that ends the context. */
  void (*leaving)(void);
  bool subscribed, attached, enabled;
  _Atomic int32_t failed; /* the library's own report of a failure it cannot recover from, a CUptiResult */
} cupti_session;

/* `why` holds one clause on failure, with nothing left attached. */
pd_status cupti_session_attach(cupti_session *self, CUpti_BuffersCallbackRequestFunc request,
                               CUpti_BuffersCallbackCompleteFunc complete, char *why, size_t why_bytes);
pd_status cupti_session_enable(cupti_session *self, char *why, size_t why_bytes);
/* Makes the lists by exclusion, where switching on one by one has recorded nothing. The session is attached and its
 * kinds are on. */
void cupti_session_list_again(cupti_session *self);
void cupti_session_disable(cupti_session *self);
/* Whether the records' times are CLOCK_REALTIME. */
bool cupti_session_shares_clock(const cupti_api *self);
/* Lets another profiler of the process subscribe, and give buffers that are not zeroed. The session's kinds are off.
 * Nothing can be recorded any more. Calls of the library may be under way. */
void cupti_session_unsubscribe(cupti_session *self);
/* No other call of the library may be under way. */
void cupti_session_detach(cupti_session *self);

#endif
