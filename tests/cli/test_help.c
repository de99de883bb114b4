#include "cli/commands.h"
#include "config/core_options.h"
#include "base/wrap.h"
#include "pd_test.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

static char out_text[1 << 16], err_text[1 << 16];

static void read_back(FILE *file, char *text, size_t room) {
  rewind(file);
  text[fread(text, 1, room - 1, file)] = '\0';
  fclose(file);
}

/* Runs the command line; its exit code, with what it printed in out_text and err_text. */
static int run_words(char **words) {
  int count = 0;
  while (words[count]) count++;
  setenv("PDHOST_PLUGIN_PATH", FIXTURES, 1);
  FILE *out = tmpfile(), *err = tmpfile();
  cr_assert(out && err);
  fflush(NULL);
  const int kept[2] = {dup(STDOUT_FILENO), dup(STDERR_FILENO)};
  dup2(fileno(out), STDOUT_FILENO);
  dup2(fileno(err), STDERR_FILENO);
  const int code = commands_main(count, words);
  fflush(stdout);
  dup2(kept[0], STDOUT_FILENO);
  dup2(kept[1], STDERR_FILENO);
  close(kept[0]);
  close(kept[1]);
  read_back(out, out_text, sizeof out_text);
  read_back(err, err_text, sizeof err_text);
  return code;
}
#define RUN(...) run_words((char *[]){"pdhost", __VA_ARGS__, NULL})
#define FAILS(code, line, ...)                                                                                         \
  do {                                                                                                                 \
    cr_assert_eq(RUN(__VA_ARGS__), (code));                                                                            \
    cr_assert(strncmp(err_text, "pdhost: error: " line " [PDH-0", strlen("pdhost: error: " line " [PDH-0")) == 0,      \
              "%s", err_text);                                                                                         \
    cr_assert_str_eq(out_text, "");                                                                                    \
  } while (0)

PD_TEST(help, one_screen) {
  cr_assert_eq(RUN("--help"), 0);
  int lines = 0;
  for (const char *at = out_text; *at; at++) lines += *at == '\n';
  cr_assert_leq(lines, 50);
  cr_assert(strncmp(out_text, "usage: pdhost [COMMAND] [NAME]", 30) == 0);
  cr_assert_str_eq(err_text, "");
}

PD_TEST(help, version) {
  cr_assert_eq(RUN("--version"), 0);
  cr_assert(strncmp(out_text, "pdhost " VERSION "\n", strlen("pdhost " VERSION) + 1) == 0, "%s", out_text);
  static const char *const lines[] = {"\nsources ", "\nplugin ABI 1.0\n", "\nbuilt by "};
  for (size_t i = 0; i < sizeof lines / sizeof lines[0]; i++)
    cr_assert_not_null(strstr(out_text, lines[i]), "%s", out_text);
}

PD_TEST(help, a_key_of_the_core) {
  cr_assert_eq(RUN("--help-section", "data.num_workers"), 0);
  cr_assert_str_eq(out_text, "[data] num_workers\n"
                             "  loader threads; 0 loads in the loop's own thread\n"
                             "  type     int\n"
                             "  default  2\n"
                             "  range    0 .. 256\n"
                             "  example  -o data.num_workers=2\n");
}

PD_TEST(help, another_name_of_a_key) {
  cr_assert_eq(RUN("--help-section", "schedule.profile_steps"), 0);
  cr_assert(strncmp(out_text, "[schedule] active\n", 18) == 0);
  cr_assert_not_null(strstr(out_text, "  range    1 .. 1_000_000_000 or all\n"));
}

/* Whether the words of `wanted` stand there, whatever blanks are between them. */
static bool holds_wrapped(const char *text, const char *wanted) {
  for (; *text; text++) {
    const char *a = text, *b = wanted;
    while (*b && (*a == *b || (*b == ' ' && *a == '\n'))) {
      if (*b++ == ' ')
        a += strspn(a, " \n");
      else
        a++;
    }
    if (!*b) return true;
  }
  return false;
}

