/* Failing in turn; see check_failures.h. */
#include "check_failures.h"

#include "check_alloc.h"

#include <stdio.h>
#include <string.h>

/* From here on only every hundredth of them fails: a life that allocates for each event would take for ever. */
enum { EACH_OF_FIRST = 400, STRIDES = 100 };

void check_life_take(check_life *life, const check_host *host, pd_status status) {
  life->call_failed = host->call_failed;
  life->verdict = check_ok();
  life->status = status == PD_STOP ? PD_OK : status;
  snprintf(life->message, sizeof life->message, "%s", host->message);
}

static uint64_t next_after(uint64_t at, uint64_t count) {
  return at < EACH_OF_FIRST || count < EACH_OF_FIRST ? at + 1 : at + 1 + (count - EACH_OF_FIRST) / STRIDES;
}

/* Of a life in which `what` number `at` failed. */
static check_verdict judge(const check_life *life, const check_life *whole, const char *what, uint64_t at) {
  const unsigned long long number = at;
  if (life->verdict.outcome == CHECK_FAILED)
    return check_verdict_of(CHECK_FAILED, "%s %llu failed: %.900s", what, number, life->verdict.why);
  if (life->verdict.outcome != CHECK_OK) return life->verdict;
  if (life->status != PD_OK && !life->message[0])
    return check_verdict_of(CHECK_FAILED, "%s %llu failed: a callback returned %d without a message by host->fail",
                            what, number, life->status);
  if (life->status == PD_OK && memcmp(life->output, whole->output, sizeof life->output) != 0)
    return check_verdict_of(CHECK_FAILED, "%s %llu failed: every callback returned PD_OK, and its output is not whole",
                            what, number);
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

static void count_left(check_life *life) {
  const uint64_t left = check_alloc_live();
  if (life->verdict.outcome == CHECK_OK && left)
    life->verdict =
        check_verdict_of(CHECK_FAILED, "%llu allocation%s left", (unsigned long long)left, left == 1 ? "" : "s");
}

check_verdict check_each_allocation(const check_target *target, check_live live) {
  check_life whole, life;
  if (!check_alloc_hook(target->table))
    return check_verdict_of(CHECK_SKIPPED, "allocations cannot be made to fail on this processor");
  /* The first life may fill caches that stay. */
  for (int i = 0; i < 2; i++) {
    check_alloc_begin(0);
    live_whole(target, live, &whole);
    if (whole.verdict.outcome != CHECK_OK) return whole.verdict;
  }
  const uint64_t count = check_alloc_count();
  count_left(&whole);
  check_verdict verdict = whole.verdict;
  for (uint64_t at = 1; verdict.outcome == CHECK_OK; at = next_after(at, count)) {
    check_progress(target, "allocation %llu of %llu failed", (unsigned long long)at, (unsigned long long)count);
    life = (check_life){.status = PD_OK};
    check_alloc_begin(at);
    live(target, &life);
    count_left(&life);
    if (!check_alloc_has_failed()) break;
    verdict = judge(&life, &whole, "allocation", at);
  }
  check_progress(target, "%s", "");
  check_alloc_begin(0);
  return verdict;
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
    verdict = judge(&life, &whole, "host call", at);
  }
  check_progress(target, "%s", "");
  return verdict;
}
