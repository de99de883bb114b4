/* What the table sink's lines are made of. */
#include "pd_test.h"

#include "text.h"

PD_TEST(table_text, figures_never_touch) {
  static const double values[] = {0.00092712, 123456.7, 0, 0.00000001, 1234567.8};
  text out = {0};
  for (size_t i = 0; i < sizeof values / sizeof *values; i++) text_figure(&out, values[i], 8);
  cr_assert_str_eq(out.data, " 0.00093  123457    0.00 0.00000 1234568");
  text_free(&out);
}
