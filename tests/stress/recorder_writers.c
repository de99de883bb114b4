/* Writers against windows. See recorder_writers.h. Each window waits until every writer has done some work in it, so
 * nothing here depends on time. */
#include "recorder_writers.h"
#include "trace/recorder.h"

#include <pthread.h>
#include <sched.h>
#include <stdatomic.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

enum { MAX_WRITERS = 16, ROUNDS = 40, AHEAD = 20 };

typedef struct writer {
  const pd_record *record;
  pthread_t thread;
  int number;
  atomic_bool *stop;
  atomic_uint_fast64_t *goal; /* rounds that the windows wait for; writers run on, but not far */
  atomic_uint_fast64_t rounds;
  atomic_uint_fast64_t *next_correlation;
} writer;

static pd_site outer_site = PD_SITE("outer", PD_RANGE_USER);
static pd_site op_site = PD_SITE("op", PD_RANGE_OP);
static pd_site inner_site = PD_SITE("inner", PD_RANGE_OP_INNER);

/* A launch and its kernel, as a device plugin hands them over: the call from here, the record later. */
static void launch(writer *self, pd_activity *kernel) {
  const pd_record *record = self->record;
  uint64_t id = atomic_fetch_add(self->next_correlation, 1);
  pd_activity call = {.kind = PD_ACTIVITY_RUNTIME,
                      .name = record->intern(record, "launch"),
                      .correlation = id,
                      .start = (int64_t)record->ticks(record),
                      .thread = (uint32_t)gettid(),
                      .u.api = {.api = PD_API_LAUNCH}};
  call.end = (int64_t)record->ticks(record);
  *kernel = (pd_activity){.kind = PD_ACTIVITY_KERNEL,
                          .name = record->intern(record, "kernel"),
                          .correlation = id,
                          .start = call.end,
                          .end = call.end + 100,
                          .stream = (uint32_t)self->number};
  record->activities(record, PD_CLOCK_TICKS, &call, 1);
}

static void write_round(writer *self) {
  const pd_record *record = self->record;
  const pd_shape shape = {2, PD_F32, {self->number, 4}};
  const pd_range_info info = {
      .size = sizeof info, .flops = (uint64_t)self->number + 1, .shape_count = 1, .shapes = &shape};
  pd_activity kernels[4];
  bool outer = pd_range_begin(record, &outer_site, NULL);
  for (int i = 0; i < 4; i++) {
    bool op = pd_range_begin(record, &op_site, &info);
    launch(self, &kernels[i]);
    bool inner = pd_range_begin(record, &inner_site, NULL);
    record->memory(record, &(pd_memory_event){.bytes = 64});
    pd_range_end(record, inner);
    pd_range_end(record, op);
  }
  pd_range_end(record, outer);
  record->activities(record, PD_CLOCK_TICKS, kernels, 4);
  record->counter(record, record->intern(record, "depth"), self->number);
}

static void *write_until_stopped(void *given) {
  writer *self = given;
  char text[32];
  (void)snprintf(text, sizeof text, "writer %d", self->number);
  self->record->name_thread(self->record, text);
  while (!atomic_load(self->stop)) {
    if (atomic_load(&self->rounds) >= atomic_load(self->goal) + AHEAD) {
      sched_yield();
      continue;
    }
    (void)snprintf(text, sizeof text, "name %d", (int)(atomic_load(&self->rounds) % 500));
    (void)self->record->intern(self->record, text);
    write_round(self);
    atomic_fetch_add(&self->rounds, 1);
  }
  return NULL;
}

static void *write_once(void *given) {
  writer *self = given;
  char text[32];
  (void)snprintf(text, sizeof text, "writer %d", self->number);
  self->record->name_thread(self->record, text);
  write_round(self);
  atomic_fetch_add(&self->rounds, 1);
  return NULL;
}

