#include "cli_rig.h"

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
