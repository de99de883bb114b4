/* What is left of a program that was killed: its threads' calls and its kernels come from CUPTI one buffer at a time.
 */
#include "pd_test.h"

#include "program_tail.h"

#define SECOND INT64_C(1000000000)

static pd_activity launch(uint64_t correlation, int64_t start_ns) {
  pd_activity row = {.kind = PD_ACTIVITY_DRIVER, .start = start_ns, .end = start_ns + 10, .correlation = correlation};
  row.u.api.api = PD_API_LAUNCH;
  return row;
}

static pd_activity kernel(uint64_t correlation, int64_t start_ns) {
  return (pd_activity){.kind = PD_ACTIVITY_KERNEL, .start = start_ns, .end = start_ns + 10, .correlation = correlation};
}

static program_tail tail_of(int64_t whole_until_ns, const pd_activity *rows, size_t count) {
  program_tail tail = {.whole_until_ns = whole_until_ns};
  for (size_t i = 0; i < count; i++) cr_assert_eq(program_tail_add(&tail, &rows[i]), PD_OK);
  program_tail_cut(&tail);
  return tail;
}
#define TAIL(until, rows) tail_of((until), (rows), sizeof(rows) / sizeof *(rows))

PD_TEST(program_tail, a_program_that_ended_by_itself_keeps_all) {
  const pd_activity rows[] = {launch(1, SECOND), kernel(1, 2 * SECOND), launch(2, 3 * SECOND)};
  program_tail tail = TAIL(INT64_MAX, rows);
  for (size_t i = 0; i < 3; i++) cr_assert(program_tail_has(&tail, &rows[i]));
  program_tail_free(&tail);
}

PD_TEST(program_tail, what_one_thread_did_behind_the_last_flush_goes) {
  const pd_activity rows[] = {launch(1, 100), kernel(1, 200), launch(2, 300),
                              kernel(2, 450), launch(3, 500), kernel(3, 600)};
  program_tail tail = TAIL(400, rows);
  cr_assert_eq(tail.cut_ns, 400);
  for (size_t i = 0; i < 6; i++) cr_assert_eq(program_tail_has(&tail, &rows[i]), i < 4, "row %zu", i);
  program_tail_free(&tail);
}

PD_TEST(program_tail, a_launch_that_had_not_run_ends_what_is_used) {
  const pd_activity rows[] = {launch(1, 100), kernel(1, 200), launch(2, 300), launch(3, 350), kernel(3, 390)};
  program_tail tail = TAIL(1000, rows);
  cr_assert_eq(tail.cut_ns, 300);
  for (size_t i = 0; i < 5; i++) cr_assert_eq(program_tail_has(&tail, &rows[i]), i < 2, "row %zu", i);
  program_tail_free(&tail);
}

/* Launches into a capture have no record: long before the end they are not waited for. */
PD_TEST(program_tail, launches_long_before_and_failed_ones_need_no_record) {
  pd_activity rows[] = {launch(1, 100), launch(3, 30 * SECOND), launch(2, 30 * SECOND), kernel(2, 30 * SECOND + 50)};
  rows[1].u.api.result = 1;
  program_tail tail = TAIL(31 * SECOND, rows);
  cr_assert_eq(tail.cut_ns, 31 * SECOND);
  program_tail_free(&tail);
}