/* A thread for every round: they appear and end while windows look at them. */
static void *write_from_short_threads(void *given) {
  writer *self = given;
  while (!atomic_load(self->stop)) {
    pthread_t thread;
    if (atomic_load(&self->rounds) >= atomic_load(self->goal) + AHEAD) {
      sched_yield();
      continue;
    }
    if (pthread_create(&thread, NULL, write_once, self)) continue;
    pthread_join(thread, NULL);
  }
  return NULL;
}

static int complain(recorder_writers_result *result, const char *what, uint64_t where) {
  (void)snprintf(result->message, sizeof result->message, "%s (row %llu)", what, (unsigned long long)where);
  return 1;
}

/* One range at a time is open at each depth of a thread. */
static int check_siblings(const pd_trace *trace, recorder_writers_result *result) {
  int64_t last_end[3] = {0, 0, 0};
  for (uint64_t i = 0; i < trace->ranges.count; i++) {
    const pd_range *range = PD_AT(pd_range, &trace->ranges, i);
    if (!i || PD_AT(pd_range, &trace->ranges, i - 1)->thread != range->thread) memset(last_end, 0, sizeof last_end);
    if (range->start_ns < last_end[range->depth]) return complain(result, "a range twice", i);
    last_end[range->depth] = range->end_ns;
  }
  return 0;
}

static int check_ranges(const pd_trace *trace, recorder_writers_result *result) {
  for (uint64_t i = 0; i < trace->ranges.count; i++) {
    const pd_range *range = PD_AT(pd_range, &trace->ranges, i);
    const char *name = pd_trace_string(trace, range->name)->text;
    if (range->end_ns < range->start_ns || range->start_ns < 0 || range->end_ns > trace->end_ns)
      return complain(result, "a range outside the window", i);
    if (range->depth > 2) return complain(result, "a range too deep", i);
    if (strcmp(name, range->depth == 0 ? "outer" : range->depth == 1 ? "op" : "inner") != 0)
      return complain(result, "a range at the wrong depth", i);
    if ((range->parent == PD_NONE) != (range->depth == 0)) return complain(result, "a parent missing", i);
    if (range->parent != PD_NONE) {
      const pd_range *parent = PD_AT(pd_range, &trace->ranges, range->parent);
      if (parent->thread != range->thread || parent->start_ns > range->start_ns || parent->end_ns < range->end_ns)
        return complain(result, "a range outside its parent", i);
    }
    if (range->kind == PD_RANGE_OP) {
      if (range->shape_count != 1 || !range->flops) return complain(result, "an operation without its details", i);
      const pd_shape *shape = PD_AT(pd_shape, &trace->shapes, range->shape_first);
      if ((uint64_t)shape->dims[0] + 1 != range->flops) return complain(result, "details of another range", i);
      char expected[32];
      (void)snprintf(expected, sizeof expected, "writer %d", (int)shape->dims[0]);
      const pd_thread *thread = PD_AT(pd_thread, &trace->threads, range->thread);
      if (strcmp(pd_trace_string(trace, thread->name)->text, expected) != 0)
        return complain(result, "a range on the wrong thread", i);
    }
  }
  return 0;
}

static int check_rest(const pd_trace *trace, recorder_writers_result *result) {
  for (uint64_t i = 0; i < trace->calls.count; i++) {
    const pd_call *call = PD_AT(pd_call, &trace->calls, i);
    if (call->range == PD_NONE) return complain(result, "a call outside its operation", i);
    const pd_range *range = PD_AT(pd_range, &trace->ranges, call->range);
    if (range->thread != call->thread || range->kind != PD_RANGE_OP || range->start_ns > call->start_ns ||
        range->end_ns < call->start_ns)
      return complain(result, "a call in the wrong operation", i);
    if (call->activity_count > 1) return complain(result, "a call with two kernels", i);
  }
  for (uint64_t i = 0; i < trace->activities.count; i++) {
    const pd_device_row *row = PD_AT(pd_device_row, &trace->activities, i);
    if (row->call == PD_NONE) return complain(result, "a kernel without its call", i);
    if (PD_AT(pd_call, &trace->calls, row->call)->correlation != row->detail.correlation)
      return complain(result, "a kernel of another call", i);
  }
  for (uint64_t i = 0; i < trace->memory.count; i++)
    if (PD_AT(pd_memory_row, &trace->memory, i)->range == PD_NONE)
      return complain(result, "a memory event outside every range", i);
  for (int i = 0; i < PD_LOSS_COUNT; i++) {
    /* Kernels of the last calls may not have been handed over when the window ended. */
    if (trace->losses[i] && i != PD_LOSS_UNMATCHED_LAUNCH) return complain(result, "a loss", (uint64_t)i);
  }
  return 0;
}

