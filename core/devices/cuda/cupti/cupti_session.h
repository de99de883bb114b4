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
  bool
      drivers_only; /* calls of the driver's interface alone: each call of the runtime's makes one, or none to record */
  bool early;       /* CUDA is not up yet, and CUPTI's clock with it: the caller checks it once there are records */
  /* A context is about to go; NULL: not wanted. Runs inside CUDA, on the thread that ends the context. */
  void (*leaving)(void);
  bool subscribed, attached, enabled;
  _Atomic int32_t failed; /* the library's own report of a failure it cannot recover from, a CUptiResult */
} cupti_session;

/* `why` holds one clause on failure, with nothing left attached. */
pd_status cupti_session_attach(cupti_session *session, CUpti_BuffersCallbackRequestFunc request,
                               CUpti_BuffersCallbackCompleteFunc complete, char *why, size_t why_bytes);
pd_status cupti_session_enable(cupti_session *session, char *why, size_t why_bytes);
void cupti_session_disable(cupti_session *session);
/* Whether the records' times are CLOCK_REALTIME. */
bool cupti_session_shares_clock(const cupti_api *api);
/* No other call of the library may be under way. */
void cupti_session_detach(cupti_session *session);

#endif