static void expect_80_columns(const char *text) {
  for (const char *line = text; *line; line += strcspn(line, "\n") + 1) {
    const size_t bytes = strcspn(line, "\n");
    cr_assert(bytes <= 80 || memmem(line, bytes, FIXTURES, strlen(FIXTURES)), "%.*s", (int)bytes, line);
  }
}

PD_TEST(help, every_page_fits_80_columns_in_a_pipe) {
  cr_assert_eq(RUN("--help"), 0);
  expect_80_columns(out_text);
  cr_assert_eq(RUN("--help-sink", "probe"), 0);
  expect_80_columns(out_text);
  for (uint32_t i = 0; i < CORE_SECTION_COUNT; i++) {
    cr_assert_eq(RUN("--help-section", (char *)core_section_at(i)->name), 0);
    expect_80_columns(out_text);
  }
  cr_assert_eq(RUN("--help-section", "data.num_workers"), 0);
  expect_80_columns(out_text);
}

/* Ten columns each, of twenty bytes: six and their blanks fit behind seven columns. */
PD_TEST(help, characters_are_counted_not_bytes) {
#define TEN "\u00e4\u00e4\u00e4\u00e4\u00e4\u00e4\u00e4\u00e4\u00e4\u00e4"
  FILE *out = tmpfile();
  cr_assert(out);
  fflush(stdout);
  const int kept = dup(STDOUT_FILENO);
  dup2(fileno(out), STDOUT_FILENO);
  int used = wrap_pad("\u00fc", 3);
  used += wrap_pad("abcd", 1);
  wrap_print(TEN " " TEN " " TEN " " TEN " " TEN " " TEN " " TEN, used, used);
  fflush(stdout);
  dup2(kept, STDOUT_FILENO);
  close(kept);
  read_back(out, out_text, sizeof out_text);
  cr_assert_eq(used, 7);
  cr_assert_str_eq(out_text, "\u00fc  abcd" TEN " " TEN " " TEN " " TEN " " TEN " " TEN "\n       " TEN "\n");
}

PD_TEST(help, every_section_lists_every_row) {
  for (uint32_t s = 0; s < CORE_SECTION_COUNT; s++) {
    const core_section *at = core_section_at(s);
    cr_assert_eq(RUN("--help-section", (char *)at->name), 0);
    for (uint32_t i = 0; i < at->count; i++) {
      char line[64];
      snprintf(line, sizeof line, "\n  %-20s ", at->rows[i].key);
      cr_assert_not_null(strstr(out_text, line), "[%s] %s", at->name, at->rows[i].key);
      cr_assert(holds_wrapped(out_text, at->rows[i].help), "%s", at->rows[i].help);
    }
  }
}

PD_TEST(help, a_scenario) {
  cr_assert_eq(RUN("--help-scenario", "probe"), 0);
  cr_assert(strncmp(out_text,
                    "probe 2.5   scenario   an option of every type\nground truth: none\n" FIXTURES
                    "/scenario/probe.so\n"
                    "\nIt presets (and you may override):\n"
                    "  data.batch_size       8\n"
                    "  data.io_sleep_ms      3ms\n"
                    "\nKeys of [scenario]:\n"
                    "  flag                 bool      false         a boolean\n",
                    200) == 0,
            "%s", out_text);
}

PD_TEST(help, a_plugin_of_any_kind_and_its_key) {
  cr_assert_eq(RUN("--help-plugin", "null.mood"), 0);
  cr_assert_str_eq(out_text, "[device] mood\n  what it pretends to be\n  type     choice\n  default  calm\n"
                             "  choices  calm, busy\n  example  -o device.mood=calm\n");
  cr_assert_eq(RUN("--help-plugin", FIXTURES "/sink/probe.so.rows"), 0);
  cr_assert(strncmp(out_text, "[sink.probe] rows\n", 18) == 0);
}

