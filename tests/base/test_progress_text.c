#include "base/progress_text.h"

#include "pd_test.h"

#include <stdlib.h>
#include <string.h>

static progress_view recording(uint64_t step, uint64_t of, double rate, double left) {
  return (progress_view){.task = "dataloader",
                         .phase = "recording",
                         .unit = "step",
                         .event = PROGRESS_RUNS,
                         .step = step,
                         .of = of,
                         .rate = rate,
                         .seconds = 2,
                         .seconds_left = left};
}

static void expect(const progress_view *view, const char *text) {
  char line[PROGRESS_LINE_BYTES];
  cr_assert_str_eq(progress_line(view, line), text);
}

PD_TEST(progress_text, a_phase_says_step_rate_and_time_left) {
  progress_view view = recording(12, 600, 29.83, 19.7);
  expect(&view, "dataloader: recording: step 12 of 600, 29.8/s, 20 s left");
  view = recording(12, 600, 0.25, 2352);
  expect(&view, "dataloader: recording: step 12 of 600, 4 s each, 39 min 12 s left");
  view = recording(12, 0, 12345, -1);
  expect(&view, "dataloader: recording: step 12, 12345/s");
  view = recording(12, 100000, 1, 99988);
  expect(&view, "dataloader: recording: step 12 of 100000, 1/s, 27 h 46 min left");
}

PD_TEST(progress_text, before_its_first_step_a_phase_says_how_long_it_may_take) {
  progress_view view = recording(0, 600, 0, 20);
  expect(&view, "dataloader: recording 600 steps, about 20 s");
  view = recording(0, 1, 0, -1);
  expect(&view, "dataloader: recording 1 step");
  view = recording(0, 0, 0, 2.34);
  view.at_most = true;
  expect(&view, "dataloader: recording: step 0, at most 2.3 s left");
}

PD_TEST(progress_text, what_takes_long_and_what_was_found_stand_behind) {
  progress_view view = {.task = "ab", .phase = "setting up", .seconds = 12, .seconds_left = -1};
  expect(&view, "ab: setting up, 12 s");
  strcpy(view.doing, "making 4 resident batches");
  expect(&view, "ab: setting up, 12 s: making 4 resident batches");
  view = recording(3, 0, 2, 5);
  view.at_most = true;
  strcpy(view.note, "3 rounds");
  expect(&view, "dataloader: recording: step 3, 2/s, at most 5.0 s left; 3 rounds");
}

PD_TEST(progress_text, what_is_read_has_its_bytes_and_the_time_left) {
  progress_view view = {.task = "analyze", .phase = "reading", .unit = PROGRESS_BYTE, .seconds = 4, .seconds_left = -1};
  expect(&view, "analyze: reading, 4.0 s");
  view.step = 123400000;
  view.rate = 30850000;
  expect(&view, "analyze: reading: 123 MB, 30.9 MB/s");
  view.of = 457000000;
  view.seconds_left = 10.8;
  expect(&view, "analyze: reading: 123 of 457 MB (27 %), 30.9 MB/s, 11 s left");
}

PD_TEST(progress_text, whole_characters_fit) {
  cr_assert_eq(progress_fitting("abcdef", 4), 4);
  cr_assert_eq(progress_fitting("abcdef", 80), 6);
  cr_assert_eq(progress_fitting("a\xc3\xa9\xc3\xa9z", 2), 3);
  cr_assert_eq(progress_fitting("abc", 0), 0);
}

PD_TEST(progress_text, an_object_has_null_for_what_is_not_known) {
  progress_view view = recording(12, 600, 29.8300001, 19.7);
  char *text = progress_object(&view);
  cr_assert_str_eq(text,
                   "{\"task\":\"dataloader\",\"phase\":\"recording\",\"event\":\"run\",\"unit\":\"step\",\"step\":12,"
                   "\"of\":600,\"rate\":29.83,\"seconds\":2.0,\"seconds_left\":19.7,\"at_most\":false,"
                   "\"doing\":null,\"note\":null}");
  free(text);
  view = recording(0, 0, 0, -1);
  strcpy(view.doing, "a \"quoted\" text");
  text = progress_object(&view);
  cr_assert_str_eq(text,
                   "{\"task\":\"dataloader\",\"phase\":\"recording\",\"event\":\"run\",\"unit\":\"step\",\"step\":0,"
                   "\"of\":null,\"rate\":null,\"seconds\":2.0,\"seconds_left\":null,\"at_most\":false,"
                   "\"doing\":\"a \\\"quoted\\\" text\",\"note\":null}");
  free(text);
}
