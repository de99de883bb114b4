/* A recorder on a clock that the test moves by hand: one tick is one nanosecond, realtime is RIG_REALTIME + ticks. */
#ifndef TESTS_SUPPORT_RECORDER_RIG_H
#define TESTS_SUPPORT_RECORDER_RIG_H

#include "pd_test.h"
#include "trace/recorder_internal.h"

#include <stdatomic.h>

#define RIG_REALTIME INT64_C(1700000000000000000)
#define RIG_MONOTONIC INT64_C(5000000000)

typedef struct rig {
  atomic_uint_fast64_t now;   /* ticks */
  atomic_int_fast64_t offset; /* what CLOCK_REALTIME was stepped by */
  recorder *recorder;
  const pd_record *record;
  uint64_t step_start;
} rig;

static inline uint64_t rig_read_ticks(void *state) { return atomic_load(&((rig *)state)->now); }
static inline int64_t rig_read_realtime(void *state) {
  rig *self = state;
  return RIG_REALTIME + (int64_t)atomic_load(&self->now) + atomic_load(&self->offset);
}
static inline int64_t rig_read_monotonic(void *state) {
  return RIG_MONOTONIC + (int64_t)atomic_load(&((rig *)state)->now);
}
static inline clock_source rig_source(rig *self) {
  return (clock_source){rig_read_ticks, rig_read_realtime, rig_read_monotonic, self};
}

/* Opens the recorder at tick 1000, on. */
static inline void rig_open(rig *self, recorder_options options) {
  clock_source source = rig_source(self);
  atomic_init(&self->now, 1000);
  atomic_init(&self->offset, 0);
  cr_assert_eq(recorder_open_with_clock(&options, &source, &self->recorder), PD_OK);
  self->record = recorder_table(self->recorder);
  recorder_enable(self->recorder, true);
}
static inline void rig_close(rig *self) { recorder_close(self->recorder); }

static inline void rig_at(rig *self, uint64_t ticks) { atomic_store(&self->now, ticks); }

static inline void rig_begin_at(rig *self, uint64_t ticks, const char *name, pd_range_kind kind) {
  rig_at(self, ticks);
  self->record->begin(self->record, self->record->intern(self->record, name), kind, NULL);
}
static inline void rig_end_at(rig *self, uint64_t ticks) {
  rig_at(self, ticks);
  self->record->end(self->record);
}
static inline void rig_window_at(rig *self, uint64_t ticks, uint32_t window) {
  rig_at(self, ticks);
  self->step_start = ticks;
  cr_assert_eq(recorder_window_begin(self->recorder, window), PD_OK);
}
static inline void rig_step_at(rig *self, uint64_t ticks, uint64_t number) {
  rig_at(self, ticks);
  const recorder_step step = {.number = number,
                              .start_ticks = self->step_start,
                              .end_ticks = ticks,
                              .train_start_ticks = self->step_start,
                              .train_end_ticks = ticks};
  cr_assert_eq(recorder_step_done(self->recorder, &step), PD_OK);
  self->step_start = ticks;
}
/* Every loss has its place in the window, and the places add up. */
static inline void rig_check_losses(const pd_trace *trace) {
  uint64_t placed[PD_LOSS_COUNT] = {0};
  int64_t last = 0;
  for (uint64_t i = 0; i < trace->loss_rows.count; i++) {
    const pd_loss_row *row = PD_AT(pd_loss_row, &trace->loss_rows, i);
    cr_assert_lt(row->loss, PD_LOSS_COUNT);
    cr_assert(row->thread == PD_NONE || row->thread < trace->threads.count);
    cr_assert(row->start_ns >= last && row->end_ns >= row->start_ns && row->end_ns <= trace->end_ns);
    last = row->start_ns;
    placed[row->loss] += row->count;
  }
  for (int loss = 0; loss < PD_LOSS_COUNT; loss++) cr_assert_eq(placed[loss], trace->losses[loss], "loss %d", loss);
}

static inline pd_trace *rig_finish(rig *self) {
  pd_trace *trace = NULL;
  cr_assert_eq(recorder_window_end(self->recorder, &(recorder_window){.profile = PD_PROFILE_FULL}, &trace), PD_OK);
  cr_assert_not_null(trace);
  rig_check_losses(trace);
  return trace;
}

/* A runtime call and a device record; times in ticks. */
static inline pd_activity rig_call(rig *self, const char *name, pd_api_class api, uint64_t id, int64_t start,
                                   int64_t end) {
  return (pd_activity){.kind = PD_ACTIVITY_RUNTIME,
                       .name = self->record->intern(self->record, name),
                       .start = start,
                       .end = end,
                       .correlation = id,
                       .thread = self->recorder->loop_tid,
                       .u.api = {.api = api}};
}
static inline pd_activity rig_kernel(rig *self, const char *name, uint64_t id, int64_t start, int64_t end) {
  return (pd_activity){.kind = PD_ACTIVITY_KERNEL,
                       .name = self->record->intern(self->record, name),
                       .start = start,
                       .end = end,
                       .correlation = id,
                       .stream = 7};
}
static inline void rig_give(rig *self, pd_activity activity) {
  self->record->activities(self->record, PD_CLOCK_TICKS, &activity, 1);
}

static inline const char *trace_text(const pd_trace *trace, uint32_t id) { return pd_trace_string(trace, id)->text; }
static inline const pd_range *range_at(const pd_trace *trace, uint64_t i) { return PD_AT(pd_range, &trace->ranges, i); }
static inline const pd_call *call_at(const pd_trace *trace, uint64_t i) { return PD_AT(pd_call, &trace->calls, i); }
static inline const pd_device_row *device_at(const pd_trace *trace, uint64_t i) {
  return PD_AT(pd_device_row, &trace->activities, i);
}
static inline const pd_trace_step *step_row_at(const pd_trace *trace, uint64_t i) {
  return PD_AT(pd_trace_step, &trace->steps, i);
}

#define assert_range(trace, i, name_, start_, end_, parent_, depth_, step_)                                            \
  do {                                                                                                                 \
    const pd_range *row_ = range_at(trace, i);                                                                         \
    cr_assert_str_eq(trace_text(trace, row_->name), name_);                                                            \
    cr_assert_eq(row_->start_ns, (start_), "%s starts at %lld", name_, (long long)row_->start_ns);                     \
    cr_assert_eq(row_->end_ns, (end_), "%s ends at %lld", name_, (long long)row_->end_ns);                             \
    cr_assert_eq(row_->parent, (uint32_t)(parent_), "%s has parent %u", name_, row_->parent);                          \
    cr_assert_eq(row_->depth, (uint32_t)(depth_), "%s has depth %u", name_, row_->depth);                              \
    cr_assert_eq(row_->step, (uint32_t)(step_), "%s is in step %u", name_, row_->step);                                \
  } while (0)

#define assert_no_losses(trace)                                                                                        \
  for (int loss_ = 0; loss_ < PD_LOSS_COUNT; loss_++)                                                                  \
  cr_assert_eq((trace)->losses[loss_], 0, "loss %d is %llu", loss_, (unsigned long long)(trace)->losses[loss_])

#endif