/* Until every writer has done ROUNDS more, from their first range to their last. */
static void wait_for_rounds(writer *writers, int count) {
  uint64_t most = 0;
  for (int i = 0; i < count; i++)
    if (atomic_load(&writers[i].rounds) > most) most = atomic_load(&writers[i].rounds);
  atomic_store(writers[0].goal, most + ROUNDS);
  for (int i = 0; i < count; i++)
    while (atomic_load(&writers[i].rounds) < most + ROUNDS) sched_yield();
}

static int run_window(recorder *self, writer *writers, int count, uint32_t number, recorder_writers_result *result) {
  const pd_record *record = recorder_table(self);
  if (recorder_window_begin(self, number)) return complain(result, "window_begin failed", number);
  uint64_t start = record->ticks(record);
  for (int step = 0; step < 2; step++) {
    wait_for_rounds(writers, count);
    uint64_t end = record->ticks(record);
    const recorder_step done = {
        .number = number, .start_ticks = start, .end_ticks = end, .train_start_ticks = start, .train_end_ticks = end};
    if (recorder_step_done(self, &done)) return complain(result, "step_done failed", number);
    start = end;
  }
  pd_trace *trace = NULL;
  if (recorder_window_end(self, &(recorder_window){.profile = PD_PROFILE_FULL}, &trace))
    return complain(result, "window_end failed", number);
  int failed = check_ranges(trace, result);
  if (!failed) failed = check_siblings(trace, result);
  if (!failed) failed = check_rest(trace, result);
  result->windows++;
  result->ranges += trace->ranges.count;
  result->calls += trace->calls.count;
  result->activities += trace->activities.count;
  result->memory += trace->memory.count;
  trace_free(trace);
  return failed;
}

int recorder_writers_run(int writer_count, int windows, recorder_writers_result *result) {
  static writer writers[MAX_WRITERS];
  atomic_bool stop;
  atomic_uint_fast64_t next_correlation, goal;
  recorder *self = NULL;
  int failed = 0, started = 0;
  memset(result, 0, sizeof *result);
  atomic_init(&stop, false);
  atomic_init(&next_correlation, 1);
  atomic_init(&goal, 0);
  if (recorder_open(&(recorder_options){.max_bytes = 512 << 20, .record_shapes = true, .profile_memory = true}, &self))
    return complain(result, "recorder_open failed", 0);
  recorder_enable(self, true);
  for (; started < writer_count && started < MAX_WRITERS; started++) {
    writer *at = &writers[started];
    at->record = recorder_table(self);
    at->number = started;
    at->stop = &stop;
    at->goal = &goal;
    at->next_correlation = &next_correlation;
    atomic_init(&at->rounds, 0);
    /* The first of them is many, one after the other. */
    void *(*run)(void *) = started ? write_until_stopped : write_from_short_threads;
    if (pthread_create(&at->thread, NULL, run, at)) break;
  }
  if (started < writer_count) failed = complain(result, "a thread did not start", (uint64_t)started);
  for (int i = 0; !failed && i < windows; i++) {
    failed = run_window(self, writers, started, (uint32_t)i, result);
    /* Between windows the recorder is off now and then; writers are inside ranges all the time. */
    if (i % 3 == 1) {
      recorder_enable(self, false);
      recorder_enable(self, true);
      wait_for_rounds(writers, started); /* ranges that began while it was off are over */
    }
  }
  atomic_store(&stop, true);
  for (int i = 0; i < started; i++) pthread_join(writers[i].thread, NULL);
  recorder_close(self);
  return failed;
}
