/* Callgrind's files: as it writes them, by the format's description, and damaged. */
#include "measure/callgrind_file.h"

#include "pd_test.h"

#include <stdio.h>
#include <string.h>

static callgrind_profile profile;
static char why[256];

static pd_status parse(const char *text) {
  callgrind_profile_clear(&profile);
  why[0] = '\0';
  return callgrind_profile_parse(text, strlen(text), "out.1", &profile, why, sizeof why);
}

static void check_function(uint64_t index, const char *name, const char *object, uint64_t count) {
  cr_assert_lt(index, profile.function_count);
  cr_assert_str_eq(profile.functions[index].name, name);
  cr_assert_str_eq(profile.functions[index].object, object);
  cr_assert_eq(profile.functions[index].count, count, "%s: %lu", name, (unsigned long)profile.functions[index].count);
}

/* A call's costs are the callee's, also of one that began before the counting, an inlined function's those of the one
 * it is inlined in, and a name that first stands at a call is known from there on. */
static const char compressed[] = "# callgrind format\n"
                                 "version: 1\n"
                                 "creator: callgrind-3.19.0\n"
                                 "cmd:  pdhost -o a=b:c\n"
                                 "\n"
                                 "desc: Trigger: --dump-after=pdhost_counted_steps\n"
                                 "positions: line\n"
                                 "events: Ir\n"
                                 "summary: 999999\n"
                                 "\n"
                                 "ob=(1) /usr/bin/pdhost\n"
                                 "fl=(1) main.c\n"
                                 "fn=(1) main\n"
                                 "16 400\n"
                                 "+2 3\n"
                                 "cob=(2) /usr/lib/libm.so.6\n"
                                 "cfi=(2) sin.c\n"
                                 "cfn=(2) sin\n"
                                 "calls=1 50\n"
                                 "* 5000\n"
                                 "-1 7\n"
                                 "cfn=(4) waits\n"
                                 "calls=0 60\n"
                                 "21 70000\n"
                                 "fi=(3) main.h\n"
                                 "4 40\n"
                                 "\n"
                                 "ob=(2)\n"
                                 "fl=(2)\n"
                                 "fn=(2)\n"
                                 "51 5000\n"
                                 "\n"
                                 "ob=(1)\n"
                                 "fl=(1)\n"
                                 "fn=(1)\n"
                                 "20 50\n"
                                 "fn=(3) never\n"
                                 "3\n"
                                 "totals: 5500\n";

PD_TEST(callgrind_file, functions_have_their_own_costs) {
  cr_assert_eq(parse(compressed), PD_OK, "%s", why);
  cr_assert_str_eq(profile.tool, "callgrind-3.19.0");
  cr_assert_eq(profile.total, 5500);
  cr_assert_eq(profile.function_count, 2, "what took nothing is left out");
  check_function(0, "sin", "libm.so.6", 5000);
  check_function(1, "main", "pdhost", 500);
}

PD_TEST(callgrind_file, the_same_name_in_two_objects_is_two_functions) {
  cr_assert_eq(parse("events: Ir\nob=/a/one.so\nfn=step\n1 5\nob=/b/two.so\nfn=step\n1 6\ntotals: 11\n"), PD_OK);
  cr_assert_eq(profile.function_count, 2);
  check_function(0, "step", "two.so", 6);
  check_function(1, "step", "one.so", 5);
}

/* Other positions and other events, as options of Callgrind's make them; zeros at a line's end may be missing. */
PD_TEST(callgrind_file, instructions_are_found_among_other_events) {
  cr_assert_eq(
      parse("positions: instr line\nevents: Dr Ir Dw\nfn=f\n0x4010 1 7 20 3\n+4 * 8\n+4 +1 0 2\ntotals: 15 22 3\n"),
      PD_OK, "%s", why);
  cr_assert_eq(profile.total, 22);
  cr_assert_str_eq(profile.tool, "");
  check_function(0, "f", "", 22);
}

PD_TEST(callgrind_file, the_baseline_is_taken_off_and_the_order_kept) {
  callgrind_profile baseline;
  const char *empty = "events: Ir\nob=a\nfn=loop\n1 90\nfn=gone\n1 9\nfn=other\n1 1\ntotals: 100\n";
  cr_assert_eq(callgrind_profile_parse(empty, strlen(empty), "out.1", &baseline, why, sizeof why), PD_OK);
  cr_assert_eq(
      parse("events: Ir\nob=a\nfn=loop\n1 100\nfn=step\n1 50\nfn=gone\n1 8\nob=b\nfn=other\n1 2\ntotals: 160\n"),
      PD_OK);
  callgrind_profile_take_off(&profile, &baseline);
  cr_assert_eq(profile.function_count, 3);
  check_function(0, "step", "a", 50);
  check_function(1, "loop", "a", 10);
  check_function(2, "other", "b", 2);
  callgrind_profile_clear(&baseline);
}

