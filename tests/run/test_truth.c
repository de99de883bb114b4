/* The truth's spans of device time, on a device that only counts. */
#include "pd_test.h"

#include "run/truth/run_truth.h"

typedef struct counting {
  uint64_t created, destroyed, recorded;
} counting;

static pd_status create(pd_device *device, pd_event **out) {
  counting *self = (counting *)device;
  *out = (pd_event *)(uintptr_t)++self->created;
  return PD_OK;
}
static void destroy(pd_device *device, pd_event *event) {
  (void)event;
  ((counting *)device)->destroyed++;
}
static pd_status record(pd_device *device, pd_stream *stream, pd_event *event) {
  (void)stream;
  cr_assert_not_null(event);
  ((counting *)device)->recorded++;
  return PD_OK;
}

static const pd_stream_ops streams = {
    .size = sizeof streams, .event_create = create, .event_destroy = destroy, .event_record = record};
static const pd_device_ops device = {.size = sizeof device, .stream = &streams};

/* A step with `spans` of them; how many events were made in it. */
static uint64_t step(truth *self, const counting *counts, pd_phase phase, int spans) {
  const pd_truth *table = truth_table(self);
  const pd_step_stats stats = {.size = sizeof stats};
  truth_step_begin(self, phase);
  const uint64_t before = counts->created;
  for (int i = 0; i < spans; i++) {
    cr_assert_eq(table->device_begin(table, NULL), PD_OK);
    cr_assert_eq(table->device_end(table, NULL, 1), PD_OK);
  }
  const uint64_t made = counts->created - before;
  cr_assert_eq(truth_step(self, &stats), PD_OK);
  return made;
}

PD_TEST(truth, no_event_is_made_in_a_step_like_the_one_before) {
  counting counts = {0};
  const pd_device_access access = {.size = sizeof access, .device = (pd_device *)&counts, .ops = &device};
  truth *self = truth_open(NULL);
  cr_assert_not_null(self);
  truth_use_device(self, &access);
  cr_assert_eq(step(self, &counts, PD_PHASE_WARMUP, 3), 0);
  cr_assert_eq(counts.recorded, 0, "only active steps are measured");
  for (int i = 0; i < 100; i++) cr_assert_eq(step(self, &counts, PD_PHASE_ACTIVE, 3), 0);
  cr_assert_eq(counts.recorded, 100 * 3 * 2);
  cr_assert_eq(step(self, &counts, PD_PHASE_ACTIVE, 5), 2 * 2, "two spans more than before");
  truth_close(self);
  cr_assert_eq(counts.destroyed, counts.created);
}
