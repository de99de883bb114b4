/* What blocks say against themselves, and the text of a measurement. */
#include "made_noise.h"
#include "pd_test.h"

#include "measure/measurement_judge.h"
#include "measure/measurement_text.h"
#include "measure/timer.h"

#include <stdlib.h>
#include <string.h>

/* ---- what the blocks say against themselves ---- */

static pd_measurement of_times(const double *times, uint64_t count) {
  pd_measurement row = {.threads = 1, .number_per_run = 10};
  cr_assert_eq(measurement_set(&row.label, "dot"), PD_OK);
  cr_assert_eq(measurement_set(&row.scenario, "vec_dot"), PD_OK);
  cr_assert_eq(measurement_set(&row.device, "CPU"), PD_OK);
  cr_assert_eq(measurement_set(&row.method, "blocked_autorange"), PD_OK);
  for (uint64_t i = 0; i < count; i++) cr_assert_eq(measurement_add_block(&row, times[i], times[i] / 2), PD_OK);
  return row;
}

/* 100 times around 1 ms with this interquartile range, in any order. */
static void spread_times(double *times, double iqr) {
  uint64_t state = 3;
  for (int i = 0; i < 100; i++) times[i] = 1e-3 * (1 + iqr * 2 * ((i + 0.5) / 100 - 0.5));
  for (int i = 99; i > 0; i--) {
    const int other = (int)(made_noise_uniform(&state) * (i + 1));
    const double kept = times[i];
    times[i] = times[other];
    times[other] = kept;
  }
}

PD_TEST(judge, warns_of_spread_as_torch_does) {
  static const struct {
    double iqr;
    uint64_t warnings;
    const char *said;
    bool trusted;
  } rows[] = {{0.09, 0, NULL, true},
              {0.12, 1, "This could indicate system fluctuation.", true},
              {0.24, 1, "This could indicate system fluctuation.", true},
              {0.27, 1, "This suggests significant environmental influence.", false}};
  for (size_t i = 0; i < sizeof rows / sizeof rows[0]; i++) {
    double times[100];
    bool trusted = false;
    spread_times(times, rows[i].iqr);
    pd_measurement row = of_times(times, 100);
    cr_assert_eq(measurement_judge(&row, &trusted), PD_OK);
    cr_assert_eq(row.warning_count, rows[i].warnings, "%g", rows[i].iqr);
    cr_assert_eq(trusted, rows[i].trusted);
    if (rows[i].said) cr_assert(strstr(row.warnings[0], rows[i].said), "%s", row.warnings[0]);
    measurement_clear(&row);
  }
}

PD_TEST(judge, sees_a_drift_and_no_drift_in_noise) {
  uint64_t state = 11, alarms = 0;
  for (int trial = 0; trial < 200; trial++) {
    double times[60];
    bool trusted;
    for (int i = 0; i < 60; i++) times[i] = 1e-3 * (1 + 0.03 * made_noise_normal(&state));
    pd_measurement row = of_times(times, 60);
    cr_assert_eq(measurement_judge(&row, &trusted), PD_OK);
    alarms += row.warning_count;
    measurement_clear(&row);
  }
  cr_assert_leq(alarms, 2);
  double times[60];
  bool trusted;
  for (int i = 0; i < 60; i++) times[i] = 1e-3 * (1 - 0.002 * i + 0.005 * made_noise_normal(&state));
  pd_measurement row = of_times(times, 60);
  cr_assert_eq(measurement_judge(&row, &trusted), PD_OK);
  cr_assert_eq(row.warning_count, 1);
  cr_assert(strstr(row.warnings[0], "faster than the first"), "%s", row.warnings[0]);
  cr_assert(trusted);
  measurement_clear(&row);
}

PD_TEST(judge, says_when_the_timer_is_what_was_measured) {
  const double times[] = {1e-3, 1e-3};
  bool trusted;
  pd_measurement row = of_times(times, 2);
  row.timer_overhead_s = 2e-5;
  cr_assert_eq(measurement_judge(&row, &trusted), PD_OK);
  cr_assert_eq(row.warning_count, 1);
  cr_assert(strstr(row.warnings[0], "An empty block takes 2.0%"), "%s", row.warnings[0]);
  measurement_clear(&row);
}

/* ---- as text ---- */

static void expect_text(const pd_measurement *row, const char *want) {
  char *text = NULL;
  size_t bytes;
  FILE *out = open_memstream(&text, &bytes);
  cr_assert_eq(measurement_print(row, out), PD_OK);
  fclose(out);
  cr_assert_str_eq(text, want);
  free(text);
}

PD_TEST(measurement_text, looks_as_torch_prints_it) {
  const double times[] = {4.01e-5, 5.74e-5, 5.74e-5, 6.28e-5, 6.28e-5};
  bool trusted;
  pd_measurement row = of_times(times, 5);
  row.timer_overhead_s = 2e-7;
  row.warm_up = (pd_warm_up){.decided = PD_TREND, .blocks = 40, .spent_s = 2.001};
  cr_assert_eq(measurement_set(&row.label, "Broadcasting add"), PD_OK);
  cr_assert_eq(measurement_set(&row.sub_label, "4x8"), PD_OK);
  cr_assert_eq(measurement_set(&row.description, "contiguous"), PD_OK);
  row.threads = 2;
  cr_assert_eq(measurement_warn(&row, "one\ntwo"), PD_OK);
  cr_assert_eq(measurement_judge(&row, &trusted), PD_OK);
  expect_text(&row, "<pdhost measurement of vec_dot on CPU, blocked_autorange>\n"
                    "Broadcasting add: 4x8\n"
                    "contiguous\n"
                    "  Median: 5.74 us\n"
                    "  IQR:    0.54 us (5.74 to 6.28)\n"
                    "  5 measurements, 10 runs per measurement, 2 threads\n"
                    "  WARNING: one\n"
                    "           two\n"
                    "  Mean:   5.61 us, 1 significant figure\n"
                    "  Tail:   p90 6.28 us, p99 6.28, max 6.28; MAD 0.54 us\n"
                    "  Device: 2.87 us, IQR 0.27 us (2.87 to 3.14)\n"
                    "  Warmed: not steady after 40 blocks, 2.00 s\n"
                    "  Empty:  200.00 ns a block of no runs\n");
  measurement_clear(&row);
}

PD_TEST(measurement_text, one_block_has_no_median) {
  const double one = 0.5;
  pd_measurement row = of_times(&one, 1);
  row.partial = row.cold_cache = true;
  cr_assert_eq(measurement_set(&row.label, NULL), PD_OK);
  expect_text(&row, "<pdhost measurement of vec_dot on CPU, blocked_autorange>\n"
                    "vec_dot\n"
                    "  50.00 ms\n"
                    "  1 measurement, 10 runs , 1 thread\n"
                    "  Device: 25.00 ms\n"
                    "  Empty:  0.00 ns a block of no runs; cold cache; PARTIAL: ended before its rule was met\n");
  measurement_clear(&row);
}
