#include "host_rig.h"

#include <sys/stat.h>

#define BASE "[run]\nscenario = probe\ndevice = null\nsinks = probe\n[scenario]\ntoken = t\n"
/* Lines of BASE. */
#define AT(line) "a.ini:" #line

static void with_file(const char *text) {
  rig_folder();
  rig_write("a.ini", text);
}

typedef struct probe_options {
  bool flag;
  int64_t count, period, room, wait;
  double ratio, stall;
  const char *label, *level, *file, *token;
} probe_options;

PD_TEST(config, defaults_of_every_section) {
  with_file(BASE);
  config *c = rig_load_well(NULL);
  cr_assert_str_eq(c->run.mode, "train");
  cr_assert_eq(c->run.warmup_steps, 10);
  cr_assert_eq(c->run.max_steps, 0);
  cr_assert_eq(c->run.seed, 0);
  cr_assert(c->run.sync_timing);
  cr_assert_not(c->run.require_cupti);
  cr_assert_eq(c->plan.skip_first, 0);
  cr_assert_eq(c->plan.wait, 1);
  cr_assert_eq(c->plan.warmup, 1);
  cr_assert_eq(c->plan.active, 8);
  cr_assert_eq(c->plan.repeat, 1);
  cr_assert_eq(c->data.image_size, 224);
  cr_assert_eq(c->data.dataset_size, 100000);
  cr_assert_eq(c->data.num_workers, 2);
  cr_assert_eq(c->data.prefetch_factor, 2);
  cr_assert_eq(c->data.cpu_work, 200);
  cr_assert_eq(c->data.resident, DATA_RESIDENT_NONE);
  cr_assert_eq(c->data.resident_batches, 4);
  cr_assert(c->data.drop_last && !c->data.pin_memory && !c->data.persistent_workers);
  cr_assert_float_eq(c->train.lr, 1e-3, 1e-18);
  cr_assert(c->train.tf32 && c->train.fused && c->train.scaler_sync);
  cr_assert_not(c->train.amp || c->train.channels_last || c->train.cuda_graph);
  cr_assert(c->profile.record_shapes && c->profile.profile_memory);
  cr_assert_not(c->profile.with_stack || c->profile.with_flops || !c->profile.with_modules || c->profile.timer_only);
  cr_assert_eq(c->profile.step_info_every, 10);
  cr_assert_eq(c->profile.max_memory_bytes, 1 << 30);
  cr_assert_str_eq(c->command_line, "pdhost test");
  config_free(c);
}

PD_TEST(config, later_layers_win_key_by_key) {
  with_file(BASE "[data]\nimage_size = 100\nnum_workers = 3\ncpu_work = 7\n");
  rig_write("b.ini", "[data]\nnum_workers = 4\ncpu_work = 8\n");
  config *c = rig_load_well(RIG_SETTINGS("data.cpu_work=9", "data.cpu_work=10"));
  cr_assert_eq(c->data.batch_size, 8); /* preset of the scenario */
  cr_assert_eq(c->data.io_sleep_ns, 3000000);
  cr_assert_eq(c->data.image_size, 100);
  cr_assert_eq(c->data.num_workers, 4);
  cr_assert_eq(c->data.cpu_work, 10);
  cr_assert_str_eq(rig_setting(c, "data", "dataset_size")->origin, "default");
  cr_assert_str_eq(rig_setting(c, "data", "batch_size")->origin, "preset of probe");
  cr_assert_str_eq(rig_setting(c, "data", "image_size")->origin, "a.ini:8");
  cr_assert_str_eq(rig_setting(c, "data", "num_workers")->origin, "b.ini:2");
  cr_assert_str_eq(rig_setting(c, "data", "cpu_work")->origin, "command line");
  config_free(c);
}

PD_TEST(config, the_user_overrides_a_preset) {
  with_file(BASE "[data]\nbatch_size = 64\n");
  config *c = rig_load_well(NULL);
  cr_assert_eq(c->data.batch_size, 64);
  cr_assert_eq(rig_setting(c, "data", "batch_size")->is_default, 1);
  cr_assert_eq(rig_setting(c, "data", "io_sleep_ms")->is_default, 0);
  config_free(c);
}

