/* A room that is looked at while its recorder writes: what is seen, and that nothing of it is believed unchecked. */
#include "trace/kept/room_look.h"
#include "trace/recorder.h"

#include "pd_test.h"

#include <pdhost/clocks.h>

#include <string.h>
#include <sys/mman.h>
#include <time.h>
#include <unistd.h>

#define MS INT64_C(1000000)
enum { ROWS = 2000 }; /* more than one chunk holds */

typedef struct rig {
  trace_room *room;
  recorder *recorder;
  const pd_record *record;
  trace_clock clock;
  room_look look;
} rig;

static void open_rig(rig *self) {
  *self = (rig){.room = NULL};
  cr_assert_eq(room_open(16 << 20, true, &self->room), PD_OK);
  cr_assert(self->room->place.file >= 0);
  const recorder_options options = {.max_bytes = 16 << 20, .room = self->room};
  cr_assert_eq(recorder_open(&options, &self->recorder), PD_OK);
  self->record = recorder_table(self->recorder);
  cr_assert_eq(trace_clock_open(&self->clock, NULL), PD_OK);
}

static void close_rig(rig *self) {
  room_look_free(&self->look);
  trace_clock_close(&self->clock);
  recorder_close(self->recorder);
  room_close(self->room);
}

static room_look_state look(rig *self, int64_t span_ns) {
  return room_look_take(&self->look, self->room->place.file, &self->clock, span_ns);
}

static void add(const rig *self, pd_activity_kind kind, pd_clock clock, int64_t start, int64_t end) {
  const pd_activity row = {.kind = kind, .start = start, .end = end, .correlation = 7, .u.api.api = PD_API_LAUNCH};
  self->record->activities(self->record, clock, &row, 1);
}

PD_TEST(room_look, sees_the_open_window_alone) {
  rig self;
  pd_trace *trace = NULL;
  open_rig(&self);
  cr_assert_eq(look(&self, MS), ROOM_LOOK_CLOSED);
  recorder_enable(self.recorder, true);
  cr_assert_eq(recorder_window_begin(self.recorder, 5), PD_OK);
  cr_assert_eq(look(&self, MS), ROOM_LOOK_OPEN);
  cr_assert(self.look.count == 0 && self.look.newest_ns == 0 && self.look.window == 5);
  self.record->lost(self.record, PD_LOSS_RECORDS_DROPPED, 3);
  add(&self, PD_ACTIVITY_KERNEL, PD_CLOCK_REALTIME, 1000 * MS, 1001 * MS);
  cr_assert_eq(look(&self, MS), ROOM_LOOK_OPEN);
  cr_assert(self.look.count == 1 && self.look.losses[PD_LOSS_RECORDS_DROPPED] == 3);
  cr_assert_eq(recorder_window_end(self.recorder, &(recorder_window){.profile = PD_PROFILE_NONE}, &trace), PD_OK);
  cr_assert_eq(look(&self, MS), ROOM_LOOK_CLOSED);
  cr_assert(self.look.count == 0 && self.look.losses[PD_LOSS_RECORDS_DROPPED] == 3);
  trace_free(trace);
  close_rig(&self);
}

PD_TEST(room_look, takes_the_span_before_the_newest_row_in_order) {
  rig self;
  open_rig(&self);
  cr_assert_eq(recorder_window_begin(self.recorder, 0), PD_OK);
  for (int64_t i = 0; i < ROWS; i++) { /* kernels and their calls, the kernels of each pair the other way round */
    const int64_t at = 1000 * MS + (i ^ 1) * MS;
    add(&self, PD_ACTIVITY_RUNTIME, PD_CLOCK_REALTIME, 1000 * MS + i * MS, 1000 * MS + i * MS + 10);
    add(&self, PD_ACTIVITY_KERNEL, PD_CLOCK_REALTIME, at, at + MS / 2);
  }
  cr_assert_eq(look(&self, 100 * MS), ROOM_LOOK_OPEN);
  cr_assert_eq(self.look.newest_ns, 1000 * MS + (ROWS - 1) * MS + 10);
  uint64_t kernels = 0;
  for (uint64_t i = 0; i < self.look.count; i++) {
    const pd_activity *row = &self.look.rows[i];
    cr_assert(row->end > self.look.newest_ns - 100 * MS);
    cr_assert(i == 0 || row->start >= row[-1].start);
    kernels += row->kind == PD_ACTIVITY_KERNEL;
    cr_assert(row->correlation == 7 && (row->kind == PD_ACTIVITY_KERNEL || row->u.api.api == PD_API_LAUNCH));
  }
  cr_assert(kernels == 101 && self.look.count == 201);
  close_rig(&self);
}

