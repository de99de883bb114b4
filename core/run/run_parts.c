/* The parts of a run; see run_parts.h. They come up in the order of their dependence and go down in the reverse one. */
#include "run_parts.h"

#include "offers.h"
#include "board.h"
#include "run_device.h"
#include "ranks/rank_group.h"
#include "base/error.h"
#include "base/log.h"
#include "config/config_dial.h"
#include "config/unused_keys.h"

#include <pdhost/processors.h>

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

static int bring_up_records(run_state *run, const config *settings) {
  const recorder_options options = {.max_bytes = (uint64_t)settings->profile.max_memory_bytes,
                                    .record_shapes = settings->profile.record_shapes,
                                    .profile_memory = settings->profile.profile_memory,
                                    .with_stack = settings->profile.with_stack,
                                    .room = board_room()};
  run->log = step_log_open(settings->run.trace_dir);
  run->truth = truth_open(settings->run.trace_dir);
  run->services.files = files_open();
  if (!run->log || !run->truth || !run->services.files)
    return run_parts_report(NULL, PD_NO_MEMORY, "recorder", CODE_INTERNAL);
  const pd_status status = recorder_open(&options, &run->recorder);
  if (status == PD_NO_MEMORY) {
    error_line_print(FAULT_MEMORY, NULL, "recorder: no memory for %llu bytes of records: lower [profile] max_memory",
                     (unsigned long long)options.max_bytes);
    return CODE_INTERNAL;
  }
  if (status != PD_OK) return run_parts_report(NULL, status, "recorder", CODE_INTERNAL);
  run->record = recorder_table(run->recorder);
  run->services.record = run->record;
  if (run->ranks) run->services.ranks = rank_group_table(run->ranks);
  rank_group_name_files(run->services.files);
  /* Its clock is no part of a step that is timed alone. */
  if (!run->benchmark) run->services.truth = truth_table(run->truth);
  run->record->name_thread(run->record, "pdhost loop");
  return CODE_DONE;
}

static const pd_cure *cures_of(const pd_scenario_ops *scenario) {
  return PD_HAS(pd_scenario_ops, scenario, cures) ? scenario->cures : NULL;
}

/* The setting that a message begins with, as "[train] amp = true: ..."; NULL: it begins with none. */
static const pd_setting *setting_refused(const config *settings, const char *message) {
  for (uint64_t i = 0; i < settings->setting_count; i++) {
    const pd_setting *at = &settings->settings[i];
    char name[128];
    const int bytes = snprintf(name, sizeof name, "[%s] %s ", at->section, at->key);
    if (bytes > 0 && strncmp(message, name, (size_t)bytes) == 0) return at;
  }
  return NULL;
}

/* A part that fails over a key of the configuration's is the configuration's failure, said as any other of it. */
static int report_part(const run_state *run, const config *settings, pd_status status, const char *where) {
  char message[1024];
  service_host_take_message(run->core_host, message, sizeof message);
  const bool refused = status == PD_UNSUPPORTED || status == PD_INVALID;
  const pd_setting *at = refused ? setting_refused(settings, message) : NULL;
  error_line_print(at ? FAULT_VALUE : FAULT_SCENARIO, NULL, "%s: %s", at ? at->origin : where,
                   message[0] ? message : service_status_text(status));
  return at ? CODE_CONFIG : CODE_SCENARIO;
}

static int bring_up_training(run_state *run, const config *settings) {
  truth_use_device(run->truth, &run->access);
  run->core_host = service_host_open(&run->services, "core");
  if (!run->core_host) return run_parts_report(NULL, PD_NO_MEMORY, "run", CODE_INTERNAL);
  const pd_host *host = service_host_table(run->core_host);
  run->offers = offers_of(&run->access, settings);
  const analysis_context context = {.device = &run->props,
                                    .batch_size = settings->data.batch_size,
                                    .with_flops = settings->profile.with_flops,
                                    .with_modules = settings->profile.with_modules,
                                    .profile_memory = settings->profile.profile_memory,
                                    .tf32 = settings->train.tf32,
                                    .cores = pd_processors_allowed(),
                                    .command_line = settings->command_line,
                                    .of_ranks = run->ranks != NULL,
                                    .cures = cures_of(settings->scenario.plugin->table->ops.scenario),
                                    .num_workers = settings->data.num_workers,
                                    .offers = run->offers};
  pd_status status = analysis_open(&context, &run->analysis);
  if (status != PD_OK) return run_parts_report(NULL, status, "analysis", CODE_INTERNAL);
  run->services.analysis = analysis_table(run->analysis);
  status = train_kit_open(host, &run->access, run->record, &settings->train, &run->kit);
  if (status != PD_OK) return report_part(run, settings, status, "training kit");
  run->services.train = train_kit_table(run->kit);
  unused_keys_warn(settings);
  data_config data = settings->data;
  if (run->ranks) {
    data.rank = rank_group_rank(run->ranks);
    data.ranks = rank_group_count(run->ranks);
  }
  status = data_loader_open(host, &run->access, run->record, &data, &run->loader);
  if (status != PD_OK) return report_part(run, settings, status, "data loader");
  pd_batch resident;
  for (uint64_t i = 0; status == PD_OK && data_loader_resident(run->loader, i, &resident); i++)
    status = train_kit_keep(run->kit, &resident);
  if (status != PD_OK) return run_parts_report(run->core_host, status, "training kit", CODE_SCENARIO);
  return CODE_DONE;
}

