/* What the collector's suites share: one collector over the fake and a recorder that keeps all. */
#ifndef TESTS_CUPTI_COLLECT_FIXTURE_H
#define TESTS_CUPTI_COLLECT_FIXTURE_H

#include "devices/cuda/cupti/cupti_collect.h"
#include "fake_cupti.h"
#include "kept_record.h"
#include "pd_test.h"

#include <pthread.h>
#include <sched.h>
#include <stdatomic.h>
#include <string.h>
#include <sys/syscall.h>
#include <sys/wait.h>
#include <time.h>
#include <unistd.h>

static cupti_api api;
static cupti_collect *collect;
static kept_record record;
static cupti_drained drained;
static char why[512];
enum { LIMIT_BYTES = 64 << 20 };
#define SECOND_NS INT64_C(1000000000)

static inline pd_status try_open(cupti_between between, bool sync) {
  const cupti_collect_config config = {
      .api = &api, .record = &record.table, .max_bytes = LIMIT_BYTES, .between = between, .sync = sync};
  cr_assert_eq(cupti_api_load(&api, FAKE_CUPTI_PATH, why, sizeof why), PD_OK, "%s", why);
  kept_record_init(&record);
  return cupti_collect_open(&config, &collect, why, sizeof why);
}
static inline void open_collect(cupti_between between) { cr_assert_eq(try_open(between, false), PD_OK, "%s", why); }
static inline void start(void) { cr_assert_eq(cupti_collect_start(collect, why, sizeof why), PD_OK, "%s", why); }
static inline void drain(void) {
  cupti_collect_stop(collect);
  cupti_collect_drain(collect, 20 * SECOND_NS, &drained);
}
static inline void close_collect(void) {
  cupti_collect_close(collect);
  fake_join();
  kept_record_free(&record);
}
static inline cupti_counts counts(void) {
  cupti_counts copy;
  cupti_collect_counts(collect, &copy);
  return copy;
}
static inline uint64_t rows_of(pd_activity_kind kind) {
  uint64_t count = 0;
  for (uint64_t i = 0; i < record.count; i++) count += record.rows[i].kind == kind;
  return count;
}
/* Whether any kind or call is being recorded. */
static inline bool any_on(void) {
  fake_counts did = fake_get();
  return did.kernel_on || did.memcpy_on || did.peer_on || did.memset_on || did.overhead_on || did.sync_on ||
         did.runtime_kind || did.driver_kind || did.runtime_on || did.driver_on;
}
/* Every launch has exactly one device record, later than itself; no id stands for two launches. */
static inline void check_pairs(uint64_t launches) {
  uint64_t calls = 0;
  for (uint64_t i = 0; i < record.count; i++) {
    const pd_activity *call = &record.rows[i];
    uint64_t mates = 0;
    if (call->kind != PD_ACTIVITY_RUNTIME || call->u.api.api != PD_API_LAUNCH) continue;
    calls++;
    for (uint64_t j = 0; j < record.count; j++) {
      if (j == i || record.rows[j].correlation != call->correlation) continue;
      mates++;
      cr_assert_eq(record.rows[j].kind, PD_ACTIVITY_KERNEL);
      cr_assert_geq(record.rows[j].start, call->start);
    }
    cr_assert_eq(mates, 1);
  }
  cr_assert_eq(calls, launches);
  cr_assert_eq(rows_of(PD_ACTIVITY_KERNEL), launches);
}
static inline void check_manners(void) {
  fake_counts did = fake_get();
  cr_assert_eq(did.in_callback, 0);
  cr_assert_eq(did.bad_order, 0);
  cr_assert_eq(did.attribute_changed, 0);
  cr_assert_eq(did.timestamp_callbacks, 0);
  cr_assert_eq(did.external_ids, 0);
  cr_assert_eq(did.latency, 0);
  cr_assert_eq(did.whole_kinds, 0);
  cr_assert_eq(did.flushes_by_subscriber, 0);
  cr_assert_eq(did.overlapping, 0);
  cr_assert_eq(did.unzeroed, 0);
  cr_assert_eq(did.cleared, 0);
  cr_assert_eq(did.thread_id_type, CUPTI_ACTIVITY_THREAD_ID_TYPE_SYSTEM);
}

#endif