PD_TEST(callgrind_file, a_file_cut_anywhere_is_refused) {
  for (size_t bytes = 0; bytes < strlen(compressed) - sizeof "totals: 5500"; bytes++) {
    callgrind_profile_clear(&profile);
    cr_assert_eq(callgrind_profile_parse(compressed, bytes, "out.1", &profile, why, sizeof why), PD_INVALID, "%zu",
                 bytes);
    cr_assert(profile.function_count == 0 && !profile.tool);
  }
}

PD_TEST(callgrind_file, damage_is_told_with_its_line) {
  static const struct {
    const char *text, *why;
  } cases[] = {
      {"", "out.1:0: ends without a line \"totals:\": it was cut short; is the disk full?"},
      {"events: Ir\nfn=(7)\n", "out.1:2: (7) was given no name before"},
      {"events: Ir\nfn=(99999999) f\n", "out.1:2: \"(99999999) f\" is not the number of a name"},
      {"events: Ir\nfn=(7 f\n", "out.1:2: \"(7 f\" is not the number of a name"},
      {"events: Ir\n16 400\n", "out.1:2: costs of no function"},
      {"events: Dr\nfn=f\n16 400\n", "out.1:3: costs before a line \"events:\" that has Ir"},
      {"events: Ir\nfn=f\n16 4x\n", "out.1:3: \"4x\" is not a count"},
      {"events: Ir\nfn=f\n16 -4\n", "out.1:3: \"-4\" is not a count"},
      {"events: Ir\nfn=f\n16 99999999999999999999\n", "out.1:3: \"99999999999999999999\" is not a count"},
      {"events: Ir\nfn=f\n1 4611686018427387904\n2 1\n", "out.1:4: more instructions than can be counted"},
      {"positions: instr line\nevents: Ir\nfn=f\n0x40 x\n", "out.1:4: \"x\" is not a position"},
      {"events: Ir\ngarbage\n", "out.1:2: \"garbage\" is not a line of Callgrind"},
      {"events: Ir\ntotals: many\n", "out.1:2: \"many\" is not a count"},
  };
  for (size_t i = 0; i < sizeof cases / sizeof cases[0]; i++) {
    cr_assert_eq(parse(cases[i].text), PD_INVALID, "%s", cases[i].text);
    cr_assert_str_eq(why, cases[i].why);
    cr_assert(profile.function_count == 0 && !profile.tool);
  }
  cr_assert_eq(callgrind_profile_parse("a:\0b", 4, "out.1", &profile, why, sizeof why), PD_INVALID);
  cr_assert_str_eq(why, "out.1:1: has a byte of zero");
  cr_assert_eq(callgrind_profile_read("/no/such/file", &profile, why, sizeof why), PD_IO);
  cr_assert_str_eq(why, "/no/such/file: No such file or directory");
}

/* ---- figures ---- */

static pd_instructions of(uint64_t steps, uint64_t baseline, const uint64_t *counts, uint64_t repeats) {
  pd_instructions self = {.steps = steps, .baseline = baseline};
  for (uint64_t i = 0; i < repeats; i++) cr_assert_eq(instructions_add_count(&self, counts[i]), PD_OK);
  return self;
}

PD_TEST(instructions, of_a_step_are_without_the_baseline) {
  const uint64_t counts[] = {1100, 1300, 1100, 1050};
  instruction_figures step;
  pd_instructions self = of(10, 100, counts, 3);
  instructions_figures(&self, &step);
  cr_assert_eq(instructions_median(&self), 2, "of equal ones any, but none twice");
  cr_assert(step.median == 100 && step.min == 100 && step.max == 120);
  instructions_clear(&self);
  self = of(10, 100, counts, 4);
  cr_assert_eq(self.counts[instructions_median(&self)], 1100, "the lower of the middle two");
  instructions_clear(&self);
  self = of(10, 1100, counts, 4);
  instructions_figures(&self, &step);
  cr_assert(step.median == 0 && step.min == 0 && step.max == 20, "none below zero");
  instructions_clear(&self);
  instructions_figures(&self, &step);
  cr_assert(step.median == 0 && step.max == 0, "nobody counted");
}

PD_TEST(instructions, names_that_nobody_reads_are_cut) {
  char text[256], name[101], expected[128];
  cr_assert_str_eq(instructions_function("run_mul", "cpu.so", text, sizeof text), "run_mul [cpu.so]");
  cr_assert_str_eq(instructions_function("main", "", text, sizeof text), "main");
  memset(name, 'x', 100);
  name[100] = 0;
  snprintf(expected, sizeof expected, "%.80s... [a.so]", name);
  cr_assert_str_eq(instructions_function(name, "a.so", text, sizeof text), expected);
}

PD_TEST(instructions, are_shown_with_commas) {
  char text[32];
  cr_assert_str_eq(instructions_text(0, text), "0");
  cr_assert_str_eq(instructions_text(999, text), "999");
  cr_assert_str_eq(instructions_text(1000, text), "1,000");
  cr_assert_str_eq(instructions_text(5081178.9, text), "5,081,179");
  cr_assert_str_eq(instructions_text(-1234.4, text), "-1,234");
  cr_assert_str_eq(instructions_text(-0.4, text), "0");
}
