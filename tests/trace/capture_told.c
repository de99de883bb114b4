/* When a reader is told that a window is in the capture, the room that it was recorded in no longer holds it. */
#include "recorder_rig.h"
#include "trace/kept/salvage.h"
#include "trace/saved_window.h"

#include <stdio.h>
#include <stdlib.h>
#include <unistd.h>

typedef struct told {
  trace_room *room;
  capture_writer writer;
  uint32_t count;
} told;

/* Were the process to die now, the window would not be read out of the room once more. */
static bool is_given_up(void *user) {
  told *self = user;
  const recorder_window none = {.profile = PD_PROFILE_NONE};
  cr_assert_eq(room_salvage(self->room, &none, NULL, 0, NULL, &self->writer), PD_STOP);
  return ++self->count < 2; /* the first time for a reader that was not reached */
}

PD_TEST(capture, a_room_gives_its_window_up_before_a_reader_is_told_of_it) {
  char folder[] = "/tmp/pdhost-told-XXXXXX", path[64];
  rig self;
  told user = {.count = 0};
  pd_trace *trace;
  cr_assert_not_null(mkdtemp(folder));
  (void)snprintf(path, sizeof path, "%s/told.pdcap", folder);
  cr_assert_eq(room_open(64 << 20, true, &user.room), PD_OK);
  rig_open(&self, (recorder_options){.max_bytes = 64 << 20, .room = user.room});
  cr_assert_eq(capture_create(&user.writer, path, CAPTURE_OF_RUN, 7, 123), PD_OK);
  rig_window_at(&self, 2000, 0);
  rig_begin_at(&self, 2010, "operation", PD_RANGE_OP);
  rig_end_at(&self, 2020);
  rig_step_at(&self, 2030, 0);
  const recorder_window end = {.profile = PD_PROFILE_FULL, .saved = is_given_up, .user = &user};
  recorder_save_to(self.recorder, &user.writer);
  cr_assert_eq(recorder_window_end(self.recorder, &end, &trace), PD_OK);
  cr_assert_eq(user.count, 2);
  trace_free(trace);
  cr_assert_eq(capture_close(&user.writer, false), PD_OK);
  rig_close(&self);
  room_close(user.room);
  cr_assert_eq(unlink(path), 0);
  cr_assert_eq(rmdir(folder), 0);
}
