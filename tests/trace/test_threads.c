/* The recorder's threads: who they are, what is left open when they or a window end, forks, and coming back in. */
#include "recorder_rig.h"
#include "trace/open_ranges.h"
#include "../stress/recorder_writers.h"

#include <pthread.h>
#include <sys/wait.h>
#include <unistd.h>

static const recorder_options plain = {.max_bytes = 16 << 20, .record_shapes = true, .profile_memory = true};

typedef struct worker {
  rig *rig;
  pthread_barrier_t *barrier;
  const char *name;
  uint32_t tid;
  bool leave_open;
} worker;

static void *work(void *given) {
  worker *self = given;
  self->tid = (uint32_t)gettid();
  if (self->name) self->rig->record->name_thread(self->rig->record, self->name);
  rig_begin_at(self->rig, 2010, "worker", PD_RANGE_WORKER);
  if (self->barrier) {
    pthread_barrier_wait(self->barrier); /* the window ends */
    pthread_barrier_wait(self->barrier);
  }
  if (!self->leave_open) rig_end_at(self->rig, 2040);
  return NULL;
}

PD_TEST(threads, a_thread_keeps_its_name_after_its_end) {
  rig self;
  rig_open(&self, plain);
  rig_window_at(&self, 2000, 0);
  worker other = {.rig = &self, .name = "pdhost loader 0"};
  pthread_t thread;
  cr_assert_eq(pthread_create(&thread, NULL, work, &other), 0);
  pthread_join(thread, NULL);
  rig_step_at(&self, 2050, 0);
  pd_trace *trace = rig_finish(&self);
  cr_assert_eq(trace->threads.count, 2);
  cr_assert_eq(PD_AT(pd_thread, &trace->threads, 0)->tid, (uint32_t)gettid(), "the loop's thread is the first");
  cr_assert_eq(PD_AT(pd_thread, &trace->threads, 1)->tid, other.tid);
  cr_assert_str_eq(trace_text(trace, PD_AT(pd_thread, &trace->threads, 1)->name), "pdhost loader 0");
  cr_assert_eq(range_at(trace, 0)->thread, 1);
  assert_range(trace, 0, "worker", 10, 40, PD_NONE, 0, 0);
  assert_no_losses(trace);
  trace_free(trace);
  cr_assert_null(atomic_load(&self.recorder->room->threads), "its state is gone, the loop's has never been needed");
  rig_close(&self);
}

PD_TEST(threads, a_range_open_on_another_thread_is_cut_at_the_end) {
  rig self;
  pthread_barrier_t barrier;
  pthread_t thread;
  rig_open(&self, plain);
  rig_window_at(&self, 2000, 0);
  pthread_barrier_init(&barrier, NULL, 2);
  worker other = {.rig = &self, .barrier = &barrier};
  cr_assert_eq(pthread_create(&thread, NULL, work, &other), 0);
  pthread_barrier_wait(&barrier);
  rig_step_at(&self, 2030, 0);
  pd_trace *trace = rig_finish(&self);
  rig_window_at(&self, 2035, 1);
  pthread_barrier_wait(&barrier);
  pthread_join(thread, NULL);
  cr_assert_eq(trace->ranges.count, 1);
  assert_range(trace, 0, "worker", 10, 30, PD_NONE, 0, 0);
  assert_no_losses(trace);
  trace_free(trace);
  rig_step_at(&self, 2050, 1);
  trace = rig_finish(&self);
  cr_assert_eq(trace->ranges.count, 1);
  assert_range(trace, 0, "worker", 0, 5, PD_NONE, 0, 0);
  trace_free(trace);
  pthread_barrier_destroy(&barrier);
  rig_close(&self);
}

PD_TEST(threads, a_range_that_ends_while_it_is_looked_at_is_there_once) {
  raw_range rows[8] = {{.start = 10, .end = 20, .depth = 1, .name = 1},
                       {.start = 60, .end = 105, .depth = 2, .name = 2}, /* open at 100, ended before the copy */
                       {.start = 106, .end = 107, .depth = 2, .name = 3}};
  const open_look look = {.count = 4,
                          .ranges = {{.start = 5, .depth = 0, .name = 4},
                                     {.start = 50, .depth = 1, .name = 5},
                                     {.start = 60, .depth = 2, .name = 2},
                                     {.start = 100, .depth = 3, .name = 6}}}; /* began at the end */
  window_thread thread = {.ranges = rows, .range_count = 3};
  open_look_append(&look, 100, &thread);
  cr_assert_eq(thread.range_count, 5);
  cr_assert_eq(rows[3].name, 5, "inner ranges first, as if they had ended");
  cr_assert_eq(rows[3].end, 100);
  cr_assert_eq(rows[4].name, 4);
  cr_assert_eq(rows[4].end, 100);
}

