/* One run; see run.h. Parts come up in the order of their dependence and go down in the reverse one. */
#include "run.h"

#include "log.h"
#include "loop.h"
#include "run_device.h"
#include "run_report.h"
#include "signals.h"
#include "version.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

/* Below this share of launches with their device record, figures are not to be trusted. */
#define COVERAGE_TRUSTED 0.999

/* Prints the one line of a failure: `where`, then the last message of `host` or the status's text. */
static int report(service_host *host, pd_status status, const char *where, int code) {
  char message[1024] = "";
  if (host) service_host_take_message(host, message, sizeof message);
  log_line(PD_LOG_ERROR, NULL, "%s: %s", where, message[0] ? message : service_status_text(status));
  return code;
}

static int bring_up_records(run_state *run, const config *settings) {
  const recorder_options options = {.max_bytes = (uint64_t)settings->profile.max_memory_bytes,
                                    .record_shapes = settings->profile.record_shapes,
                                    .profile_memory = settings->profile.profile_memory,
                                    .with_stack = settings->profile.with_stack};
  run->log = step_log_open();
  run->truth = truth_open();
  run->services.files = files_open();
  pd_status status =
      run->log && run->truth && run->services.files ? recorder_open(&options, &run->recorder) : PD_NO_MEMORY;
  if (status != PD_OK) return report(NULL, status, "recorder", CODE_INTERNAL);
  run->record = recorder_table(run->recorder);
  run->services.record = run->record;
  run->services.truth = truth_table(run->truth);
  run->record->name_thread(run->record, "pdhost loop");
  return CODE_DONE;
}

static int bring_up_training(run_state *run, const config *settings) {
  run->core_host = service_host_open(&run->services, "core");
  if (!run->core_host) return report(NULL, PD_NO_MEMORY, "run", CODE_INTERNAL);
  const pd_host *host = service_host_table(run->core_host);
  const analysis_context context = {.device = &run->props,
                                    .batch_size = settings->data.batch_size,
                                    .with_flops = settings->profile.with_flops,
                                    .with_modules = settings->profile.with_modules,
                                    .profile_memory = settings->profile.profile_memory,
                                    .cores = (uint32_t)sysconf(_SC_NPROCESSORS_ONLN),
                                    .command_line = settings->command_line,
                                    .fallback = run->fallback[0] ? run->fallback : NULL};
  pd_status status = analysis_open(&context, &run->analysis);
  if (status != PD_OK) return report(NULL, status, "analysis", CODE_INTERNAL);
  run->services.analysis = analysis_table(run->analysis);
  status = train_kit_open(host, &run->access, run->record, &settings->train, &run->kit);
  if (status != PD_OK) return report(run->core_host, status, "training kit", CODE_SCENARIO);
  run->services.train = train_kit_table(run->kit);
  status = data_loader_open(host, &run->access, run->record, &settings->data, &run->loader);
  if (status != PD_OK) return report(run->core_host, status, "data loader", CODE_SCENARIO);
  pd_batch resident;
  for (uint64_t i = 0; status == PD_OK && data_loader_resident(run->loader, i, &resident); i++)
    status = train_kit_keep(run->kit, &resident);
  if (status != PD_OK) return report(run->core_host, status, "training kit", CODE_SCENARIO);
  return CODE_DONE;
}

static int bring_up_scenario(run_state *run, const config *settings) {
  const pd_plugin *table = settings->scenario.plugin->table;
  char where[128];
  run->scenario_name = table->name;
  run->scenario = table->ops.scenario;
  run->scenario_host = service_host_open(&run->services, table->name);
  if (!run->scenario_host) return report(NULL, PD_NO_MEMORY, "run", CODE_INTERNAL);
  snprintf(where, sizeof where, "scenario %s: init", table->name);
  const pd_status status =
      run->scenario->init(service_host_table(run->scenario_host), settings->scenario.options, &run->scenario_state);
  if (status != PD_OK) return report(run->scenario_host, status, where, CODE_SCENARIO);
  run->scenario_ready = true;
  return CODE_DONE;
}

static int bring_up_sinks(run_state *run, const config *settings, const pd_run *about) {
  char message[512];
  const pd_status status = files_make_folder(about->trace_dir, message, sizeof message);
  if (status != PD_OK) {
    log_line(PD_LOG_ERROR, NULL, "[run] trace_dir: %s", message);
    return CODE_OUTPUT;
  }
  sink_entry *entries = calloc(settings->sink_count + 1, sizeof *entries);
  if (!entries) return report(NULL, PD_NO_MEMORY, "sinks", CODE_INTERNAL);
  for (uint32_t i = 0; i < settings->sink_count; i++) {
    const config_plugin *sink = &settings->sinks[i];
    entries[i] = (sink_entry){sink->plugin->table->name, sink->plugin->table->ops.sink, sink->options};
  }
  run->sinks = sink_set_open(&run->services, entries, settings->sink_count, about);
  free(entries);
  return run->sinks ? CODE_DONE : report(NULL, PD_NO_MEMORY, "sinks", CODE_INTERNAL);
}

