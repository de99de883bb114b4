/* Mistakes in files and on the command line: each is told with its place. */
#include "config_rig.h"

/* ---- mistakes ---- */

PD_TEST(config, mistakes_of_a_file_are_shown_together_with_their_lines) {
  with_file(BASE "[data]\nbatch_size = 64k\nnum_worker = 3\nimage_size = 5000\nlr = 1\n[sink.table]\nrow_limit = 1\n");
  RIG_FAILS(NULL, CODE_CONFIG,
            "a.ini:8: [data] batch_size = 64k: \"k\" is not a unit of a count; write 64 or 64000\n"
            "a.ini:9: [data] num_worker: no such key; did you mean num_workers?\n"
            "a.ini:10: [data] image_size = 5000: out of range; allowed: 1 .. 4096 pixels\n"
            "a.ini:11: [data] lr: no such key; it is a key of [train]\n"
            "a.ini:13: [sink.table] row_limit: sink table is not in use; add it to [run] sinks or leave the key out\n");
}

PD_TEST(config, an_unknown_section_is_said_once_even_when_empty) {
  with_file(BASE "[dta]\nx = 1\ny = 2\n[nonsense]\n");
  RIG_FAILS(NULL, CODE_CONFIG,
            "a.ini:7: [dta]: no such section; did you mean [data]?\n"
            "a.ini:10: [nonsense]: no such section; there are run, schedule, data, train, profile, benchmark, truth, "
            "scenario, device and sink.NAME\n");
  with_file(BASE "[probe]\nrows = 1\n");
  RIG_FAILS(NULL, CODE_CONFIG, "a.ini:7: [probe]: no such section; did you mean [sink.probe]?\n");
}

PD_TEST(config, a_duplicate_names_both_lines) {
  with_file(BASE "[data]\ncpu_work = 1\nnum_workers = 2\ncpu_work = 1\n[schedule]\nactive = 3\nprofile_steps = 3\n");
  RIG_FAILS(NULL, CODE_CONFIG,
            "a.ini:10: [data] cpu_work: set twice in this file, first in line 8\n"
            "a.ini:13: [schedule] profile_steps: set twice in this file, first as active in line 12\n");
}

PD_TEST(config, a_section_may_come_twice) {
  with_file(BASE "[data]\ncpu_work = 1\n[train]\namp = true\n[data]\nnum_workers = 5\n");
  config *c = rig_load_well(NULL);
  cr_assert_eq(c->data.cpu_work, 1);
  cr_assert_eq(c->data.num_workers, 5);
  config_free(c);
}

PD_TEST(config, lines_that_inih_would_misread) {
  char text[1024] = BASE "[data]\n";
  const size_t head = strlen(text);
  memset(text + head, 'x', 191);
  strcpy(text + head + 191,
         "\n  indented = 1\nnonsense\nkey: 1\n[broken\n[data] junk\n\t; an indented comment\ncpu_work = q\n");
  with_file(text);
  RIG_FAILS(NULL, CODE_CONFIG,
            "a.ini:8: line of 191 bytes; at most 190 are read: shorten it, or give the key by -o section.key=value\n"
            "a.ini:9: the line is indented; a key begins at the margin and its value is on one line\n"
            "a.ini:10: nonsense: expected '[section]' or 'key = value'\n"
            "a.ini:11: key: 1: expected '[section]' or 'key = value'\n"
            "a.ini:12: [broken: missing ']'\n"
            "a.ini:13: junk: text after the section\n");
}

PD_TEST(config, a_line_of_190_bytes_is_read) {
  char text[1024] = BASE "label = ";
  const size_t head = strlen(BASE);
  memset(text + head + 8, 'y', 182);
  strcpy(text + head + 190, "\ncount = 7");
  with_file(text);
  config *c = rig_load_well(NULL);
  const probe_options *o = c->scenario.options;
  cr_assert_eq(strlen(o->label), 182);
  cr_assert_eq(o->count, 7);
  config_free(c);
}

PD_TEST(config, a_nul_byte_is_no_text) {
  static const char text[] = "[run]\nsce\0nario = probe\n";
  rig_folder();
  rig_write_bytes("a.ini", text, sizeof text - 1);
  RIG_FAILS(NULL, CODE_CONFIG, "a.ini:2: a NUL byte; this is not a text file\n");
}

PD_TEST(config, byte_order_mark_crlf_and_comments) {
  with_file("\xEF\xBB\xBF; head\r\n# too\r\n[run]\r\nscenario = probe ; inline\r\ndevice = null\r\nsinks = probe\r\n"
            "[scenario]\r\ntoken = t;not a comment\r\n");
  config *c = rig_load_well(NULL);
  cr_assert_str_eq(((const probe_options *)c->scenario.options)->token, "t;not a comment");
  config_free(c);
}