/* A thread that is held up between reading the clock and publishing the range. */
PD_TEST(threads, a_range_published_late_with_an_end_inside_the_window_is_there_once) {
  raw_range rows[4] = {{.start = 50, .end = 98, .depth = 1, .name = 5},
                       {.start = 5, .end = 104, .depth = 0, .name = 4}};
  const open_look look = {.count = 2,
                          .ranges = {{.start = 5, .depth = 0, .name = 4}, {.start = 50, .depth = 1, .name = 5}}};
  window_thread thread = {.ranges = rows, .range_count = 2};
  open_look_append(&look, 100, &thread);
  cr_assert_eq(thread.range_count, 2, "the inner range would stand behind the outer one and have no parent");
}

/* A thread that is held up between publishing the range and clearing its place. */
PD_TEST(threads, a_range_whose_place_is_not_cleared_yet_is_there_once) {
  raw_range rows[4] = {{.start = 50, .end = 50, .depth = 1, .name = 7},
                       {.start = 50, .end = 98, .depth = 2, .name = 5}};
  const open_look look = {.count = 3,
                          .finished = 2,
                          .ranges = {{.start = 5, .depth = 0, .name = 4},
                                     {.start = 50, .depth = 1, .name = 6},
                                     {.start = 50, .depth = 2, .name = 5}}};
  window_thread thread = {.ranges = rows, .range_count = 2};
  open_look_append(&look, 100, &thread);
  cr_assert_eq(thread.range_count, 4);
  cr_assert_eq(rows[2].name, 6, "an older range of the same tick is another range");
  cr_assert_eq(rows[3].name, 4);
}

PD_TEST(threads, a_look_counts_the_ranges_published_before_it) {
  rig self;
  open_look look;
  rig_open(&self, plain);
  rig_window_at(&self, 2000, 0);
  rig_begin_at(&self, 2010, "outer", PD_RANGE_USER);
  rig_begin_at(&self, 2020, "inner", PD_RANGE_USER);
  rig_end_at(&self, 2030);
  open_look_take(atomic_load(&self.recorder->room->threads), &look);
  cr_assert_eq(look.finished, 1);
  cr_assert_eq(look.count, 1);
  rig_end_at(&self, 2040);
  rig_close(&self);
}

PD_TEST(threads, a_thread_that_ends_inside_a_range_closes_it) {
  rig self;
  pthread_t thread;
  rig_open(&self, plain);
  rig_window_at(&self, 2000, 0);
  worker other = {.rig = &self, .leave_open = true};
  cr_assert_eq(pthread_create(&thread, NULL, work, &other), 0);
  pthread_join(thread, NULL);
  rig_step_at(&self, 2030, 0);
  pd_trace *trace = rig_finish(&self);
  assert_range(trace, 0, "worker", 10, 10, PD_NONE, 0, 0);
  cr_assert_eq(trace->losses[PD_LOSS_UNBALANCED], 1);
  trace_free(trace);
  rig_close(&self);
}

PD_TEST(threads, a_thread_takes_its_name_from_the_system) {
  rig self;
  rig_open(&self, plain);
  cr_assert_eq(pthread_setname_np(pthread_self(), "looping"), 0);
  rig_window_at(&self, 2000, 0);
  rig_begin_at(&self, 2001, "x", PD_RANGE_USER);
  rig_end_at(&self, 2002);
  rig_step_at(&self, 2030, 0);
  pd_trace *trace = rig_finish(&self);
  cr_assert_str_eq(trace_text(trace, PD_AT(pd_thread, &trace->threads, 0)->name), "looping");
  trace_free(trace);
  rig_close(&self);
}

PD_TEST(threads, coming_back_in_is_turned_away_and_counted) {
  rig self;
  rig_open(&self, plain);
  rig_window_at(&self, 2000, 0);
  rig_begin_at(&self, 2010, "outer", PD_RANGE_USER);
  /* As a signal handler that interrupts begin or end would find it. */
  thread_current.thread->busy = true;
  rig_begin_at(&self, 2011, "handler", PD_RANGE_USER);
  rig_end_at(&self, 2012);
  self.record->memory(self.record, &(pd_memory_event){.bytes = 1});
  rig_give(&self, rig_kernel(&self, "k", 1, 5, 6));
  thread_current.thread->busy = false;
  rig_end_at(&self, 2020);
  rig_step_at(&self, 2030, 0);
  pd_trace *trace = rig_finish(&self);
  cr_assert_eq(trace->ranges.count, 1);
  assert_range(trace, 0, "outer", 10, 20, PD_NONE, 0, 0);
  cr_assert_eq(trace->losses[PD_LOSS_RANGES_FULL], 1);
  cr_assert_eq(trace->losses[PD_LOSS_MEMORY_FULL], 1);
  cr_assert_eq(trace->losses[PD_LOSS_RECORDS_DROPPED], 1);
  cr_assert_eq(trace->losses[PD_LOSS_UNBALANCED], 0);
  trace_free(trace);
  rig_close(&self);
}

