/* A library's call that waits for the other ranks without a limit of its own, with one. */
#ifndef COMMUNICATORS_LIB_LIMITED_CALL_H
#define COMMUNICATORS_LIB_LIMITED_CALL_H

#include <stdbool.h>
#include <stdint.h>

typedef enum limited_call_end {
  LIMITED_CALL_ENDED,    /* it returned */
  LIMITED_CALL_GOES_ON,  /* given up. A thread stays in the library, which must stay, too */
  LIMITED_CALL_NO_THREAD /* nothing was begun */
} limited_call_end;

typedef struct limited_call {
  void (*run)(void *work);     /* the call. [a thread of its own] */
  void (*discard)(void *work); /* frees `work` of a call that was given up, when it has returned. [that thread] */
  bool (*gives_up)(const void *asked); /* whether to wait no longer; NULL: the time alone decides. [calling thread] */
  const void *asked;
  int64_t timeout_ns;
} limited_call;

/* Waits until the call has returned, `gives_up` says so, or the time is over. `work` is the caller's again, unless the
 * call goes on. */
limited_call_end limited_call_make(const limited_call *how, void *work);

#endif