PD_TEST(config, a_second_byte_order_mark_is_refused) {
  with_file("\xEF\xBB\xBF\xEF\xBB\xBF=\n");
  RIG_FAILS(NULL, CODE_CONFIG, "a.ini:1: a byte order mark inside the file\n");
}

PD_TEST(config, a_key_before_any_section) {
  with_file("top = 1\n" BASE);
  RIG_FAILS(NULL, CODE_CONFIG, "a.ini:1: top: a key comes before the first [section]\n");
}

PD_TEST(config, files_that_cannot_be_read) {
  rig_folder();
  const char *const files[] = {"missing.ini", "/tmp"};
  const config_input input = {.files = files, .file_count = 2};
  config *c = NULL;
  error_clear(&rig_error);
  cr_assert_neq(config_load(&input, &c, &rig_error), PD_OK);
  cr_assert_str_eq(rig_error.text, "missing.ini: cannot be read: No such file or directory\n"
                                   "/tmp: is a folder; -c takes a file\n");
  cr_assert_eq(rig_error.exit_code, CODE_CONFIG);
}

PD_TEST(config, a_scenario_must_be_named) {
  with_file("[run]\ndevice = null\n");
  RIG_FAILS(NULL, CODE_CONFIG,
            "[run] scenario: must be given, and a.ini does not set it; add --scenario NAME, or give this file after "
            "one that names a scenario\n");
  with_file("[Run]\nscenario = probe\n[data]\ncpu_work = 1\n");
  RIG_FAILS(NULL, CODE_CONFIG, "a.ini:1: [Run]: no such section; did you mean [run]?\n");
  with_file("scenario = probe\n");
  RIG_FAILS(NULL, CODE_CONFIG, "a.ini:1: scenario: a key comes before the first [section]\n");
  with_file("[run]\nscenario =\ndevice = null\n");
  RIG_FAILS(NULL, CODE_CONFIG, "a.ini:2: [run] scenario: is empty; name one; see pdhost --list\n");
}

PD_TEST(config, a_required_key_must_be_given) {
  with_file("[run]\nscenario = probe\ndevice = null\nsinks = probe\n");
  RIG_FAILS(NULL, CODE_CONFIG, "[scenario] token: must be given: must be given\n");
}

PD_TEST(config, keys_are_checked_beside_a_plugin_that_does_not_load) {
  with_file(BASE "[data]\nbatch_size = x\n[scenario]\nbogus = 1\n");
  RIG_FAILS(RIG_SETTINGS("run.scenario=prob"), CODE_PLUGIN,
            "a.ini:8: [data] batch_size = x: not a number; allowed: 1 .. 65536 samples\n"
            "command line: scenario \"prob\": not found; did you mean probe? looked in: " FIXTURES
            "/scenario, " TEST_LIB "/scenario\n");
}

/* Each is named in another line of the file. */
PD_TEST(config, a_plugin_that_does_not_load_is_told_with_its_line) {
  with_file("[run]\nscenario = prob\ndevice = null\n");
  RIG_FAILS(NULL, CODE_PLUGIN,
            "a.ini:2: scenario \"prob\": not found; did you mean probe? looked in: " FIXTURES "/scenario, " TEST_LIB
            "/scenario\n");
  with_file("[run]\nscenario = probe\ndevice = nul\n");
  RIG_FAILS(NULL, CODE_PLUGIN,
            "a.ini:3: device \"nul\": not found; did you mean null? looked in: " FIXTURES "/device, " TEST_LIB
            "/device\n");
  with_file(BASE);
  RIG_FAILS(RIG_SETTINGS("run.sinks=probe,othr"), CODE_PLUGIN,
            "command line: sink \"othr\": not found; did you mean other? looked in: " FIXTURES "/sink, " TEST_LIB
            "/sink\n");
  rig_write("a.ini", "[run]\nscenario = probe\ndevice = null\nsinks = othr\n");
  rig_write("b.ini", "[run]\n\nsinks = prob\n");
  RIG_FAILS(NULL, CODE_PLUGIN,
            "b.ini:3: sink \"prob\": not found; did you mean probe? looked in: " FIXTURES "/sink, " TEST_LIB "/sink\n");
}

PD_TEST(config, a_cuda_that_does_not_load_is_told_with_its_line) {
  with_file("[run]\nscenario = " FIXTURES "/scenario/probe.so\ndevice = cuda\nsinks =\n[scenario]\ntoken = t\n");
  cr_assert_eq(mkdir("device", 0700), 0);
  rig_write("device/cuda.so", "no shared object\n");
  setenv("PDHOST_PLUGIN_PATH", ".", 1);
  cr_assert_null(rig_load(NULL));
  cr_assert_eq(rig_error.exit_code, CODE_DEVICE);
  cr_assert_eq(strncmp(rig_error.text, "a.ini:3: ./device/cuda.so: ", 26), 0, "%s", rig_error.text);
  cr_assert_not_null(strstr(rig_error.text, "; run on the CPU with --device cpu\n"), "%s", rig_error.text);
}