PD_TEST(threads, interning_inside_interning_does_not_lock_up) {
  rig self;
  rig_open(&self, plain);
  uint32_t known = self.record->intern(self.record, "known");
  thread_current.interning = true;
  cr_assert_eq(self.record->intern(self.record, "known"), known);
  cr_assert_eq(self.record->intern(self.record, "new"), STRINGS_NO_MEMORY);
  thread_current.interning = false;
  cr_assert_neq(self.record->intern(self.record, "new"), STRINGS_NO_MEMORY);
  rig_close(&self);
}

/* `room`: of the recorder; NULL: one that the child has a copy of. */
static void fork_beside_a_window(trace_room *room) {
  static pd_site site = PD_SITE("child", PD_RANGE_USER);
  rig self;
  recorder_options options = plain;
  options.room = room;
  rig_open(&self, options);
  rig_window_at(&self, 2000, 0);
  rig_begin_at(&self, 2010, "around the fork", PD_RANGE_USER);
  pid_t child = fork();
  cr_assert_geq(child, 0);
  if (!child) {
    bool begun = pd_range_begin(self.record, &site, NULL);
    pd_trace *trace;
    recorder_enable(self.recorder, true);
    bool on = pd_record_on(self.record);
    rig_give(&self, rig_kernel(&self, "k", 1, 5, 6));
    pd_range_end(self.record, true);
    self.record->counter(self.record, 1, 1);
    self.record->lost(self.record, PD_LOSS_MEMORY_FULL, 1);
    (void)self.record->intern(self.record, "of the child");
    bool refused = recorder_window_begin(self.recorder, 1) == PD_INVALID &&
                   recorder_window_end(self.recorder, &(recorder_window){0}, &trace) == PD_INVALID;
    recorder_close(self.recorder);
    _exit(!begun && !on && refused ? 0 : 1);
  }
  int status = -1;
  cr_assert_eq(waitpid(child, &status, 0), child);
  cr_assert(WIFEXITED(status) && WEXITSTATUS(status) == 0, "the child ended with %d", status);
  rig_end_at(&self, 2020);
  rig_step_at(&self, 2030, 0);
  pd_trace *trace = rig_finish(&self);
  cr_assert_eq(trace->ranges.count, 1);
  assert_range(trace, 0, "around the fork", 10, 20, PD_NONE, 0, 0);
  assert_no_losses(trace);
  trace_free(trace);
  rig_close(&self);
}

PD_TEST(threads, a_forked_child_records_nothing) {
  trace_room *room;
  fork_beside_a_window(NULL);
  cr_assert_eq(room_open(1 << 20, true, &room), PD_OK);
  fork_beside_a_window(room);
  room_close(room);
}

PD_TEST(threads, two_recorders_on_one_thread_do_not_mix) {
  rig one, two;
  rig_open(&one, plain);
  rig_open(&two, plain);
  rig_window_at(&one, 2000, 0);
  rig_window_at(&two, 2000, 0);
  rig_begin_at(&one, 2010, "one", PD_RANGE_USER);
  rig_begin_at(&two, 2020, "two", PD_RANGE_USER);
  rig_end_at(&one, 2030);
  rig_end_at(&two, 2040);
  rig_step_at(&one, 2050, 0);
  rig_step_at(&two, 2050, 0);
  pd_trace *first = rig_finish(&one), *second = rig_finish(&two);
  assert_range(first, 0, "one", 10, 30, PD_NONE, 0, 0);
  assert_range(second, 0, "two", 20, 40, PD_NONE, 0, 0);
  cr_assert_eq(first->ranges.count, 1);
  cr_assert_eq(second->ranges.count, 1);
  trace_free(first);
  trace_free(second);
  rig_close(&one);
  rig_close(&two);
}

PD_TEST_WITH(threads, writers_and_windows_at_the_same_time, .timeout = 110) {
  recorder_writers_result result;
  cr_assert_eq(recorder_writers_run(4, 20, &result), 0, "%s", result.message);
  cr_assert_eq(result.windows, 20);
  cr_assert_gt(result.ranges, 0);
}