PD_TEST(help, json) {
  cr_assert_eq(RUN("--help-sink", "probe.rows", "--format", "json"), 0);
  cr_assert_str_eq(out_text,
                   "{\"key\": \"rows\", \"type\": \"int\", \"default\": \"25\", \"min\": \"1\", \"max\": null, "
                   "\"unit\": null, \"choices\": null, \"help\": \"rows to show\"}\n");
  cr_assert_eq(RUN("--help-device", "null", "--format", "json"), 0);
  cr_assert_not_null(strstr(out_text, "\"choices\": [\"calm\", \"busy\"]"));
}

PD_TEST(help, mistakes) {
  FAILS(CODE_USAGE, "--help-section dat: no such section; did you mean data?", "--help-section", "dat");
  FAILS(CODE_USAGE, "--help-section sink.table: its keys are a plugin's; see pdhost --help-sink table",
        "--help-section", "sink.table");
  FAILS(CODE_USAGE,
        "--help-section x: no such section; there are run, schedule, data, train, profile, benchmark, truth",
        "--help-section", "x");
  FAILS(CODE_PLUGIN, "plugin \"nothing\": no scenario, sink or device of that name; see pdhost --list", "--help-plugin",
        "nothing");
  FAILS(CODE_USAGE, "[data] batch: no such key; did you mean batch_size?", "--help-section", "data.batch");
  FAILS(CODE_PLUGIN, "plugin \"prob\": no scenario, sink or device of that name; did you mean probe?", "--help-plugin",
        "prob");
  FAILS(CODE_USAGE, "[device] mod: no such key; did you mean mood?", "--help-device", "null.mod");
  FAILS(CODE_USAGE,
        "--list sink: no such list; allowed: scenarios, sinks, devices, readers, communicators, causes, metrics; did "
        "you mean sinks?",
        "--list", "sink");
  FAILS(CODE_USAGE, "nothing to run; try pdhost dataloader, pdhost --list or pdhost --help", NULL);
}

PD_TEST(help, list_shows_each_plugin_and_why_one_is_rejected) {
  char folder[] = "/tmp/pdhost-test-XXXXXX", path[128];
  cr_assert_not_null(mkdtemp(folder));
  snprintf(path, sizeof path, "mkdir %s/sink && echo text > %s/sink/broken.so", folder, folder);
  cr_assert_eq(system(path), 0);
  cr_assert_eq(RUN("--list", "sinks", "--plugin-path", folder), 0);
  cr_assert_not_null(strstr(out_text, "  broken         rejected: cannot be loaded: file too short\n"), "%s", out_text);
  cr_assert_not_null(strstr(out_text, "  probe          1.0     ABI 1.0   writes nothing\n"), "%s", out_text);
  cr_assert_not_null(strstr(out_text, FIXTURES "/sink/probe.so\n"));
}

PD_TEST(help, explain) {
  cr_assert_eq(RUN("--explain", "data_wait"), 0);
  cr_assert(strncmp(out_text, "data_wait   \"Data wait\"\n  wait for the batch\n", 44) == 0, "%s", out_text);
  cr_assert_eq(RUN("explain", "data wait"), 0);
  cr_assert(strncmp(out_text, "data_wait ", 10) == 0);
}

/* The page of a run is that of a name that can be run. */
PD_TEST(help, beside_a_word) {
  FAILS(CODE_USAGE, "unexpected argument 'casual'; did you mean causal?", "casual", "--help");
  FAILS(CODE_USAGE, "unexpected argument 'casual'; did you mean causal?", "run", "-q", "casual", "-h");
  static char *const known[] = {"host_stall", "some.ini", "sweep"};
  for (size_t i = 0; i < sizeof known / sizeof known[0]; i++) {
    cr_assert_eq(RUN("--help", known[i]), 0, "%s", err_text);
    cr_assert(strncmp(out_text, "usage: pdhost [COMMAND] [NAME]", 30) == 0, "%s", out_text);
  }
}

