/* What the table sink's lines are made of. */
#include "pd_test.h"

#include "cells.h"
#include "text.h"

PD_TEST(table_text, figures_never_touch) {
  static const double values[] = {0.00092712, 123456.7, 0, 0.00000001, 1234567.8};
  text out = {0};
  for (size_t i = 0; i < sizeof values / sizeof *values; i++) text_figure(&out, values[i], 8);
  cr_assert_str_eq(out.data, " 0.00093  123457    0.00 0.00000 1234568");
  text_free(&out);
}

PD_TEST(table_text, a_series_is_written_in_the_unit_that_reads_best) {
  static const struct {
    double value;
    const char *unit, *text;
  } all[] = {{67334144, "bytes", "64.21 MiB"},
             {512, "bytes", "512 B"},
             {41943040000, "bytes/s", "41.9 GB/s"},
             {2097152, "bytes/s", "2.10 MB/s"},
             {0, "bytes/s", "0 B/s"},
             {8.97026e-05, "cores busy", "0.000"},
             {1.23456, "cores busy", "1.23"},
             {0.1234567, "cores busy", "0.123"},
             {1980, "MHz", "1980"}};
  for (size_t i = 0; i < sizeof all / sizeof all[0]; i++) {
    char written[48];
    cell_write_series(written, sizeof written, all[i].value, all[i].unit);
    cr_expect_str_eq(written, all[i].text);
  }
}