/* A look goes through what is new, however much a window holds by then, and sees what one from the start sees. */
PD_TEST(room_look, passes_over_what_it_found_too_old) {
  rig self;
  room_look whole = {.rows = NULL};
  pd_trace *trace = NULL;
  open_rig(&self);
  uint64_t most = 0;
  for (uint32_t window = 0; window < 2; window++) { /* the chunks of the first are in the second's lists */
    cr_assert_eq(recorder_window_begin(self.recorder, window), PD_OK);
    for (int64_t i = 0; i < 20 * ROWS; i++) {
      const int64_t at = (1000 + window * 100000 + i) * MS;
      add(&self, PD_ACTIVITY_RUNTIME, PD_CLOCK_REALTIME, at, at + 10);
      add(&self, PD_ACTIVITY_KERNEL, PD_CLOCK_REALTIME, at, at + MS / 2);
      if (i % ROWS) continue;
      cr_assert_eq(look(&self, 100 * MS), ROOM_LOOK_OPEN);
      if (self.look.chunks > most) most = self.look.chunks;
    }
    cr_assert_eq(room_look_take(&whole, self.room->place.file, &self.clock, 100 * MS), ROOM_LOOK_OPEN);
    cr_assert_eq(look(&self, 100 * MS), ROOM_LOOK_OPEN);
    cr_assert(self.look.count == 200 && self.look.newest_ns == whole.newest_ns, "%lu", (unsigned long)self.look.count);
    cr_assert_eq(memcmp(self.look.rows, whole.rows, whole.count * sizeof *whole.rows), 0);
    cr_assert(whole.count == 200 && most > 0 && whole.chunks > 5 * most, "%lu of %lu", (unsigned long)most,
              (unsigned long)whole.chunks);
    room_look_free(&whole);
    cr_assert_eq(recorder_window_end(self.recorder, &(recorder_window){.profile = PD_PROFILE_NONE}, &trace), PD_OK);
    trace_free(trace);
  }
  close_rig(&self);
}

PD_TEST(room_look, ticks_become_the_time_of_the_system) {
  rig self;
  open_rig(&self);
  cr_assert_eq(recorder_window_begin(self.recorder, 0), PD_OK);
  const int64_t before_ns = pd_clock_ns(CLOCK_REALTIME);
  const int64_t start = (int64_t)self.record->ticks(self.record);
  usleep(20000);
  const int64_t end = (int64_t)self.record->ticks(self.record), after_ns = pd_clock_ns(CLOCK_REALTIME);
  add(&self, PD_ACTIVITY_KERNEL, PD_CLOCK_TICKS, start, end);
  cr_assert_eq(look(&self, 1000 * MS), ROOM_LOOK_OPEN);
  cr_assert_eq(self.look.count, 1);
  cr_assert(self.look.rows[0].start > before_ns - MS && self.look.rows[0].end < after_ns + MS);
  cr_assert(self.look.rows[0].end - self.look.rows[0].start >= 19 * MS);
  close_rig(&self);
}

/* As where a window ends, and its chunks go to others, between two reads. */
PD_TEST(room_look, follows_no_address_out_of_the_room) {
  static unsigned char elsewhere[2 * CHUNK_BYTES];
  rig self;
  open_rig(&self);
  cr_assert_eq(recorder_window_begin(self.recorder, 0), PD_OK);
  add(&self, PD_ACTIVITY_KERNEL, PD_CLOCK_REALTIME, 1000 * MS, 1001 * MS);
  chunk *first = (chunk *)(void *)self.room->place.chunks;
  void *const wrong[] = {(void *)8,
                         elsewhere,
                         self.room->place.chunks + 8,
                         self.room->place.chunks + self.room->place.chunk_bytes,
                         (unsigned char *)self.room - CHUNK_BYTES,
                         (void *)UINTPTR_MAX};
  for (uint64_t i = 0; i < sizeof wrong / sizeof wrong[0]; i++) {
    atomic_store(&first->next, wrong[i]);
    cr_assert_eq(look(&self, MS), ROOM_LOOK_OPEN);
    cr_assert_eq(self.look.count, 1);
  }
  atomic_store(&first->next, first); /* a circle ends */
  cr_assert_eq(look(&self, MS), ROOM_LOOK_OPEN);
  atomic_store(&first->next, NULL);
  atomic_store(&first->count, UINT32_MAX); /* more than a chunk holds */
  cr_assert_eq(look(&self, MS), ROOM_LOOK_OPEN);
  cr_assert_eq(self.look.count, 0);
  atomic_store(&first->count, 1);
  struct recorder_thread *threads = atomic_load(&self.room->threads);
  for (uint64_t i = 0; i < sizeof wrong / sizeof wrong[0]; i++) {
    if (wrong[i] == self.room->place.chunks + 8) continue; /* lies in the room */
    atomic_store(&self.room->threads, wrong[i]);
    cr_assert_eq(look(&self, MS), ROOM_LOOK_OPEN);
    cr_assert_eq(self.look.count, 0);
  }
  atomic_store(&self.room->threads, threads);
  close_rig(&self);
}

PD_TEST(room_look, what_is_no_room) {
  room_look none = {.rows = NULL};
  trace_clock clock;
  cr_assert_eq(trace_clock_open(&clock, NULL), PD_OK);
  const int file = memfd_create("none", MFD_CLOEXEC);
  cr_assert_eq(room_look_take(&none, -1, &clock, MS), ROOM_LOOK_NONE);
  cr_assert_eq(room_look_take(&none, file, &clock, MS), ROOM_LOOK_NONE);
  cr_assert_eq(ftruncate(file, 1 << 20), 0);
  cr_assert_eq(room_look_take(&none, file, &clock, MS), ROOM_LOOK_NONE);
  (void)close(file);
  room_look_free(&none);
  trace_clock_close(&clock);
}
