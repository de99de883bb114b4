/* What pdhost top makes of a board: a made-up one, at times that are given. */
#include "cli/live/top_view.h"

#include "pd_test.h"

#include <stdlib.h>
#include <string.h>

#define MS INT64_C(1000000)

static board *board_of(uint64_t count) {
  board *self = calloc(1, sizeof *self);
  cr_assert(self);
  for (uint64_t i = 0; i < count; i++)
    self->steps[i % BOARD_STEPS] = (pd_step_stats){.phase = PD_PHASE_ACTIVE,
                                                   .index = i,
                                                   .data_wait_ns = 30 * MS,
                                                   .step_time_ns = 60 * MS,
                                                   .batch_cost_ns = (i % 2 ? 90 : 110) * MS,
                                                   .allocated_bytes = 5000000,
                                                   .end_realtime_ns = (int64_t)(i + 1) * 100 * MS};
  atomic_store(&self->step_count, count);
  return self;
}

PD_TEST(top_view, the_last_second_alone_counts) {
  board *of = board_of(50);
  top_second got;
  cr_assert(top_view_second(of, 5000 * MS, &got));
  cr_assert_eq(got.steps, 10);
  cr_assert(got.median_ns == 100 * MS && got.least_ns == 90 * MS && got.most_ns == 110 * MS);
  cr_assert_float_eq(got.wait, 0.3, 1e-12);
  cr_assert_float_eq(got.step, 0.6, 1e-12);
  cr_assert_float_eq(got.between, 0.1, 1e-12);
  cr_assert(top_view_second(of, 9000 * MS, &got));
  cr_assert(got.steps == 0 && got.wait == 0);
  free(of);
}

PD_TEST(top_view, more_steps_than_the_board_keeps) {
  board *of = board_of(BOARD_STEPS + 100);
  top_second got;
  cr_assert(top_view_second(of, (int64_t)(BOARD_STEPS + 100) * 100 * MS, &got));
  cr_assert_eq(got.steps, 10);
  free(of);
}

PD_TEST(top_view, the_view) {
  board *of = board_of(50);
  char *text = NULL;
  size_t bytes = 0;
  FILE *out = open_memstream(&text, &bytes);
  board_step(of, 50, 7 * MS);
  cr_assert(top_view_print(of, 5000 * MS, 9 * MS, out));
  fclose(out);
  cr_assert_str_eq(text, "Steps done        50, the last one recorded\n"
                         "Under way         step 50, for 2.00 ms\n"
                         "The last second   10 steps\n"
                         "  a step          100 ms (90.0 ms to 110 ms)\n"
                         "  wait for data    30.0 %\n"
                         "  after the wait   60.0 %\n"
                         "  between steps    10.0 %\n"
                         "Device memory     4.77 MiB\n");
  free(text);
  free(of);
}

PD_TEST(top_view, before_the_first_step) {
  board *of = board_of(0);
  char *text = NULL;
  size_t bytes = 0;
  FILE *out = open_memstream(&text, &bytes);
  cr_assert(top_view_print(of, 0, 0, out));
  fclose(out);
  cr_assert_str_eq(text, "Steps done        0\nThe last second   no step ended\n");
  free(text);
  of->phase = 3;
  of->phases[1] = (board_phase_row){"setting up", 2 * MS};
  out = open_memstream(&text, &bytes);
  cr_assert(top_view_print(of, 0, 1502 * MS, out));
  fclose(out);
  cr_assert_str_eq(text,
                   "Steps done        0\nUnder way         setting up, for 1.50 s\nThe last second   no step ended\n");
  free(text);
  free(of);
}