static void take_settings(run_state *run, const config *settings) {
  run->plan = settings->plan;
  run->warmup_steps = (uint64_t)settings->run.warmup_steps;
  run->max_steps = (uint64_t)settings->run.max_steps;
  run->sync_timing = settings->run.sync_timing;
  run->prefetch_to_device = settings->data.prefetch_to_device;
  run->timer_only = settings->profile.timer_only;
  run->amp = settings->train.amp;
  run->quiet = settings->quiet;
  run->show_progress = !settings->quiet && isatty(STDERR_FILENO);
  run->profile_options = (pd_profile_options){.size = sizeof run->profile_options,
                                              .profile_memory = settings->profile.profile_memory,
                                              .graphs = settings->train.cuda_graph,
                                              .sync = 1};
}

static void take_down(run_state *run) {
  if (run->scenario_ready) run->scenario->teardown(run->scenario_state);
  service_host_close(run->scenario_host);
  data_loader_close(run->loader);
  train_kit_close(run->kit);
  analysis_close(run->analysis);
  run_device_close(run);
  service_host_close(run->core_host);
  if (run->recorder) recorder_close(run->recorder);
  step_log_close(run->log);
  truth_close(run->truth);
  free(run->window_steps);
  files_close(run->services.files);
}

/* What the run's end means for the process. A signal comes first, since the user asked; then what went wrong. */
static int exit_code(const run_state *run, const config *settings, const pd_summary *summary, uint32_t failed_sinks) {
  if (signals_pending()) return 128 + signals_pending();
  if (run->failed != PD_OK) return CODE_SCENARIO;
  if (settings->run.require_cupti && run->windows_done && summary->profile != PD_PROFILE_FULL) {
    log_line(PD_LOG_ERROR, NULL, "[run] require_cupti: device records are missing: %s",
             summary->profile_note ? summary->profile_note : "profiling was not possible");
    return CODE_DEVICE;
  }
  if (failed_sinks) return CODE_OUTPUT;
  if (summary->profile == PD_PROFILE_FULL && summary->coverage < COVERAGE_TRUSTED) {
    log_line(PD_LOG_WARN, NULL,
             "only %.4f of the launches have their device record: the figures of this run are not to be trusted",
             summary->coverage);
    return CODE_UNTRUSTED;
  }
  return CODE_DONE;
}

/* What was injected, beside the results. */
static int write_truth(run_state *run, const pd_run *about) {
  const pd_host *host = service_host_table(run->core_host);
  if (!truth_steps(run->truth)) return CODE_DONE;
  const pd_status status = truth_write(run->truth, host->extension(host, PD_EXT_FILES), about);
  return status == PD_OK ? CODE_DONE : report(run->core_host, status, "truth.json", CODE_OUTPUT);
}

static int run_and_report(run_state *run, const config *settings, const pd_run *about) {
  signals_install((void (*)(void *))data_loader_stop, run->loader);
  if (!run->quiet) run_report_header(run, settings);
  const pd_status status = loop_run(run);
  if (status != PD_OK) log_line(PD_LOG_ERROR, NULL, "%s", run->failure);
  pd_summary summary;
  const pd_status summed = run_report_summary(run, settings, &summary);
  if (summed != PD_OK) report(NULL, summed, "summary", CODE_INTERNAL);
  const uint32_t failed_sinks = sink_set_close(run->sinks, &summary);
  run->sinks = NULL;
  const int told = write_truth(run, about);
  if (!run->quiet) run_report_files(run);
  const int code = exit_code(run, settings, &summary, failed_sinks);
  log_flush_repeats();
  signals_restore();
  if (code != CODE_DONE) return code;
  return summed != PD_OK ? CODE_INTERNAL : told;
}

int run_execute(config *settings) {
  run_state *run = calloc(1, sizeof *run);
  pd_run about;
  if (!run) return report(NULL, PD_NO_MEMORY, "run", CODE_INTERNAL);
  take_settings(run, settings);
  int code = bring_up_records(run, settings);
  if (code == CODE_DONE) code = run_device_open(run, settings);
  if (code == CODE_DONE) code = bring_up_training(run, settings);
  if (code == CODE_DONE) code = bring_up_scenario(run, settings);
  if (code == CODE_DONE) {
    run_report_about(run, settings, &about);
    code = bring_up_sinks(run, settings, &about);
  }
  if (code == CODE_DONE) code = run_and_report(run, settings, &about);
  take_down(run);
  free(run);
  return code;
}