/* One row at least of each kind of topic, and a page for each command. */
PD_TEST(help, topics) {
  static const struct {
    char *topic;
    const char *begins;
  } topics[] = {{"sweep", "usage: pdhost sweep "},           {"data", "[data]   "},
                {"num_workers", "[data] num_workers\n"},     {"data.num_workers", "[data] num_workers\n"},
                {"profile_steps", "[schedule] active\n"},    {"schedule", "schedule\n"},
                {"host_stall", "host_stall 1.0   scenario"}, {"data_wait", "data_wait   \"Data wait\"\n"}};
  for (size_t i = 0; i < sizeof topics / sizeof topics[0]; i++) {
    cr_assert_eq(RUN("help", topics[i].topic), 0, "%s", err_text);
    cr_assert(strncmp(out_text, topics[i].begins, strlen(topics[i].begins)) == 0, "%s: %s", topics[i].topic, out_text);
    expect_80_columns(out_text);
  }
  cr_assert_eq(RUN("help", "section", "schedule"), 0);
  cr_assert(strncmp(out_text, "[schedule]   ", 13) == 0);
  FAILS(CODE_USAGE, "help num_worker: no such topic; did you mean num_workers?", "help", "num_worker");
  uint32_t count;
  commands_use();
  const args_command *const *all = commands_all(&count);
  for (uint32_t i = 0; i < count; i++) {
    char usage[64];
    snprintf(usage, sizeof usage, "usage: pdhost %s ", all[i]->name);
    cr_assert_eq(RUN((char *)all[i]->name, "--help"), 0, "%s", err_text);
    cr_assert(strncmp(out_text, usage, strlen(usage)) == 0, "%s", out_text);
    expect_80_columns(out_text);
    for (uint32_t row = 0; row < all[i]->option_count; row++)
      cr_assert_not_null(strstr(out_text, all[i]->options[row].name), "%s", all[i]->options[row].name);
    cr_assert_eq(RUN("--help"), 0);
    cr_assert_not_null(strstr(out_text, all[i]->summary), "%s", all[i]->name);
  }
}

PD_TEST(help, causes_and_metrics) {
  cr_assert_eq(RUN("--list", "causes"), 0);
  cr_assert_not_null(strstr(out_text, "\n  forced_sync "));
  cr_assert_eq(RUN("list", "metrics"), 0);
  cr_assert_not_null(strstr(out_text, "\n  data_wait "));
  cr_assert_eq(RUN("explain", "forced_sync"), 0);
  cr_assert_eq(RUN("explain", "input-bound"), 0, "%s", err_text);
  cr_assert(strncmp(out_text, "input_bound   ", 14) == 0, "%s", out_text);
}

/* The report names the reason why the fixtures' driverless device fails; a device that works makes a run possible. */
PD_TEST(help, doctor) {
  cr_assert_eq(RUN("doctor"), 0, "%s%s", out_text, err_text);
  cr_assert_not_null(strstr(out_text, "\nwarn  device driverless"), "%s", out_text);
  cr_assert_not_null(strstr(out_text, "no driver"), "%s", out_text);
  cr_assert_not_null(strstr(out_text, "\nok    device null"), "%s", out_text);
  cr_assert_null(strchr(out_text, 27));
  cr_assert_eq(RUN("doctor", "--format", "json"), 0);
  cr_assert_eq(out_text[0], '[');
  cr_assert_not_null(strstr(out_text, "\"result\": \"warn\""));
  FAILS(CODE_USAGE, "doctor: unexpected argument 'x'; see pdhost doctor --help", "doctor", "x");
}

/* Every fault that can be printed can be explained. */
PD_TEST(help, error_codes) {
#define NUMBER(name, number) number,
  static const int all[] = {FAULTS(NUMBER)};
  for (size_t i = 0; i < sizeof all / sizeof all[0]; i++) {
    char code[16], begin[32];
    snprintf(code, sizeof code, "PDH-%04d", all[i]);
    snprintf(begin, sizeof begin, "%s   ", code);
    cr_assert_eq(RUN("explain", code), 0, "%s", err_text);
    cr_assert(strncmp(out_text, begin, strlen(begin)) == 0, "%s", out_text);
    cr_assert(strstr(out_text, "\n  why ") && strstr(out_text, "\n  mend ") && strstr(out_text, "\n  exit "), "%s",
              out_text);
    expect_80_columns(out_text);
  }
  FAILS(CODE_USAGE, "--explain PDH-0399: no such word; did you mean PDH-0309?", "--explain", "PDH-0399");
}