/* A machine without CUDA shows all mistakes first; what keys the device has cannot be known there. */
PD_TEST(config, mistakes_come_before_a_cuda_that_does_not_load) {
  with_file("[run]\ndevice = cuda\nscenario = " FIXTURES "/scenario/probe.so\nsinks = " FIXTURES
            "/sink/probe.so\n[data]\nbatch_size = x\n[scenario]\ntoken = t\nbogus = 1\n[device]\nlanes = 99\n"
            "[sink.probe]\nrow = 1\n");
  cr_assert_eq(mkdir("device", 0700), 0);
  rig_write("device/cuda.so", "no shared object\n");
  setenv("PDHOST_PLUGIN_PATH", ".", 1);
  RIG_FAILS(NULL, CODE_CONFIG,
            "a.ini:6: [data] batch_size = x: not a number; allowed: 1 .. 65536 samples\n"
            "a.ini:9: [scenario] bogus: no such key of scenario probe; see pdhost --help-scenario probe\n"
            "a.ini:13: [sink.probe] row: no such key of sink probe; did you mean rows?\n");
  rig_write("a.ini",
            "[run]\ndevice = cuda\nscenario = " FIXTURES "/scenario/probe.so\nsinks =\n[scenario]\ntoken = t\n");
  cr_assert_null(rig_load(NULL));
  cr_assert_eq(rig_error.exit_code, CODE_DEVICE);
  cr_assert_eq(strncmp(rig_error.text, "a.ini:2: ./device/cuda.so: ", 27), 0, "%s", rig_error.text);
}

PD_TEST(config, keys_of_the_scenario_are_checked) {
  with_file(BASE "cont = 1\nlevel = hihg\n");
  RIG_FAILS(RIG_SETTINGS("scenario.ratio=2", "scenario.zzz=1"), CODE_CONFIG,
            "a.ini:7: [scenario] cont: no such key of scenario probe; did you mean count?\n"
            "a.ini:8: [scenario] level = hihg: no such choice; allowed: low, medium, high; did you mean high?\n"
            "command line: [scenario] ratio = 2: out of range; allowed: 0 .. 1\n"
            "command line: [scenario] zzz: no such key of scenario probe; see pdhost --help-scenario probe\n");
}

PD_TEST(config, standard_output_is_for_one_sink) {
  with_file("[run]\nscenario = probe\ndevice = null\nsinks = probe, other\n[scenario]\ntoken = t\n[sink.other]\n"
            "path = -\n");
  config_free(rig_load_well(NULL));
  RIG_FAILS(
      RIG_SETTINGS("sink.probe.path=-"), CODE_CONFIG,
      "a.ini:8: [sink.other] path = -: standard output goes to [sink.probe] path already (command line); give one "
      "of the two a file\n");
  config_free(rig_load_well(RIG_SETTINGS("sink.probe.path=-", "sink.other.path=./-")));
}

PD_TEST(config, a_file_is_for_one_sink) {
  with_file("[run]\nscenario = probe\ndevice = null\nsinks = probe, other\n[scenario]\ntoken = t\n[sink.other]\n"
            "path = out/probe.txt\n");
  RIG_FAILS(
      RIG_SETTINGS("sink.probe.path=./out/<scenario>.txt"), CODE_CONFIG,
      "a.ini:8: [sink.other] path = out/probe.txt: that file is of [sink.probe] path already (command line); give "
      "one of the two another\n");
  config_free(rig_load_well(RIG_SETTINGS("sink.probe.path=out/other.txt")));
  config_free(rig_load_well(RIG_SETTINGS("sink.probe.path=/dev/null", "sink.other.path=/dev/null")));
}

PD_TEST(config, sinks_twice_or_without_a_name) {
  with_file(BASE);
  RIG_FAILS(RIG_SETTINGS("run.sinks=probe,probe"), CODE_CONFIG,
            "command line: [run] sinks = probe,probe: probe is there twice\n");
  RIG_FAILS(RIG_SETTINGS("run.sinks=probe,,other"), CODE_CONFIG,
            "command line: [run] sinks = probe,,other: an empty name\n");
}

PD_TEST(config, more_mistakes_than_are_shown_are_counted) {
  char text[4096] = BASE "[data]\n";
  for (int i = 0; i < 25; i++) snprintf(text + strlen(text), 32, "bogus_%d = 1\n", i);
  with_file(text);
  cr_assert_null(rig_load(NULL));
  cr_assert_eq(rig_error.count, 25);
}

PD_TEST(config, no_batch_at_all_is_a_mistake) {
  with_file(BASE);
  RIG_FAILS(RIG_SETTINGS("data.dataset_size=7"), CODE_CONFIG,
            "command line: [data] dataset_size = 7: below batch_size = 8, so with drop_last there is no batch\n");
  config *c = rig_load_well(RIG_SETTINGS("data.dataset_size=7", "data.drop_last=false"));
  config_free(c);
}