PD_TEST(config, structs_are_complete) {
  with_file(BASE "[data]\nimage_size = 32\nresident = device\n[profile]\nwith_flops = true\nwith_modules = no\n");
  config *c = rig_load_well(RIG_SETTINGS("run.seed=42"));
  cr_assert_eq(c->data.seed, 42);
  cr_assert_eq(c->train.seed, 42);
  cr_assert_eq(c->train.batch_size, 8);
  cr_assert_eq(c->train.image_size, 32);
  cr_assert(c->train.with_flops && !c->train.with_modules);
  cr_assert_eq(c->data.resident, DATA_RESIDENT_DEVICE);
  config_free(c);
}

PD_TEST(config, the_plugins_options_are_filled) {
  with_file(
      BASE
      "flag = on\ncount = 1_6\nperiod = 2s\nroom = 2MiB\nwait = 5us\nratio = 0.25\nstall = 1s\nlabel = a b ; note\n"
      "level = high\n[sink.probe]\nrows = 3\n[device]\nlanes = 2\nmood = busy\n");
  config *c = rig_load_well(NULL);
  const probe_options *o = c->scenario.options;
  cr_assert(o->flag);
  cr_assert_eq(o->count, 16);
  cr_assert_eq(o->period, 2000);
  cr_assert_eq(o->room, 2 << 20);
  cr_assert_eq(o->wait, 5000);
  cr_assert_float_eq(o->ratio, 0.25, 0);
  cr_assert_float_eq(o->stall, 1000, 0);
  cr_assert_str_eq(o->label, "a b");
  cr_assert_str_eq(o->level, "high");
  cr_assert_str_eq(o->file, "out/probe.txt");
  cr_assert_str_eq(o->token, "t");
  cr_assert_str_eq(c->scenario.plugin->table->name, "probe");
  cr_assert_eq(c->sink_count, 1);
  cr_assert_eq(*(const int64_t *)c->sinks[0].options, 3);
  cr_assert_eq(*(const int64_t *)c->device.options, 2);
  cr_assert_str_eq(c->device.plugin->table->name, "null");
  cr_assert_not(c->device_auto);
  config_free(c);
}

PD_TEST(config, trace_dir_names_the_scenario) {
  with_file(BASE);
  config *c = rig_load_well(NULL);
  cr_assert_str_eq(c->run.trace_dir, "results/probe/<time>-<pid>");
  cr_assert_str_eq(rig_setting(c, "run", "trace_dir")->value, "results/probe/<time>-<pid>");
  cr_assert_eq(rig_setting(c, "run", "trace_dir")->is_default, 1);
  config_free(c);
  c = rig_load_well(RIG_SETTINGS("run.trace_dir=/x/<scenario>/<scenario>"));
  cr_assert_str_eq(c->run.trace_dir, "/x/probe/probe");
  config_free(c);
}

PD_TEST(config, several_sinks_and_a_path) {
  with_file(BASE);
  config *c = rig_load_well(
      RIG_SETTINGS("run.sinks= other , " FIXTURES "/sink/probe.so", "sink.other.rows=5", "sink.probe.rows=6"));
  cr_assert_eq(c->sink_count, 2);
  cr_assert_str_eq(c->sinks[0].plugin->table->name, "other");
  cr_assert_str_eq(c->sinks[1].plugin->table->name, "probe");
  cr_assert_eq(*(const int64_t *)c->sinks[0].options, 5);
  cr_assert_eq(*(const int64_t *)c->sinks[1].options, 6);
  config_free(c);
}

PD_TEST(config, no_sinks_at_all) {
  with_file(BASE);
  config *c = rig_load_well(RIG_SETTINGS("run.sinks="));
  cr_assert_eq(c->sink_count, 0);
  config_free(c);
}

PD_TEST(config, aliases_of_the_schedule) {
  with_file(BASE "[schedule]\nclosed = 2\nready = 3\nrecord = 4\n");
  config *c = rig_load_well(NULL);
  cr_assert_eq(c->plan.wait, 2);
  cr_assert_eq(c->plan.warmup, 3);
  cr_assert_eq(c->plan.active, 4);
  cr_assert_str_eq(rig_setting(c, "schedule", "active")->value, "4");
  config_free(c);
  c = rig_load_well(RIG_SETTINGS("schedule.profile_steps=all"));
  cr_assert_eq(c->plan.active, SCHEDULE_FOREVER);
  cr_assert_eq(c->schedule.active, SCHEDULE_ACTIVE_ALL);
  config_free(c);
}

