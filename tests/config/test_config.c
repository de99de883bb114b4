#include "config_rig.h"

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