PD_TEST(help, check_and_dry_run) {
  cr_assert_eq(RUN("--scenario", "host_stall", "--device", "null", "--sink", "probe", "--check"), 0);
  cr_assert_str_eq(out_text, "configuration OK\n");
  cr_assert_eq(
      RUN("--scenario", "host_stall", "--device", "null", "--sink", "probe", "--dry-run", "-o", "schedule.repeat=2"),
      0);
  static const char plan[] =
      "scenario   host_stall 1.0 (" FIXTURES "/scenario/host_stall.so)\n"
      "           injects host_compute\n"
      "device     null 1.0 (" FIXTURES "/device/null.so)\n"
      "schedule   wait 1, warm up 1, record 8; 2 times\n"
      "steps      10 to warm up, then 20\n"
      "data       batches of 64 images of 3 x 224 x 224, 4 made once and resident on the device\n"
      "memory     36.8 MiB per batch, 4 batches on the device: 147 MiB;\n"
      "           and up to 1024 MiB of records per window; the model's activations\n"
      "           come on top on the device\n"
      "sink       probe 1.0 (" FIXTURES "/sink/probe.so)\n"
      "traces     results/host_stall/<time>-<pid>\n";
  cr_assert_eq(strncmp(out_text, plan, sizeof plan - 1), 0, "%s", out_text);
  cr_assert_eq(strncmp(out_text + sizeof plan - 1, "time", 4), 0, "%s", out_text);
  FAILS(CODE_CONFIG, "command line: [scenario] stall: no such key of scenario host_stall; did you mean stall_ms?",
        "--scenario", "host_stall", "--device", "null", "--sink", "probe", "--check", "-o", "scenario.stall=8");
}

/* ---- conformance checks ---- */

static void check_sees(const char *file, const char *line) {
  char path[4096];
  snprintf(path, sizeof path, "%s/%s.so", FIXTURES, file);
  cr_assert_eq(RUN("--check-plugin", path), CODE_PLUGIN, "%s passed: %s", file, out_text);
  cr_assert_not_null(strstr(out_text, line), "%s: %s", file, out_text);
}

PD_TEST_WITH(check, sound_plugins_pass, .timeout = 110) {
  cr_assert_eq(RUN("--check-plugin", FIXTURES "/scenario/host_stall.so"), 0, "%s", out_text);
  cr_assert_not_null(strstr(out_text, "scenario host_stall 1.0: 19 checks, 0 failed\n"));
  const char *own = strstr(out_text, "ok   init, three steps, teardown: "); /* it stalls for 5 ms */
  cr_assert(own && strtod(strchr(own, ':') + 1, NULL) >= 5 && strstr(own, " ms a step, without the training\n"), "%s",
            out_text);
  cr_assert_eq(RUN("--check-plugin", FIXTURES "/sink/probe.so"), 0, "%s", out_text);
  cr_assert_null(strstr(out_text, "FAIL"));
  cr_assert_eq(RUN("--check-plugin", FIXTURES "/device/sound.so"), 0, "%s", out_text);
  cr_assert_not_null(strstr(out_text, "device sound 1.0: 18 checks, 0 failed\n"));
}

/* The last check of each kind runs the program itself, for which it needs plugins of pdhost's own. */
PD_TEST_WITH(check, real_runs, .timeout = 110) {
  cr_assert_eq(RUN("--check-plugin", FIXTURES "/scenario/host_stall.so", "--device", FIXTURES "/device/null.so"), 0,
               "%s", out_text);
  cr_assert_not_null(strstr(out_text, "ok   three steps of a real run\n"), "%s", out_text);
  cr_assert_eq(RUN("--check-plugin", FIXTURES "/scenario/bad_litter.so", "--device", FIXTURES "/device/null.so"),
               CODE_PLUGIN);
  cr_assert_not_null(strstr(out_text, "FAIL three steps of a real run: inner/x.partial is left\n"), "%s", out_text);
  RUN("--check-plugin", FIXTURES "/scenario/host_stall.so", "--device", "/no/such.so");
  cr_assert_not_null(strstr(out_text, "skip three steps of a real run: there is no device to run on: /no/such.so: "),
                     "%s", out_text);
  cr_assert_not_null(strstr(out_text, "scenario host_stall 1.0: 19 checks, 0 failed, 1 skipped\n"), "%s", out_text);
  cr_assert_eq(RUN("--check-plugin", FIXTURES "/scenario/fault.so", "--device", FIXTURES "/device/null.so"), 0, "%s",
               out_text);
}

