/* Collapsed stacks: values, frames, and the format that flamegraph.pl and speedscope read. */
#include "analysis_rig.h"

#include <stdio.h>
#include <stdlib.h>

#define US(x) ((int64_t)(x)*1000)

static int64_t value_of(analysis_rig *rig, const char *id, const char *stack) {
  const pd_table *table = rig_table(rig, id);
  return rig_int(table, rig_row(table, stack), "value_us");
}

PD_TEST(stacks, ranges_that_hold_each_other_are_the_frames) {
  analysis_rig rig;
  rig_begin(&rig);
  uint32_t stream = fake_stream(rig.fake, 0, 1, 7);
  for (int i = 0; i < 2; i++) { /* two steps add up */
    int64_t t = US(1000 * i);
    fake_range(rig.fake, PD_RANGE_STEP, i ? "ProfilerStep#1" : "ProfilerStep#0", 0, t, t + US(500));
    fake_range(rig.fake, PD_RANGE_USER, "train step", 0, t + US(100), t + US(400));
    fake_range(rig.fake, PD_RANGE_OP, "aten::conv2d", 0, t + US(150), t + US(250));
    fake_call(rig.fake, PD_API_LAUNCH, "cudaLaunchKernel", 0, t + US(160), t + US(170), (uint64_t)i + 1);
    fake_kernel(rig.fake, "conv<float, 4>(a; b)", stream, t + US(200), t + US(230), (uint64_t)i + 1);
  }
  rig_finish(&rig);
  cr_assert_eq(value_of(&rig, "stacks", "ProfileStep"), 2 * 200);
  cr_assert_eq(value_of(&rig, "stacks", "ProfileStep;train_step"), 2 * 200);
  cr_assert_eq(value_of(&rig, "stacks", "ProfileStep;train_step;aten::conv2d"), 2 * 90);
  cr_assert_eq(value_of(&rig, "stacks", "ProfileStep;train_step;aten::conv2d;cudaLaunchKernel"), 2 * 10);
  cr_assert_eq(rig_table(&rig, "stacks")->rows.count, 4);
  cr_assert_eq(value_of(&rig, "stacks_device", "ProfileStep;train_step;aten::conv2d;conv<float,_4>(a__b)"), 2 * 30);
  cr_assert_eq(rig_table(&rig, "stacks_device")->rows.count, 1);
  rig_end(&rig);
}

PD_TEST(stacks, a_recorded_call_stack_stands_between_the_ranges) {
  analysis_rig rig;
  rig_begin(&rig);
  fake_range(rig.fake, PD_RANGE_USER, "train_step", 0, 0, US(100));
  fake_range(rig.fake, PD_RANGE_OP, "aten::to", 0, US(10), US(30));
  fake_range(rig.fake, PD_RANGE_OP_INNER, "aten::copy_", 0, US(15), US(20));
  fake_range(rig.fake, PD_RANGE_OP_INNER, "aten::fill_", 0, US(22), US(24));
  uint32_t frames[4] = {fake_string(rig.fake, "main (m.c:1)"), fake_string(rig.fake, "to (kit.c:30)"),
                        fake_string(rig.fake, "copy (kit.c:9)"), fake_string(rig.fake, "to (kit.c:32)")};
  uint32_t later[2] = {frames[0], frames[3]};
  pd_stack stacks[3] = {{frames, 2}, {frames, 3}, {later, 2}};
  rig_finish(&rig);
  pd_range *ranges = (pd_range *)(uintptr_t)rig.trace->ranges.data;
  for (uint32_t i = 0; i < 4; i++) ranges[i].stack = i ? i - 1 : PD_NONE;
  rig.trace->stacks = (pd_array){stacks, 3, sizeof *stacks};
#define TO "train_step;main_(m.c:1);to_(kit.c:30);aten::to"
  cr_assert_eq(value_of(&rig, "stacks", "train_step"), 80);
  cr_assert_eq(value_of(&rig, "stacks", TO), 13);
  cr_assert_eq(value_of(&rig, "stacks", TO ";copy_(kit.c:9);aten::copy_"), 5);
  cr_assert_eq(value_of(&rig, "stacks", TO ";to_(kit.c:32);aten::fill_"), 2);
  cr_assert_eq(rig_table(&rig, "stacks")->rows.count, 4, "one root, and no line beside it");
  rig_end(&rig);
}

PD_TEST(stacks, less_than_half_a_microsecond_is_no_line) {
  analysis_rig rig;
  rig_begin(&rig);
  fake_range(rig.fake, PD_RANGE_OP, "short", 0, 0, 499);
  fake_range(rig.fake, PD_RANGE_OP, "long", 0, 1000, 1500);
  rig_finish(&rig);
  cr_assert(!rig_has_row(rig_table(&rig, "stacks"), "short"));
  cr_assert_eq(value_of(&rig, "stacks", "long"), 1);
  rig_end(&rig);
}

/* What flamegraph.pl takes: /^(.*)\s+?(\d+(?:\.\d*)?)$/, frames split at ';'; speedscope: the last blank parts the
 * count. So a stack may hold no blank and no empty frame, and the value is a whole number above 0. */
static void parse_line(const char *line, int64_t want_value) {
  const char *blank = strrchr(line, ' ');
  char *end;
  cr_assert_not_null(blank);
  cr_assert_eq(strtoll(blank + 1, &end, 10), want_value);
  cr_assert_eq(*end, 0);
  cr_assert_gt(want_value, 0);
  for (const char *c = line; c < blank; c++) {
    cr_assert((unsigned char)*c > ' ' && *c != 0x7F, "a character that parts lines or values in \"%s\"", line);
    cr_assert(*c != ';' || (c > line && c + 1 < blank && c[1] != ';'), "an empty frame in \"%s\"", line);
  }
}

PD_TEST(stacks, every_line_is_in_the_readers_format) {
  static const char *const odd[] = {"a b",     "tab\there",  "line\nbreak", "semi;colon", "cr\rhere",
                                    "汉字 op", "\"quoted\"", "x\x7Fy",      "trailing "};
  analysis_rig rig;
  rig_begin(&rig);
  fake_range(rig.fake, PD_RANGE_USER, "outer step", 0, 0, US(10000));
  for (int i = 0; i < 9; i++) fake_range(rig.fake, PD_RANGE_OP, odd[i], 0, US(100 * i), US(100 * i + 50));
  rig_finish(&rig);
  const pd_table *table = rig_table(&rig, "stacks");
  cr_assert_eq(table->rows.count, 10);
  for (uint64_t i = 0; i < table->rows.count; i++) {
    char line[512];
    const pd_table_row *row = rig_row_at(table, i);
    snprintf(line, sizeof line, "%s %lld", rig_text(table, row, "stack"), (long long)rig_int(table, row, "value_us"));
    parse_line(line, rig_int(table, row, "value_us"));
  }
  rig_end(&rig);
}