PD_TEST(config, a_range_replaces_the_cycles) {
  with_file(BASE);
  config *c = rig_load_well(RIG_SETTINGS("schedule.range=5,9"));
  const schedule expected = schedule_from_range(5, 9);
  cr_assert_eq(c->plan.active, 4);
  cr_assert_eq(c->plan.skip_first, expected.skip_first);
  cr_assert_eq(c->plan.wait, expected.wait);
  config_free(c);
  c = rig_load_well(RIG_SETTINGS("schedule.range=2:10"));
  cr_assert_eq(c->plan.active, 8);
  cr_assert_eq(c->plan.wait, 1);
  cr_assert_eq(c->plan.warmup, 1);
  config_free(c);
  RIG_FAILS(RIG_SETTINGS("schedule.range=2:3:4"), CODE_CONFIG,
            "command line: [schedule] range = 2:3:4: write START,END with START below END, for example 5,9 for "
            "steps 5 to 8\n");
  RIG_FAILS(RIG_SETTINGS("schedule.range=9,5"), CODE_CONFIG,
            "command line: [schedule] range = 9,5: write START,END with START below END, for example 5,9 for steps "
            "5 to 8\n");
  RIG_FAILS(RIG_SETTINGS("schedule.range=5,9", "schedule.active=3"), CODE_CONFIG,
            "command line: [schedule] range = 5,9: replaces active, which command line sets too\n");
}

/* ---- mistakes ---- */

PD_TEST(config, mistakes_of_a_file_are_shown_together_with_their_lines) {
  with_file(BASE "[data]\nbatch_size = 64k\nnum_worker = 3\nimage_size = 5000\nlr = 1\n[sink.table]\nrow_limit = 1\n");
  RIG_FAILS(NULL, CODE_CONFIG,
            "a.ini:8: [data] batch_size = 64k: \"k\" is no unit of a count; write 64 or 64000\n"
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
  RIG_FAILS(NULL, CODE_CONFIG, "a.ini:2: a NUL byte; this is no text file\n");
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

/* ---- device = auto ---- */

PD_TEST(config, auto_loads_a_device_when_asked) {
  with_file(BASE "[device]\nlanes = 4\n");
  config *c = rig_load_well(RIG_SETTINGS("run.device=auto"));
  cr_assert(c->device_auto);
  cr_assert_null(c->device.plugin);
  cr_assert_eq(config_load_device(c, "cuda", &rig_error), PD_OK);
  cr_assert_str_eq(c->device.plugin->table->name, "cuda");
  cr_assert_eq(*(const int64_t *)c->device.options, 4);
  cr_assert_eq(config_load_device(c, "cpu", &rig_error), PD_OK);
  cr_assert_str_eq(c->device.plugin->table->name, "cpu");
  cr_assert_eq(*(const int64_t *)c->device.options, 4);
  cr_assert_str_eq(rig_setting(c, "device", "lanes")->origin, "a.ini:8");
  cr_assert_eq(config_load_device(c, "nosuch", &rig_error), PD_INVALID);
  cr_assert_eq(rig_error.exit_code, CODE_PLUGIN);
  cr_assert_str_eq(c->device.plugin->table->name, "cpu");
  config_free(c);
}

PD_TEST(config, keys_of_the_device_are_checked_under_auto_too) {
  with_file(BASE "[device]\nlane = 4\nlanes = 9\n");
  RIG_FAILS(RIG_SETTINGS("run.device=auto"), CODE_CONFIG,
            "a.ini:8: [device] lane: no such key of device cpu; did you mean lanes?\n"
            "a.ini:9: [device] lanes = 9: out of range; allowed: 1 .. 8\n");
}

/* ---- printing ---- */

PD_TEST(config, what_is_printed_loads_again_as_the_same) {
  with_file(BASE "label = a = b\n[schedule]\nprofile_steps = 3\n");
  config *c = rig_load_well(RIG_SETTINGS("data.cpu_work=1_000"));
  fflush(stdout);
  const int kept = dup(STDOUT_FILENO);
  cr_assert_not_null(freopen("b.ini", "w", stdout));
  config_print(c);
  fflush(stdout);
  dup2(kept, STDOUT_FILENO);
  rig_write("a.ini", "");
  config *again = rig_load_well(NULL);
  cr_assert_eq(again->setting_count, c->setting_count);
  for (uint64_t i = 0; i < c->setting_count; i++) {
    cr_assert_str_eq(again->settings[i].key, c->settings[i].key);
    cr_assert_str_eq(again->settings[i].value, c->settings[i].value);
    /* A path whose <scenario> was replaced is no longer the row's default by its text. */
    if (!strstr(c->settings[i].value, "probe"))
      cr_assert_eq(again->settings[i].is_default, c->settings[i].is_default, "%s", c->settings[i].key);
  }
  config_free(again);
  config_free(c);
}