/* The plugin's keys stand in place of its defaults, in each check and in the real run; colours leave the reason whole.
 */
PD_TEST_WITH(check, keys_that_the_user_gives, .timeout = 110) {
#define FAULT "--check-plugin", FIXTURES "/scenario/fault.so", "--device", FIXTURES "/device/null.so"
  static const char *const colors[] = {"--color=never", "--color=always"};
  for (int i = 0; i < 2; i++) {
    cr_assert_eq(RUN(FAULT, "-o", "scenario.fail_step=2", (char *)colors[i]), CODE_PLUGIN);
    cr_assert_not_null(strstr(out_text, "FAIL init, three steps, teardown: step returned 5: asked to fail here\n"),
                       "%s", out_text);
    cr_assert_not_null(
        strstr(out_text,
               "FAIL three steps of a real run: exit code 5: scenario fault: step 2: asked to fail here [PDH-0500]\n"),
        "%s", out_text);
  }
  cr_assert_eq(RUN(FAULT, "-o", "scenario.fail_step=3"), 0, "%s", out_text);
  cr_assert_eq(RUN(FAULT, "-o", "scenario.fail_step=3", "--profile_steps", "4"), CODE_PLUGIN, "the real run is longer");
  cr_assert_not_null(strstr(out_text, "fault: step 3: asked to fail here [PDH-0500]\n"), "%s", out_text);
}

PD_TEST_WITH(check, keys_that_do_not_fit, .timeout = 110) {
  RUN(FAULT, "-o", "scenario.fail_stp=2", "-o", "data.batch_size=0", "--sink", "probe:rows=2");
  cr_assert_str_eq(
      err_text,
      "pdhost: error: command line: [scenario] fail_stp: no such key of scenario fault; did you mean "
      "fail_step? [PDH-0301]\n"
      "pdhost: error: command line: [data] batch_size = 0: out of range; allowed: 1 .. 65536 samples [PDH-0303]\n"
      "pdhost: error: command line: [sink.probe] rows: no section of this check; give keys of [scenario], "
      "[data], [train] or another of the core's but [run] [PDH-0300]\n"
      "pdhost: error: command line: [run] sinks: no section of this check; give keys of [scenario], [data], "
      "[train] or another of the core's but [run] [PDH-0300]\n",
      "%s", err_text);
  cr_assert_eq(RUN(FAULT, "-o", "scenario.fail_stp=2"), CODE_CONFIG);
  FAILS(CODE_USAGE, "--check-plugin: reads no -c; give the plugin's keys by -o", FAULT, "-c", "a.ini");
}

PD_TEST_WITH(check, each_call_fails_in_turn, .timeout = 110) {
#define KIT "FAIL each call of the training kit fails in its turn: step fails with a message, nothing is left: "
#define FILES "FAIL each call of files and tables fails in its turn: a message, no file left open: "
  check_sees("scenario/bad_range", KIT "host call 1 failed: 1 ranges left open\n");
  check_sees("sink/bad_leaves", FILES "host call 2 failed: 1 files neither committed nor discarded\n");
  check_sees("sink/bad_ignores",
             FILES "host call 1 failed: every callback returned PD_OK, and its output is not whole\n");
}

