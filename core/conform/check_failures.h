/* A conformance check by failures in turn: a plugin's life is run again and again, and each time the next call to the
 * host fails. Every life must end cleanly. See check_list.h. */
#ifndef CORE_CONFORM_CHECK_FAILURES_H
#define CORE_CONFORM_CHECK_FAILURES_H

#include "check_host.h"
#include "check_list.h"

/* One life, and what it came to. */
typedef struct check_life {
  uint64_t fail_call;    /* given: for check_host.fail_call */
  check_verdict verdict; /* other than CHECK_OK: a rule is broken, whatever failed */
  bool call_failed;      /* fail_call was reached */
  pd_status status;      /* the first that was not PD_OK */
  char message[1024];    /* the host's last */
  uint64_t output[3];    /* what it produced: a failure that is passed over in silence must not change it */
} check_life;

typedef void (*check_live)(const check_target *target, check_life *life);

/* Each call to the host that may fail does so once. The life must return a failure with a message, or produce the same
 * without that call. */
check_verdict check_each_call(const check_target *target, check_live live);

/* Takes `host`'s part of a life's result. */
void check_life_take(check_life *life, const check_host *host, pd_status status);

#endif