static int bring_up_scenario(run_state *run, const config *settings) {
  const pd_plugin *table = settings->scenario.plugin->table;
  char where[128];
  run->scenario_name = table->name;
  run->scenario = table->ops.scenario;
  run->scenario_host = service_host_open(&run->services, table->name);
  if (!run->scenario_host) return run_parts_report(NULL, PD_NO_MEMORY, "run", CODE_INTERNAL);
  snprintf(where, sizeof where, "scenario %s: init", table->name);
  board_enter("scenario", table->name, "init");
  const pd_status status =
      run->scenario->init(service_host_table(run->scenario_host), settings->scenario.options, &run->scenario_state);
  board_leave();
  if (status != PD_OK) return run_parts_report(run->scenario_host, status, where, CODE_SCENARIO);
  run->scenario_ready = true;
  return CODE_DONE;
}

/* How many steps are handed to the sinks together. After them the run waits for the device, and no step's time has that
 * wait. With timer_only and steps that wait themselves, a group is as short as step_info_every, so that the table's
 * lines appear as the run goes; else groups are long. */
static uint64_t deliver_every(const config *settings) {
  const uint64_t most = 256, told = (uint64_t)settings->profile.step_info_every;
  return settings->profile.timer_only && settings->run.sync_timing && told && told < most ? told : most;
}

/* What an injection by time came to is measured always. */
static uint64_t rounds_of(const config *settings) {
  config_dial asked;
  const uint64_t set = (uint64_t)settings->truth.interleave;
  return set < TRUTH_DIAL_ROUNDS && config_dial_of(settings, &asked) ? TRUTH_DIAL_ROUNDS : set;
}

/* Ranks would be paused for unlike times, and their windows no longer be on one clock. */
static void leave_twin_out(run_state *run) {
  if (run->ranks && run->plan.twin)
    log_line(PD_LOG_WARN, NULL, "[schedule] twin = %llu: no effect where several ranks train together",
             (unsigned long long)run->plan.twin);
  if (run->ranks) run->plan.twin = 0;
}

static void take_settings(run_state *run, const config *settings) {
  run->plan = settings->plan;
  leave_twin_out(run);
  run->warmup_steps = (uint64_t)settings->run.warmup_steps;
  run->truth_rounds = rounds_of(settings);
  run->truth_block = (uint64_t)settings->truth.block;
  run->max_steps = (uint64_t)settings->run.max_steps;
  run->epochs = (uint64_t)settings->run.epochs;
  run->sync_timing = settings->run.sync_timing;
  run->prefetch_to_device = settings->data.prefetch_to_device;
  run->timer_only = settings->profile.timer_only;
  run->deliver_every = deliver_every(settings);
  run->amp = settings->train.amp;
  run->profile_options = (pd_profile_options){.size = sizeof run->profile_options,
                                              .profile_memory = settings->profile.profile_memory,
                                              .graphs = settings->train.cuda_graph,
                                              .sync = 1};
}

/* Ranks that can begin do so together, or not at all. */
static int join_ranks(run_state *run, config *settings, int code) {
  const char *device = settings->device.plugin ? settings->device.plugin->table->name : "";
  code = rank_group_agree(run->ranks, settings, device, code);
  if (code != CODE_DONE) return code;
  code = rank_group_open_device(run->ranks, settings, &run->services);
  return rank_group_meet(run->ranks, code);
}

int run_parts_open(run_state *run, config *settings) {
  run->settings = settings;
  run->benchmark = strcmp(settings->run.mode, "benchmark") == 0;
  run->ranks = rank_group_own();
  run->quiet = settings->quiet;
  int code = bring_up_records(run, settings);
  if (code == CODE_DONE) code = run_device_open(run, settings);
  /* The clocks are looked at before and after the steps alone, and the energy is counted between. */
  if (code == CODE_DONE && !run->benchmark) run->watch = guard_open(run->props.is_cuda, run->props.index);
  if (run->ranks) code = join_ranks(run, settings, code);
  if (code == CODE_DONE) take_settings(run, settings); /* the device that `auto` took may have brought some */
  if (code == CODE_DONE) code = bring_up_training(run, settings);
  if (code == CODE_DONE) code = bring_up_scenario(run, settings);
  return run->ranks ? rank_group_meet(run->ranks, code) : code;
}

void run_parts_close(run_state *run) {
  board_enter("scenario", run->scenario_name ? run->scenario_name : "", "teardown");
  if (run->scenario_ready) run->scenario->teardown(run->scenario_state);
  board_leave();
  service_host_close(run->scenario_host);
  data_loader_close(run->loader);
  train_kit_close(run->kit);
  analysis_close(run->analysis);
  truth_close(run->truth); /* its events are the device's */
  if (run->ranks) rank_group_leave_device(run->ranks, run->access.device);
  run_device_close(run);
  service_host_close(run->core_host);
  if (run->recorder) recorder_close(run->recorder);
  step_log_close(run->log);
  unprofiled_close(&run->unprofiled);
  guard_close(run->watch);
  free(run->window_steps);
  files_close(run->services.files);
}