/* Of the process, which is the host's and the other plugins' too. */
PD_TEST_WITH(check, what_is_left_changed_of_the_process, .timeout = 110) {
  char others[] = "/tmp/pdhost_help_XXXXXX.partial"; /* below the folder that the plugin goes to, and not the check's */
  const int file = mkstemps(others, 8);
  check_sees("scenario/bad_folder", "FAIL the current folder is left as it was: the current folder was changed to /\n");
  close(file);
  unlink(others);
  cr_assert_null(strstr(out_text, ".partial is left"), "%s", out_text);
  check_sees("scenario/bad_umask", "FAIL the umask is left as it was: the umask was changed from ");
  check_sees("scenario/bad_load_umask",
             "FAIL the plugin loads; its descriptor, rows and tables are sound: the umask was "
             "changed from ");
  check_sees("scenario/bad_locale", "FAIL the locale is left as it was: the locale was changed from ");
  check_sees(
      "scenario/bad_handler",
      "FAIL signal handlers are left as they were: the handler of signal 10 (User defined signal 1) was changed\n");
}

PD_TEST_WITH(check, threads_that_a_service_is_not_for, .timeout = 110) {
  check_sees("scenario/bad_off_thread", "FAIL init, one step, teardown: pd_train.step was called on a thread of the "
                                        "plugin's own: it is for the loop thread\n");
  check_sees("sink/bad_off_thread", "FAIL a run without a window: pd_files.write was called on another thread than the "
                                    "one that opened the file\n");
}

PD_TEST_WITH(check, steps_and_records, .timeout = 110) {
  check_sees("scenario/bad_second",
             "FAIL init, three steps, teardown: step returned 5 without a message by host->fail\n");
  check_sees("scenario/bad_truth", "FAIL init, one step, teardown: pd_truth.begin was called without end\n");
#define RECORDS "FAIL each operation leaves its call, its device record and its memory events: "
  check_sees("device/bad_untied", RECORDS "the call nullLaunchKernel has 0 device records, not one\n");
  check_sees("device/bad_never", RECORDS "the call nullLaunchKernel has 0 device records, not one\n");
  check_sees("device/bad_twice", RECORDS "the call nullLaunchKernel has 2 device records, not one\n");
}

PD_TEST_WITH(check, each_broken_rule_is_seen, .timeout = 110) {
  check_sees("scenario/bad_prints",
             "FAIL init and teardown, without a step: 6 bytes on standard output, which belongs to the sinks' files\n");
  check_sees("scenario/bad_thread", "FAIL init and teardown, without a step: 1 thread left running\n");
  check_sees("scenario/bad_crash", "FAIL init, one step, teardown: it crashed (signal 6, Aborted)\n");
  check_sees("scenario/bad_silent",
             "FAIL init and teardown, without a step: init returned 1 without a message by host->fail\n");
  check_sees("scenario/bad_ignores", "step returned PD_OK though the training kit had failed\n");
  check_sees("scenario/bad_tensor", "FAIL init, one step, teardown: 1 tensors of the kit's left\n");
  check_sees("scenario/bad_exits", "FAIL init and teardown, without a step: it ended the process\n");
#define CAUSES "FAIL its bottleneck and its cures are causes that the verdict names: "
#define NAMED "\" is not a cause that the verdict knows: input_bound, forced_sync, launch_bound, "
  check_sees("scenario/bad_bottleneck", CAUSES ".bottleneck \"host_bound" NAMED);
  check_sees("scenario/bad_cure", CAUSES ".cures \"sync_bound" NAMED);
  check_sees("sink/bad_ignores", "FAIL a full disk is reported and leaves no file open: a write failed and every "
                                 "callback returned PD_OK\n");
  check_sees("device/null", "FAIL fill, scale, mean and read back: the mean of 1000 times 3 is 0\n");
}

PD_TEST_WITH(check, a_file_that_does_not_load, .timeout = 110) {
  cr_assert_eq(RUN("--check-plugin", "/nowhere.so"), CODE_PLUGIN);
  cr_assert_str_eq(out_text, "FAIL the plugin loads; its descriptor, rows and tables are sound: /nowhere.so: cannot be "
                             "opened: No such file or directory\n");
}
