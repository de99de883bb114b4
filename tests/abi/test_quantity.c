/* Figures in sentences: three significant digits, one rule for the unit. */
#include "pd_test.h"

#include <pdhost/quantity.h>

#include <stdlib.h>
#include <string.h>

static void expect(void (*write)(char *, size_t, double), double value, const char *text) {
  char out[48];
  write(out, sizeof out, value);
  cr_assert_str_eq(out, text, "%.17g is %s, not %s", value, out, text);
}

PD_TEST(quantity, times_have_the_unit_that_gives_1_to_999) {
  expect(pd_text_time, 0, "0 ns");
  expect(pd_text_time, 0.4, "0 ns");
  expect(pd_text_time, 561, "561 ns");
  expect(pd_text_time, 999.4, "999 ns");
  expect(pd_text_time, 999.6, "1.00 us");
  expect(pd_text_time, 9994, "9.99 us");
  expect(pd_text_time, 9996, "10.0 us");
  expect(pd_text_time, 99960, "100 us");
  expect(pd_text_time, 15668700, "15.7 ms");
  expect(pd_text_time, 999600000, "1.00 s");
  expect(pd_text_time, 4321e9, "4321 s");
  expect(pd_text_time, -15668700, "-15.7 ms");
}

PD_TEST(quantity, bytes_are_powers_of_1024_and_say_so) {
  expect(pd_text_bytes, 0, "0 B");
  expect(pd_text_bytes, 999, "999 B");
  expect(pd_text_bytes, 1000, "0.977 KiB");
  expect(pd_text_bytes, 2212864, "2.11 MiB");
  expect(pd_text_bytes, 412.0 * 1024 * 1024, "412 MiB");
  expect(pd_text_bytes, 140.0 * 1024 * 1024 * 1024, "140 GiB");
}

PD_TEST(quantity, shares_have_one_decimal) {
  expect(pd_text_percent, 69.64, "69.6 %");
  expect(pd_text_percent, 100, "100.0 %");
}

/* Over many magnitudes: at least three digits, and no more than one part in a hundred is rounded away. */
PD_TEST(quantity, no_time_loses_more_than_half_a_per_cent) {
  for (double ns = 1; ns < 1e12; ns *= 1.037) {
    char out[48];
    char *unit;
    pd_text_time(out, sizeof out, ns);
    const double value = strtod(out, &unit);
    const double size = !strcmp(unit, " ns") ? 1 : !strcmp(unit, " us") ? 1e3 : !strcmp(unit, " ms") ? 1e6 : 1e9;
    cr_assert(value >= 1 && (value < 1000 || size >= 1e9), "%s", out);
    cr_assert_float_eq(value * size, ns, ns < 100 ? 0.5 : 0.005 * ns, "%s of %g", out, ns);
  }
}
