/* Failing in turn; see check_failures.h. */
#include "check_failures.h"

#include <stdio.h>
#include <string.h>

void check_life_take(check_life *life, const check_host *host, pd_status status) {
  life->call_failed = host->call_failed;
  life->verdict = check_ok();
  life->status = status == PD_STOP ? PD_OK : status;
  snprintf(life->message, sizeof life->message, "%s", host->message);
}

/* The verdict on a life in which call `at` failed. */
static check_verdict judge(const check_life *life, const check_life *whole, uint64_t at) {
  const unsigned long long number = at;
  if (life->verdict.outcome == CHECK_FAILED)
    return check_verdict_of(CHECK_FAILED, "host call %llu failed: %.900s", number, life->verdict.why);
  if (life->verdict.outcome != CHECK_OK) return life->verdict;
  if (life->status != PD_OK && !life->message[0])
    return check_verdict_of(CHECK_FAILED,
                            "host call %llu failed: a callback returned %d without a message by host->fail", number,
                            life->status);
  if (life->status == PD_OK && memcmp(life->output, whole->output, sizeof life->output) != 0)
    return check_verdict_of(
        CHECK_FAILED, "host call %llu failed: every callback returned PD_OK, and its output is not whole", number);
  return check_ok();
}

/* A life in which nothing fails, to compare with. */
static void live_whole(const check_target *target, check_live live, check_life *whole) {
  *whole = (check_life){.status = PD_OK};
  live(target, whole);
  if (whole->verdict.outcome == CHECK_OK && whole->status != PD_OK)
    whole->verdict = check_verdict_of(CHECK_SKIPPED, "its life is not whole here: %.900s",
                                      whole->message[0] ? whole->message : "no message");
}

check_verdict check_each_call(const check_target *target, check_live live) {
  check_life whole, life;
  live_whole(target, live, &whole);
  check_verdict verdict = whole.verdict;
  for (uint64_t at = 1; verdict.outcome == CHECK_OK; at++) {
    check_progress(target, "host call %llu failed", (unsigned long long)at);
    life = (check_life){.status = PD_OK, .fail_call = at};
    live(target, &life);
    if (!life.call_failed) break;
    verdict = judge(&life, &whole, at);
  }
  check_progress(target, "%s", "");
  return verdict;
}
