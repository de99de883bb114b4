/* The table sink: what fits a width, and how names, bars and groups are shown in it. */
#include "table_rig.h"
#include "golden.h"
#include <math.h>
#include <stdlib.h>

PD_TEST(table, bars_and_strips_are_ascii_unless_the_locale_has_more) {
  table_test test = {0};
  setenv("LC_ALL", "C", 1);
  const char *text = report_of(&test, NULL, 1, false);
  for (const char *at = text; *at; at++) cr_assert(*at > 0, "not ASCII: %.20s", at);
  cr_assert_not_null(strstr(text, " %  ###"));
  end(&test);
  setenv("LC_ALL", "de_DE.UTF-8", 1);
  cr_assert_not_null(strstr(report_of(&test, NULL, 1, false), "\u2588\u2588\u2588"));
  end(&test);
}

PD_TEST(table, everything_fits_the_width_asked_for) {
  for (size_t width = 60; width <= 200; width += 35) {
    table_test test = {0};
    char setting[32];
    snprintf(setting, sizeof setting, "width=%zu", width);
    const char *text = text_of(&test, SETTINGS("views=all", "group_by_input_shape=true", "group_by_stack_n=5",
                                               "thread_sep=true", "row_limit=-1", setting));
    cr_assert_leq(longest_line(text), width, "%zu columns of %zu:\n%s", longest_line(text), width, text);
    end(&test);
  }
}

PD_TEST(table, self_cpu_says_which_threads_it_adds_up) {
  table_test test = {0};
  cr_assert_not_null(strstr(text_of(&test, SETTINGS("views=operators", "width=200")),
                            "Self CPU adds up over 2 threads (pdhost, pdhost loader 0)"));
  end(&test);
}

PD_TEST(table, names_are_whole_where_there_is_room) {
  table_test test = {0};
  cr_assert_null(
      strstr(text_of(&test, SETTINGS("views=operators kernels", "width=200", "max_name_column_width=200")), "..."));
  end(&test);
  cr_assert_not_null(strstr(text_of(&test, SETTINGS("views=kernels", "width=60")), "..."));
  end(&test);
}

PD_TEST(table, everything_fits_80_columns) {
  table_test test = {0};
  const char *text =
      text_of(&test, SETTINGS("views=all", "group_by_input_shape=true", "thread_sep=true", "row_limit=-1"));
  cr_assert_leq(longest_line(text), 80);
  cr_assert_not_null(strstr(text, "wide = true shows all"));
  end(&test);
  text =
      text_of(&test, SETTINGS("views=all", "time_unit=ns", "group_by_stack_n=5", "sort_by=count", "sorted_by=GPUMax"));
  cr_assert_leq(longest_line(text), 80);
  end(&test);
}

PD_TEST(table, what_the_rows_are_grouped_by_is_shown_in_80_columns) {
  table_test test = {0};
  const char *text = text_of(&test, SETTINGS("views=operators", "group_by_input_shape=true"));
  const char *row = strstr(text, "\naten::conv2d");
  cr_assert_not_null(row);
  const char *shapes = strstr(row, "[[4, 3, 32, 32]");
  cr_assert(shapes && shapes < strchr(row + 1, '\n'));
  cr_assert_leq(longest_line(text), 80);
  cr_assert_not_null(strstr(text, "Self"));
  end(&test);
}

PD_TEST(table, wide_shows_every_column_and_whole_names) {
  table_test test = {0};
  const char *text = text_of(&test, SETTINGS("views=operators kernels", "wide=true", "max_name_column_width=200"));
  cr_assert_null(strstr(text, "wide = true"));
  cr_assert_not_null(strstr(text, "implicit_convolve_sgemm<float, 128>(float const*, float*)"));
  cr_assert_gt(longest_line(text), 80);
  end(&test);
  text = text_of(&test, SETTINGS("views=kernels", "wide=true", "max_name_column_width=12"));
  cr_assert_not_null(strstr(text, "\nimplicit_... "));
  end(&test);
}

/* What the time was spent in is the last frame. */
PD_TEST(table, a_stack_is_cut_from_the_left_and_whole_when_wide) {
  table_test test = {0};
  const char *text = text_of(&test, SETTINGS("views=stacks", "max_name_column_width=24"));
  cr_assert_null(strstr(text, "... "), "the end is cut");
  cr_assert_not_null(strstr(text, "\n..."));
  cr_assert_not_null(strstr(text, "cudaLaunchKernel "));
  end(&test);
  text = text_of(&test, SETTINGS("views=stacks", "wide=true", "max_name_column_width=24"));
  cr_assert_null(strstr(text, "..."));
  cr_assert_not_null(strstr(text, ";cudaLaunchKernel "));
  end(&test);
}
